"""poplin: GPU compute cloth, with a CPU backend that computes the same result.

    import poplin

    sheet = poplin.cook(poplin.grid(16, 16, 1.0, 1.0), pins="corner:top-left")
    simulation = poplin.Simulation(backend="cpu")
    cloth = simulation.add(sheet)
    simulation.step(frames=60)
    simulation.positions(cloth)  # float32, shape [256, 3]

    scene = poplin.Scene("flag", backend="cpu")  # all that a scene file has
    scene.step(frames=60)
    scene.points("flag")

Units are SI throughout: metres, seconds, kilograms. Gravity points along -y by default.
"""

from ._batch import BatchResult, batch, sweep_jobs
from ._mesh import Cooked, Mesh, cook, grid, load_mesh, tube, vertex_normals
from ._poplin import __version__
from ._scene import Scene
from ._simulation import Backend, ContactReport, Hit, Simulation, State, Trouble
from ._warnings import PoplinWarning

__all__ = [
    "Backend",
    "BatchResult",
    "ContactReport",
    "Cooked",
    "Hit",
    "Mesh",
    "PoplinWarning",
    "Scene",
    "Simulation",
    "State",
    "Trouble",
    "__version__",
    "batch",
    "cook",
    "grid",
    "load_mesh",
    "sweep_jobs",
    "tube",
    "vertex_normals",
]
