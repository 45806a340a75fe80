"""Cloths in simulation, and what is read of them."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Union, cast, overload

import numpy as np
import numpy.typing as npt

from . import _poplin
from ._arrays import Floats, Ids, Ints, check_shape, floats, indices, poses, rows, text
from ._mesh import Cooked, Mesh

Which = Union[int, npt.ArrayLike, None]
"""Cloths: a handle, an array of handles, shape [k], a mask, bool of shape [cloths], or None for all."""


class Backend(NamedTuple):
    """Where a simulation runs."""

    name: str
    """"gpu" or "cpu"."""
    adapter: str
    """The device, or the threads and their instructions."""
    reason: str
    """Why there."""


class Hit(NamedTuple):
    """What a ray hits."""

    cloth: int
    """The cloth."""
    triangle: int
    """Index in `Cooked.triangles`."""
    weights: tuple[float, float, float]
    """Barycentric coordinates of the triangle's corners."""
    particle: int
    """The nearest of its corners."""
    distance: float
    """From the ray's origin [m]."""
    point: tuple[float, float, float]
    """In the world [m]."""
    is_front: bool
    """Whether the ray comes from the front."""


class Trouble(NamedTuple):
    """Something that contact of triangles found in some frames of a cloth; frames count from 1, 0 is the start."""

    first_frame: int
    """The first frame with it."""
    last_frame: int
    """The last one so far."""
    most_pairs: int
    """The most pairs in a frame."""
    partner: str
    """What most of those pairs were with: "itself", "other_cloth" or "collider"."""
    position_m: tuple[float, float, float]
    """Where one of those was, in the world [m]."""


class ContactReport(NamedTuple):
    """What contact of triangles could not keep apart of a cloth since it was added or reset."""

    frames: int
    """Frames with contact of triangles."""
    crossings: int
    """Pairs of an edge and a triangle that cross after the last frame, on a GPU after the last one that was read; counted exactly."""
    start_crossings: int
    """The same before the first frame; 0 on a GPU."""
    crossed: Trouble | None
    """Frames with such pairs; on a GPU those of them that were read."""
    forced: Trouble | None
    """Frames in which balls, capsules or planes came through the cloth."""
    hurried: Trouble | None
    """Frames in which pins or colliders moved too far in an iteration to be followed; `most_pairs` is 1."""
    unlisted: Trouble | None
    """Frames in which there was no room for the pairs."""


class State:
    """Cloths as they were when they were read: nothing that happens later changes it.

    Arrays are read-only float32. `positions` and `particles` are views into the state, without a copy, whatever
    the backend; an array keeps the state alive. World axes and velocities are copies.
    """

    ids: Ids
    """The cloths in the order in which they were asked for, shape [cloths]; arrays of all cloths have their order."""

    def __init__(self, native: _poplin.StateRead) -> None:
        self._native = native
        self.ids = np.frombuffer(native.ids(), np.uint64)

    def _index(self, cloth: int | None) -> int | None:
        if cloth is None:
            return None
        found = np.flatnonzero(self.ids == np.uint64(cloth))
        if not found.size:
            raise ValueError(f"no cloth {cloth} was read")
        return int(found[0])

    def positions(self, cloth: int | None = None, world: bool = False) -> Floats:
        """Positions of particles [m]: of one cloth, shape [n, 3], or of all, shape [cloths, n, 3].

        world: in the world; by default in the cloth's local space, which is the world unless the cloth was given a pose.

        Raises ValueError if the cloths have different particle counts.
        """
        index, native = self._index(cloth), self._native
        return np.asarray(native.world_positions(index) if world else native.particles(index, 3))

    def particles(self, cloth: int | None = None) -> Floats:
        """Position [m] in the local space and working inverse mass [1/kg], shape [n, 4] or [cloths, n, 4]."""
        return np.asarray(self._native.particles(self._index(cloth), 4))

    def velocities(self, cloth: int | None = None, world: bool = False) -> Floats:
        """Velocities in the last iteration of the last frame [m/s], relative to the local space, shape [n, 3] or [cloths, n, 3].

        world: in the axes of the world; by default in those of the local space.
        """
        return np.asarray(self._native.velocities(self._index(cloth), world))

    def _counter(self, name: str) -> Ints:
        return np.frombuffer(self._native.counters()[name], np.uint32)

    @property
    def fault_counts(self) -> Ints:
        """Particles of each cloth that would have become NaN, infinite or too far away, shape [cloths]; above 0 the cloth
        is frozen at its last sane state until it is reset."""
        return self._counter("fault_count")

    @property
    def iteration_totals(self) -> Ints:
        """Iterations of each cloth since it was added or reset, shape [cloths]."""
        return self._counter("iteration_total")

    @property
    def slept_frames(self) -> Ints:
        """Frames that each cloth slept through since it was added or reset, shape [cloths]."""
        return self._counter("slept_frames")

    @property
    def contact_reports(self) -> list[ContactReport]:
        """What contact of triangles could not keep apart of each cloth, in the order of `ids`."""

        def report(row: dict[str, Any]) -> ContactReport:
            for kind in ("crossed", "forced", "hurried", "unlisted"):
                trouble = row[kind]
                if trouble is not None:
                    row[kind] = Trouble(**{**trouble, "position_m": tuple(trouble["position_m"])})
            return ContactReport(**row)

        return [report(row) for row in self._native.contact_reports()]


class Simulation:
    """Cloths on one backend.

    backend: "auto", a real GPU if there is one, else the CPU; "gpu"; "cpu".
    adapter: take only a GPU adapter whose name contains this.

    Cloths have whole numbers as handles; the handle of a removed cloth is never that of another one. Methods take one handle,
    an array of them, a mask over `ids`, or None for all cloths, and do a thousand in one call.

    All methods release the interpreter's lock while they work, and may be called from any thread: calls to one simulation wait
    for each other, two simulations run in parallel. Threads and devices do not survive a fork: a forked process raises
    RuntimeError if its parent has used poplin before.

    Bad input raises ValueError and changes nothing; a lost device raises RuntimeError.
    """

    def __init__(self, backend: str = "auto", adapter: str | None = None) -> None:
        self._native = _poplin.Simulation(backend, adapter)

    @property
    def backend(self) -> Backend:
        """Where the simulation runs, and why there."""
        return Backend(*self._native.backend())

    @property
    def memory_bytes(self) -> int:
        """Memory that the backend holds for the cloths [bytes], used or kept for later."""
        return self._native.memory_bytes()

    @property
    def ids(self) -> Ids:
        """The cloths in the order of adding, shape [cloths]."""
        return np.frombuffer(self._native.ids(), np.uint64)

    def __len__(self) -> int:
        """Count of cloths."""
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Simulation({len(self)} cloths on {self.backend.adapter})"

    def _select(self, which: Which) -> Ids:
        """Handles of cloths."""
        if which is None:
            return self.ids
        array = np.asarray(which)
        if array.dtype == np.bool_:
            ids = self.ids
            check_shape("mask", array, (len(ids),))
            return cast(Ids, ids[array])
        if array.size == 0:
            return np.zeros(0, np.uint64)
        if array.dtype.kind not in "iu" or array.ndim > 1 or int(array.min()) < 0:
            raise ValueError("cloths are named by handles, a mask of bool, or None")
        return np.ascontiguousarray(array, dtype=np.uint64).reshape(-1)

    @overload
    def add(
        self,
        cooked: Cooked,
        settings: Mapping[str, Any] | None = None,
        translation: npt.ArrayLike | None = None,
        rotation: npt.ArrayLike | None = None,
        count: None = None,
    ) -> int: ...

    @overload
    def add(
        self,
        cooked: Cooked,
        settings: Mapping[str, Any] | None = None,
        translation: npt.ArrayLike | None = None,
        rotation: npt.ArrayLike | None = None,
        *,
        count: int,
    ) -> Ids: ...

    def add(
        self,
        cooked: Cooked,
        settings: Mapping[str, Any] | None = None,
        translation: npt.ArrayLike | None = None,
        rotation: npt.ArrayLike | None = None,
        count: int | None = None,
    ) -> int | Ids:
        """Adds a cloth and returns its handle, or `count` copies, which share the fabric, and returns theirs, shape [count].

        Cloths with a thickness collide with one another, copies at one position too: settings={"cloth_collision": {"distance": 0}}
        keeps them from it.

        settings: keys that differ from the settings the mesh was cooked with.
        translation: origin of the local space in the world [m], shape [3], or one for each copy, [count, 3].
        rotation: unit quaternion x y z w of the local space, shape [4] or [count, 4].
        """
        if count is not None and count < 0:
            raise ValueError(f"count must be 0 or more, not {count}")
        placed = poses(translation, rotation, 1 if count is None else count)
        ids = np.frombuffer(self._native.add(cooked._native, text(settings), placed), np.uint64)
        return int(ids[0]) if count is None else ids

    def remove(self, cloths: Which) -> None:
        """Removes cloths. Their memory is used again."""
        self._native.remove(self._select(cloths).tobytes())

    def reset(self, cloths: Which = None) -> None:
        """Resets cloths to how they were added: particles, velocities, pose, clock. Settings and colliders stay; what was
        pinned by `set_pins` is let go."""
        self._native.reset(self._select(cloths).tobytes())

    def step(self, frames: int = 1, frame_rate: float = 60.0) -> None:
        """Simulates frames of all cloths.

        frame_rate: frames per second [1/s]; a frame takes at most 10 s.

        Ctrl-C raises KeyboardInterrupt after a frame.
        """
        if frames < 0 or not frame_rate > 0:
            raise ValueError(
                f"frames must be 0 or more and frame_rate above 0, not {frames} and {frame_rate}"
            )
        self._native.step(frames, frame_rate)

    def read(self, cloths: Which = None) -> State:
        """Waits for and reads cloths. The backend's state is copied once, here; arrays of it are views."""
        ids = None if cloths is None else self._select(cloths).tobytes()
        return State(self._native.read(ids))

    def positions(self, cloths: Which = None, world: bool = False) -> Floats:
        """Positions of particles [m], read-only: of one handle, shape [n, 3], else [cloths, n, 3]. See `State.positions`."""
        return self.read(cloths).positions(_one(cloths), world)

    def velocities(self, cloths: Which = None, world: bool = False) -> Floats:
        """Velocities of particles [m/s], shape [n, 3] or [cloths, n, 3]. See `State.velocities`."""
        return self.read(cloths).velocities(_one(cloths), world)

    def particles(self, cloths: Which = None) -> Floats:
        """Position [m] and working inverse mass [1/kg] of particles, shape [n, 4] or [cloths, n, 4]."""
        return self.read(cloths).particles(_one(cloths))

    def settings(self, cloth: int) -> dict[str, Any]:
        """The settings of a cloth, with the keys of `[[cloth]]` in a scene; a copy."""
        return self._native.settings(cloth)

    def set_settings(self, cloths: Which, settings: Mapping[str, Any]) -> None:
        """Sets the settings that are named, from the next frame on; others stay. Lists are replaced as a whole."""
        self._native.set_settings(self._select(cloths).tobytes(), text(settings))

    def cloth_contact_solver(self) -> dict[str, Any]:
        """How all cloths collide with themselves and one another, with the keys of `[cloth_contact_solver]` in a scene; a copy."""
        return self._native.cloth_contact_solver()

    def set_cloth_contact_solver(self, settings: Mapping[str, Any]) -> None:
        """Sets the settings that are named, from the next frame on; others stay.

        {"contact": "triangles"}: cloths with a thickness keep it between triangles and not between particles. What that cannot keep apart
        is in `State.contact_reports`; a GPU untangles nothing, and counts what is crossed when a state is read.
        """
        self._native.set_cloth_contact_solver(text(settings))

    def set_wind(self, velocity: npt.ArrayLike, cloths: Which = None) -> None:
        """Sets the velocity of the air [m/s], world axes, shape [3], or one for each cloth, [k, 3]. Cloths feel it by the drag and
        lift of their `air`."""
        ids = self._select(cloths)
        self._native.set_wind(ids.tobytes(), rows("velocity", velocity, len(ids), 3).tobytes())

    def set_pose(
        self,
        cloths: Which,
        translation: npt.ArrayLike | None = None,
        rotation: npt.ArrayLike | None = None,
        teleport: bool = False,
    ) -> None:
        """Moves local spaces to a pose over the next frame; the cloth feels it as its `inertia` says.

        translation: [m], shape [3] or [k, 3] (default 0). rotation: unit quaternion x y z w, shape [4] or [k, 4] (default none).
        teleport: at once, and without any effect on the cloth.
        """
        ids = self._select(cloths)
        self._native.set_pose(ids.tobytes(), poses(translation, rotation, len(ids)), teleport)

    def poses(self, cloths: Which = None) -> tuple[Floats, Floats]:
        """Translations [m], shape [k, 3], and rotations, unit quaternions x y z w, shape [k, 4], after the last frame."""
        both = np.frombuffer(self._native.poses(self._select(cloths).tobytes()), np.float32)
        both = both.reshape(-1, 7)
        return both[:, :3], both[:, 3:]

    def set_pins(self, cloths: Which, particles: npt.ArrayLike, targets: npt.ArrayLike) -> None:
        """Has particles follow targets: free ones, which are held from now on, and pins, which move.

        particles: indices, shape [p], the same of all cloths.
        targets: where they are at the end of the next frame [m], local space, shape [p, 3] or [k, p, 3].

        The first targets act at once; later ones of the same particles are reached evenly over the next frame. Other
        particles replace those of the call before. A free particle goes as far as cloth that is taut lets it.
        """
        ids = self._select(cloths)
        chosen = indices("particles", particles, None)
        array = np.asarray(targets)
        if array.ndim == 3:
            ends = floats("targets", array, len(ids), len(chosen), 3)
        else:
            ends = floats("targets", array, len(chosen), 3)
            ends = np.broadcast_to(ends, (len(ids), len(chosen), 3))
        self._native.set_pins(ids.tobytes(), chosen.tobytes(), ends.tobytes())

    def release_pins(self, cloths: Which = None) -> None:
        """Lets go of what `set_pins` holds. Pins that the mesh was cooked with stay where they are."""
        self._native.release_pins(self._select(cloths).tobytes())

    def set_particles(
        self, cloth: int, positions: npt.ArrayLike, velocities: npt.ArrayLike | None = None
    ) -> None:
        """Sets all particles of a cloth, for example to start from a state that was read.

        positions: [m], local space, shape [n, 3]; or with working inverse masses [1/kg], [n, 4]. velocities: [m/s], local axes,
        shape [n, 3] (default at rest).
        """
        array = np.asarray(positions)
        if array.ndim == 2 and array.shape[1] == 4:
            particles = floats("positions", array, None, 4)
        else:
            masses = self.read(cloth).particles(cloth)[:, 3:]
            particles = np.hstack([floats("positions", array, len(masses), 3), masses])
        moving = None
        if velocities is not None:
            moving = floats("velocities", velocities, len(particles), 3).tobytes()
        self._native.set_particles(cloth, particles.tobytes(), moving)

    @overload
    def add_collider(self, cloths: int | None = None, **keys: Any) -> int: ...

    @overload
    def add_collider(self, cloths: npt.NDArray[Any], **keys: Any) -> Ids: ...

    def add_collider(self, cloths: Which = None, **keys: Any) -> int | Ids:
        """Adds a collider and returns its handle.

        keys: those of `[[collider]]` in a scene: one of sphere={"radius": ..}, capsule={"from": .., "to": .., "radius": ..}, box, plane,
            cylinder, convex and mesh, which may also be a `Mesh`; transform, which places the shape on its body; friction.
        cloths: by default all cloths meet it, in the world. With a cloth, only that one, in its local space; with an array of cloths each
            gets one of its own, and the handles have the shape [k].
        """
        keys = dict(keys)
        mesh = keys.get("mesh")
        arrays = None
        if isinstance(mesh, Mesh):
            if keys.get("transform") is not None:
                raise ValueError("transform: put the points of the mesh where they belong")
            arrays = (mesh._bytes(), bool(keys.pop("open", False)))
            if keys.get("sphere") is not None:
                raise ValueError("a collider has exactly one of sphere and mesh")
            # What the mesh replaces.
            keys["mesh"], keys["sphere"] = None, {"radius": 1}
        for key, instead in [("keys", "Simulation.move_collider()"), ("cloths", "the argument cloths")]:
            if key in keys:
                raise ValueError(f"`{key}` is a key of scene files; here it is {instead}")
        own = None if cloths is None else self._select(cloths).tobytes()
        added = np.frombuffer(self._native.add_collider(text(keys), arrays, own), np.uint64)
        return int(added[0]) if cloths is None or np.ndim(cloths) == 0 else added

    def move_collider(
        self,
        colliders: int | npt.ArrayLike,
        translation: npt.ArrayLike | None = None,
        rotation: npt.ArrayLike | None = None,
        cloths: Which = None,
        teleport: bool = False,
    ) -> None:
        """Moves the bodies of colliders to a pose over the next frame; cloth feels their velocity.

        colliders, cloths: as `add_collider` returned and took them.
        translation: [m], shape [3] or [k, 3] (default 0). rotation: unit quaternion x y z w, shape [4] or [k, 4] (default none).
        teleport: at once, without a velocity, touching nothing between the poses.
        """
        handles, own = self._colliders(colliders, cloths)
        placed = poses(translation, rotation, len(handles))
        self._native.move_collider(handles.tobytes(), own, placed, teleport)

    def remove_collider(self, colliders: int | npt.ArrayLike, cloths: Which = None) -> None:
        """Removes colliders, named as for `move_collider`."""
        handles, own = self._colliders(colliders, cloths)
        self._native.remove_collider(handles.tobytes(), own)

    def _colliders(self, colliders: int | npt.ArrayLike, cloths: Which) -> tuple[Ids, bytes | None]:
        handles = np.asarray(colliders)
        if handles.dtype.kind not in "iu" or (handles.size and int(handles.min()) < 0):
            raise ValueError("colliders are named by the handles that add_collider returns")
        handles = np.ascontiguousarray(handles, dtype=np.uint64).reshape(-1)
        if cloths is None:
            return handles, None
        ids = self._select(cloths)
        if len(ids) != len(handles) and len(ids) != 1:
            raise ValueError(f"there are {len(handles)} colliders and {len(ids)} cloths")
        return handles, ids.tobytes()

    def pick(self, origin: npt.ArrayLike, direction: npt.ArrayLike) -> Hit | None:
        """What a ray in the world hits first, or None.

        origin: [m], shape [3]. direction: of any length, shape [3].
        """
        start, along = floats("origin", origin, 3), floats("direction", direction, 3)
        hit = self._native.pick(start.tolist(), along.tolist())
        if hit is None:
            return None
        return Hit(**{**hit, "weights": tuple(hit["weights"]), "point": tuple(hit["point"])})

    def save(self) -> bytes:
        """Everything that the next frames depend on: cloths, settings, inputs, colliders; without what `set_pins` holds."""
        return self._native.save()

    def restore(self, saved: bytes) -> Ids:
        """Replaces all cloths and colliders by those of `save`, of this simulation or another one on either backend. Returns the
        new handles of the cloths, in the order of `ids` then; old ones are of no cloth."""
        return np.frombuffer(self._native.restore(saved), np.uint64)


def _one(cloths: Which) -> int | None:
    """The handle, if it is one alone."""
    if cloths is None or np.ndim(cloths) > 0:
        return None
    return int(cast(int, cloths))
