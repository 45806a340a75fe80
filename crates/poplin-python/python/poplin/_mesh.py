"""Meshes, and what cooking makes of them."""

from __future__ import annotations

import os
from typing import Any, Literal, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from . import _poplin
from ._arrays import Floats, Ints, floats, indices, text

Bytes4 = Sequence[bytes]

# What a scene file has at a cloth and a program does itself.
_ELSEWHERE = {
    "grid": "poplin.grid()",
    "tube": "poplin.tube()",
    "mesh": "poplin.load_mesh()",
    "pins": "the argument pins",
    "transform": "the points of the mesh",
    "name": "the handle of the cloth",
    "count": "Simulation.add(count=..)",
    "spacing": "Simulation.add(translation=..)",
    "frame": "Simulation.set_pose()",
    "wind": "Simulation.set_wind()",
    "animated_pins": "Simulation.set_pins()",
    **dict.fromkeys(["motion_spheres", "separation_spheres", "accelerations"], "left to scenes (python -m poplin run)"),
}


class Mesh:
    """A polygon mesh.

    points: positions [m], shape [vertices, 3], any number type.
    faces: triangles or quads as indices of vertices, counter-clockwise seen from the front, shape [faces, 3] or [faces, 4].
    uvs: texture coordinates, shape [vertices, 2]; the warp direction can be taken from them (`fabric.warp` and the like).

    Raises ValueError that names the array and its fault.
    """

    points: Floats
    """Positions [m], shape [vertices, 3]."""
    triangles: Ints
    """Shape [triangles, 3]."""
    quads: Ints
    """Shape [quads, 4]. The sides of a quad are threads, its diagonals shear."""
    uvs: Floats
    """Shape [vertices, 2], or [0, 2]."""
    origin: npt.NDArray[np.float64]
    """The point in the world that the points count from [m], shape [3]: 0 unless the file of `load_mesh` is far away."""

    def __init__(self, points: npt.ArrayLike, faces: npt.ArrayLike, uvs: npt.ArrayLike | None = None) -> None:
        self.points = floats("points", points, None, 3)
        array = np.asarray(faces)
        corners = 4 if array.ndim == 2 and array.shape[1] == 4 else 3
        checked = indices("faces", array, None, corners)
        if checked.size and int(checked.max()) >= len(self.points):
            at = tuple(int(index) for index in np.argwhere(checked >= len(self.points))[0])
            raise ValueError(
                f"faces[{at[0]}, {at[1]}] is {checked[at]}, but there are only {len(self.points)} points"
            )
        none = np.zeros((0, 7 - corners), np.uint32)
        self.triangles, self.quads = (checked, none) if corners == 3 else (none, checked)
        empty = np.zeros((0, 2), np.float32)
        self.uvs = empty if uvs is None else floats("uvs", uvs, len(self.points), 2)
        self.origin = np.zeros(3)

    @classmethod
    def _of(cls, arrays: Bytes4, origin: Sequence[float] = (0, 0, 0)) -> Mesh:
        mesh = cls.__new__(cls)
        mesh.points = np.frombuffer(arrays[0], np.float32).reshape(-1, 3)
        mesh.uvs = np.frombuffer(arrays[1], np.float32).reshape(-1, 2)
        mesh.triangles = np.frombuffer(arrays[2], np.uint32).reshape(-1, 3)
        mesh.quads = np.frombuffer(arrays[3], np.uint32).reshape(-1, 4)
        mesh.origin = np.array(origin, np.float64)
        return mesh

    def _bytes(self) -> tuple[bytes, bytes, bytes, bytes]:
        arrays = (self.points, self.uvs, self.triangles, self.quads)
        one, two, three, four = (array.tobytes() for array in arrays)
        return one, two, three, four

    def __repr__(self) -> str:
        faces = len(self.triangles) + len(self.quads)
        return f"Mesh({len(self.points)} points, {faces} faces)"


def load_mesh(path: str | os.PathLike[str]) -> Mesh:
    """Reads a mesh file: OBJ, PLY, STL, glTF, GLB.

    A mesh far from the origin, where float32 does not resolve it, is moved by whole metres to near it: `Mesh.origin` says
    by how many, `mesh.points + mesh.origin` is where it was.

    Raises ValueError if the file cannot be used.
    """
    return Mesh._of(*_poplin.load_mesh(path))


def grid(
    columns: int, rows: int, width: float, height: float, plane: Literal["xy", "xz"] = "xy"
) -> Mesh:
    """A rectangle of quads with columns x rows vertices, as the key `grid` of a scene makes it.

    width, height: its size [m].
    plane: "xy", hanging, or "xz", lying.
    """
    keys = {"columns": columns, "rows": rows, "width": width, "height": height, "plane": plane}
    return Mesh._of(_poplin.shape_mesh(text({"grid": keys})))


def tube(
    segments: int,
    rings: int,
    top_radius: float,
    bottom_radius: float,
    height: float,
    arc: float = 360.0,
) -> Mesh:
    """A tube of quads around y with segments x rings vertices, as the key `tube` of a scene makes it.

    top_radius, bottom_radius, height: its size [m]; ring 0 is the top, at y = 0.
    arc: part of the circle [degrees], 1 to 360; a smaller one is open.
    """
    keys = {
        "segments": segments,
        "rings": rings,
        "top_radius": top_radius,
        "bottom_radius": bottom_radius,
        "height": height,
        "arc": arc,
    }
    return Mesh._of(_poplin.shape_mesh(text({"tube": keys})))


class Cooked:
    """A mesh cooked as a cloth, to be added to any number of simulations. Its arrays are read-only."""

    _native: _poplin.Cooked
    particle_count: int
    """Particles: vertices at one position are one, those that no face uses are none."""
    particles: Floats
    """Position [m] and inverse mass [1/kg] of every particle at the start, shape [particles, 4]; the inverse mass of a pin is 0."""
    triangles: Ints
    """Triangles of particles, shape [triangles, 3]."""
    vertex_to_particle: npt.NDArray[np.int32]
    """The particle of every vertex of the mesh, shape [vertices], -1 for none: `positions[..., cooked.vertex_to_particle, :]`."""
    pinned: Ints
    """The particles that are pinned, rising."""
    report: dict[str, Any]
    """What cooking found: counts, area [m^2], mass [kg], as `poplin cook --json` writes it."""

    def __init__(self, native: _poplin.Cooked) -> None:
        self._native = native
        self.particles = np.frombuffer(native.particles(), np.float32).reshape(-1, 4)
        self.particle_count = len(self.particles)
        self.triangles = np.frombuffer(native.triangles(), np.uint32).reshape(-1, 3)
        self.vertex_to_particle = np.frombuffer(native.vertex_to_particle(), np.int32)
        self.pinned = np.flatnonzero(self.particles[:, 3] == 0).astype(np.uint32)
        self.report = native.report()

    @property
    def settings(self) -> dict[str, Any]:
        """The settings, with the keys of `[[cloth]]` in a scene; a copy."""
        return self._native.settings()

    def __repr__(self) -> str:
        return f"Cooked({self.particle_count} particles, {len(self.pinned)} pinned)"


def cook(
    mesh: Mesh,
    pins: str | Sequence[str] | npt.ArrayLike | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Cooked:
    """Cooks a mesh as a scene's cloth is cooked.

    pins: vertices that are held: indices, shape [k]; or rules, such as "top:3%", "corner:top-left", "box:x0,y0,z0,x1,y1,z1"
        or a list of them. By default none.
    settings: keys of `[[cloth]]` in a scene: `material`, `density`, `fabric` (options of cooking), and the settings that can be
        changed later, such as `solver`, `damping`, `contact`, `thickness`, `air`. What depends on the cloth and is not
        stated, such as the solver's frequency, is chosen from it.

    The interpreter's lock is released. Raises ValueError if mesh, pins or settings are not valid.
    """
    keys = dict(settings or {})
    for key, instead in _ELSEWHERE.items():
        if key in keys:
            raise ValueError(f"settings: `{key}` is a key of scene files; here it is {instead}")
    pinned = np.zeros(0, np.uint32)
    if isinstance(pins, str):
        keys["pins"] = [pins]
    elif pins is not None:
        listed = list(pins) if isinstance(pins, Sequence) else pins
        if isinstance(listed, list) and listed and all(isinstance(rule, str) for rule in listed):
            keys["pins"] = listed
        else:
            pinned = indices("pins", listed, None)
    if pinned.size and int(pinned.max()) >= len(mesh.points):
        raise ValueError(f"pins: there is no vertex {pinned.max()}, only {len(mesh.points)} points")
    return Cooked(_poplin.Cooked(mesh._bytes(), pinned.tobytes(), text(keys)))
