"""Scenes in simulation."""

from __future__ import annotations

import os
from typing import Any, Mapping

import numpy as np

from . import _poplin
from ._arrays import Floats, Ids, text
from ._mesh import Mesh
from ._simulation import Backend, State


class Scene:
    """Scene in simulation: everything that a scene file has, such as moving pins, colliders and local spaces, animated
    meshes, rigid bodies, wind, motion spheres, backstops and accelerations.

    scene: scene file, name of a shipped scene (`poplin scenes`), or the keys of a scene as a dict:
        `{"cloth": [{"grid": {..}}], "collider": [{"sphere": {"radius": 1}}]}`, its files relative to the working folder.
    backend: "auto", "cpu" or "gpu".
    adapter: part of the name of a GPU, if there are several.
    frame_rate: frames per second [1/s] (default: the scene's).

    A cloth is given by its name or index, from 0; a copy by its index. Raises ValueError if the scene is not valid,
    FileNotFoundError if there is no such file, RuntimeError if the backend is not available or fails.
    """

    names: list[str]
    """Names of the cloths."""
    frames: int
    """Number of frames that the scene asks for; `step` may go on after them."""
    frame_rate: float
    """Frames per second [1/s]."""

    def __init__(
        self,
        scene: str | os.PathLike[str] | Mapping[str, Any],
        backend: str = "auto",
        adapter: str | None = None,
        frame_rate: float | None = None,
    ) -> None:
        keys = scene if isinstance(scene, Mapping) else None
        path = None if isinstance(scene, Mapping) else os.fspath(scene)
        self._native = _poplin.Scene(path, text(keys), frame_rate, backend, adapter)
        self.names, self.frames, self.frame_rate = self._native.about()

    def __repr__(self) -> str:
        return f"Scene({', '.join(self.names)}: frame {self.frame} of {self.frames})"

    def __reduce__(self) -> str:
        raise TypeError("a Scene cannot be pickled: pass its file or keys, or take the arrays that it returns")

    @property
    def backend(self) -> Backend:
        """Backend, with the reason for it."""
        return Backend(*self._native.backend())

    @property
    def frame(self) -> int:
        """Number of frames simulated."""
        return self._native.frame()

    def step(self, frames: int = 1) -> None:
        """Simulates frames. After its last key everything that moves keeps its last pose.

        Releases the interpreter's lock; Ctrl-C stops after the current frame.
        """
        self._native.step(frames)

    def reset(self) -> None:
        """Begins again at the start."""
        self._native.reset()

    def _index(self, cloth: str | int) -> int:
        if isinstance(cloth, str):
            if cloth not in self.names:
                raise ValueError(f"no cloth {cloth!r}: the scene has {', '.join(self.names)}")
            return self.names.index(cloth)
        if cloth < 0:
            raise ValueError(f"cloth must be 0 or more, not {cloth}")
        return int(cloth)

    def mesh(self, cloth: str | int = 0) -> Mesh:
        """Returns the mesh of a cloth in its local space before the start: its faces are those of `points`."""
        return Mesh._of(self._native.mesh(self._index(cloth)))

    def points(self, cloth: str | int = 0, copy: int = 0) -> Floats:
        """Returns the world positions of the vertices [m], shape [vertices, 3]."""
        return np.asarray(self._native.points(self._index(cloth), copy))

    def normals(self, cloth: str | int = 0, copy: int = 0) -> Floats:
        """Returns the unit normals of the vertices, weighted by the area of their faces, shape [vertices, 3]; 0 at a vertex
        without a face."""
        return np.asarray(self._native.normals(self._index(cloth), copy))

    def ids(self, cloth: str | int = 0) -> Ids:
        """Returns the handles of the copies of a cloth in the `State` of `read`, shape [copies]."""
        return np.frombuffer(self._native.ids(self._index(cloth)), np.uint64)

    def read(self) -> State:
        """Reads back the particles of all cloths; vertices that coincide share a particle."""
        return State(self._native.read())

    def report(self) -> dict[str, Any]:
        """Measures the current frame, with the names of `summary.json`.

        `cloths`: for each its `strain` (max, p99, longest, shortest), `speed_m_per_s`, `collider_depth` and
        `triangle_depth` (None without colliders), `contact` (a report per copy), `slept_frames` and `frozen_copies`.
        `bodies`: position, velocity and force of each rigid body. `warnings`: what a user should not trust, as records.
        """
        return self._native.report()
