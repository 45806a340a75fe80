"""Meshes and their cooking."""

from __future__ import annotations

import os
import warnings
from typing import Any, Literal, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from . import _poplin
from ._arrays import Floats, Ints, check_shape, floats, indices, text
from ._warnings import PoplinWarning

Bytes4 = Sequence[bytes]

# Keys of a cloth in a scene file that have a different form in Python.
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
    "animated_pins": "Simulation.set_pins() and release_pins()",
    **dict.fromkeys(["velocity", "angular_velocity"], "Simulation.set_particles(velocities=..)"),
    "motion_spheres": "Simulation.set_motion_spheres()",
    "separation_spheres": "Simulation.set_separation_spheres()",
    "accelerations": "Simulation.set_accelerations()",
}


class Mesh:
    """Polygon mesh.

    points: positions [m], shape [vertices, 3], any number type.
    faces: vertex indices of triangles or quads, counter-clockwise from the front, shape [faces, 3] or [faces, 4].
    uvs: texture coordinates, shape [vertices, 2]; can define the warp direction (`fabric.direction`).

    Raises ValueError that names the invalid array.
    """

    points: Floats
    """Positions [m], shape [vertices, 3]."""
    triangles: Ints
    """Vertex indices of triangles, shape [triangles, 3]."""
    quads: Ints
    """Vertex indices of quads, shape [quads, 4]. Sides become warp and weft, diagonals shear edges."""
    uvs: Floats
    """Texture coordinates, shape [vertices, 2], or [0, 2] without any."""
    origin: npt.NDArray[np.float64]
    """World position that points are relative to [m], shape [3]: 0 unless `load_mesh` read a file far from the origin."""

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

    A mesh far from the origin, where float32 is too coarse, is moved near it by whole metres: its world positions are
    `mesh.points + mesh.origin`.

    Raises FileNotFoundError if there is no such file, and ValueError if it cannot be read or is not a valid mesh.
    """
    return Mesh._of(*_poplin.load_mesh(path))


def vertex_normals(points: npt.ArrayLike, triangles: npt.ArrayLike) -> Floats:
    """Returns the unit normals of vertices, weighted by the area of their triangles, shape [vertices, 3]; 0 at a vertex without
    a triangle.

    points: positions, shape [vertices, 3], for example of `Simulation.positions`.
    triangles: indices, shape [triangles, 3], for example `Cooked.triangles`.
    """
    rows = floats("points", points, None, 3)
    faces = indices("triangles", triangles, None, 3)
    if faces.size and int(faces.max()) >= len(rows):
        raise ValueError(f"triangles: no vertex {faces.max()}: there are {len(rows)} points")
    return np.frombuffer(_poplin.vertex_normals(rows.tobytes(), faces.tobytes()), np.float32).reshape(-1, 3)


def grid(
    columns: int,
    rows: int,
    width: float,
    height: float,
    plane: Literal["xy", "xz"] = "xy",
    centered: bool = False,
) -> Mesh:
    """Returns a rectangle of quads with columns x rows vertices, like the key `grid` of a scene.

    width, height: size [m].
    plane: "xy" (vertical) or "xz" (horizontal).
    centered: puts its middle at the origin, in place of vertex 0.
    """
    keys = {
        "columns": columns,
        "rows": rows,
        "width": width,
        "height": height,
        "plane": plane,
        "centered": centered,
    }
    return Mesh._of(_poplin.shape_mesh(text({"grid": keys})))


def tube(
    segments: int,
    rings: int,
    top_radius: float,
    bottom_radius: float,
    height: float,
    arc: float = 360.0,
) -> Mesh:
    """Returns a tube of quads around y with segments x rings vertices, like the key `tube` of a scene.

    top_radius, bottom_radius, height: size [m]; ring 0 is the top, at y = 0.
    arc: angle of the circle [degrees], 1 to 360; below 360 the tube is open.
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
    """Mesh cooked as a cloth, which can be added to any number of simulations. Its arrays are read-only."""

    _native: _poplin.Cooked
    particle_count: int
    """Number of particles: vertices at one position share a particle, unused vertices have none."""
    particles: Floats
    """Initial position [m] and inverse mass [1/kg] of particles, shape [particles, 4]; the inverse mass of a pin is 0."""
    triangles: Ints
    """Particle indices of triangles, shape [triangles, 3]."""
    vertex_to_particle: npt.NDArray[np.int32]
    """Particle of every mesh vertex, shape [vertices], -1 for none: `positions[..., cooked.vertex_to_particle, :]`."""
    pinned: Ints
    """Pinned particles in rising order."""
    report: dict[str, Any]
    """Cooking report: counts, area [m^2], mass [kg], in the format of `poplin cook --json`."""
    warnings: list[dict[str, Any]]
    """Warnings of cooking, with the fields of `PoplinWarning`."""

    def __init__(self, native: _poplin.Cooked) -> None:
        self._native = native
        self.particles = np.frombuffer(native.particles(), np.float32).reshape(-1, 4)
        self.particle_count = len(self.particles)
        self.triangles = np.frombuffer(native.triangles(), np.uint32).reshape(-1, 3)
        self.vertex_to_particle = np.frombuffer(native.vertex_to_particle(), np.int32)
        self.pinned = np.flatnonzero(self.particles[:, 3] == 0).astype(np.uint32)
        self.report = native.report()
        self.warnings = native.warnings()

    @property
    def settings(self) -> dict[str, Any]:
        """Copy of the settings, with the keys of `[[cloth]]` in a scene."""
        return self._native.settings()

    def __reduce__(self) -> str:
        raise TypeError("a Cooked cannot be pickled: pickle its mesh and settings, and cook them again")

    def __repr__(self) -> str:
        return f"Cooked({self.particle_count} particles, {len(self.pinned)} pinned)"


def cook(
    mesh: Mesh,
    pins: str | Sequence[str] | npt.ArrayLike | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Cooked:
    """Cooks a mesh like the cloth of a scene.

    pins: pinned vertices: indices, shape [k]; a bool mask, shape [vertices]; or a rule such as "top:3%", "corner:top-left", "box:x0,y0,z0,x1,y1,z1", or a
        list of rules. By default none.
    settings: keys of `[[cloth]]` in a scene: `material`, `density`, `fabric` (options of cooking), and settings that can be
        changed later, such as `solver`, `damping`, `contact`, `thickness`, `air`. Settings that depend on the cloth and
        are not stated, such as the solver's frequency, are chosen from the cloth.

    Releases the interpreter's lock. Raises ValueError if mesh, pins or settings are not valid. Warns with `PoplinWarning`
    of settings without effect and of a mesh that is damaged, does not fit its settings or has an unusual size.
    """
    keys = dict(settings or {})
    for key, instead in _ELSEWHERE.items():
        if key in keys:
            raise ValueError(f"settings: `{key}` is a key of scene files; use {instead} instead")
    pinned = np.zeros(0, np.uint32)
    if isinstance(pins, str):
        keys["pins"] = [pins]
    elif pins is not None:
        listed = list(pins) if isinstance(pins, Sequence) else pins
        if isinstance(listed, list) and listed and all(isinstance(rule, str) for rule in listed):
            keys["pins"] = listed
        else:
            array = np.asarray(listed)
            if array.dtype.kind == "b":
                check_shape("pins", array, (len(mesh.points),))
                array = np.flatnonzero(array)
            pinned = indices("pins", array, None)
    if pinned.size and int(pinned.max()) >= len(mesh.points):
        raise ValueError(f"pins: no vertex {pinned.max()}: the mesh has {len(mesh.points)} points")
    cooked = Cooked(_poplin.Cooked(mesh._bytes(), pinned.tobytes(), text(keys)))
    for record in cooked.warnings:
        warnings.warn(PoplinWarning(record), stacklevel=2)
    return cooked
