"""Simulations of cloths, and the states that are read from them."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Union, cast, overload

import numpy as np
import numpy.typing as npt

from . import _poplin
from ._arrays import Floats, Ids, Ints, check_shape, floats, indices, poses, rows, text
from ._mesh import Cooked, Mesh

ClothSelection = Union[int, npt.ArrayLike, None]
"""Selected cloths: a handle, an array of handles, shape [k], a bool mask, shape [cloths], or None for all."""


def _into(out: Floats | None, view: _poplin.View) -> Floats:
    """Returns the array of a view, or copies it to an array."""
    array = np.asarray(view)
    if out is None:
        return array
    check_shape("out", out, array.shape)
    np.copyto(out, array)
    return out


class Backend(NamedTuple):
    """Backend of a simulation."""

    name: str
    """"gpu" or "cpu"."""
    adapter: str
    """GPU device, or number of CPU threads and instruction set."""
    reason: str
    """Reason for this backend."""


class Hit(NamedTuple):
    """First hit of a ray."""

    cloth: int
    """Handle of the cloth."""
    triangle: int
    """Index in `Cooked.triangles`."""
    weights: tuple[float, float, float]
    """Barycentric weights of the triangle's corners."""
    particle: int
    """Nearest particle of the triangle."""
    distance: float
    """Distance from the ray's origin [m]."""
    point: tuple[float, float, float]
    """World position of the hit [m]."""
    is_front: bool
    """True if the ray hits the front of the triangle."""


class Trouble(NamedTuple):
    """Failure of triangle contact over a range of frames of a cloth; frames count from 1, 0 is the start."""

    first_frame: int
    """First frame with the failure."""
    last_frame: int
    """Last frame with the failure so far."""
    most_pairs: int
    """Largest number of pairs in one frame."""
    partner: str
    """Most frequent partner of those pairs: "itself", "other_cloth" or "collider"."""
    position_m: tuple[float, float, float]
    """World position of one of those pairs [m]."""


class ContactReport(NamedTuple):
    """Failures of triangle contact of a cloth since it was added or reset."""

    frames: int
    """Number of frames with triangle contact."""
    crossings: int
    """Edge-triangle crossings after the last frame, on a GPU after the last frame that was read (exact)."""
    start_crossings: int
    """Edge-triangle crossings before the first frame; 0 on a GPU."""
    crossed: Trouble | None
    """Frames with crossings; on a GPU only frames that were read."""
    forced: Trouble | None
    """Frames in which spheres, capsules or planes passed through the cloth."""
    hurried: Trouble | None
    """Frames in which pins or colliders moved too far in one iteration to be tracked; `most_pairs` is 1."""
    unlisted: Trouble | None
    """Frames in which the list of contact pairs was full."""


class State:
    """State of cloths at the time of reading; later frames do not change it.

    Arrays are read-only float32. `positions` and `particles` are views into the state, without a copy, on every
    backend; an array keeps the state alive. Values in world axes and velocities are copies.
    """

    ids: Ids
    """Handles of the cloths in the requested order, shape [cloths]; arrays of all cloths use this order."""

    def __init__(self, native: _poplin.StateRead) -> None:
        self._native = native
        self.ids = np.frombuffer(native.ids(), np.uint64)

    def _index(self, cloth: int | None) -> int | None:
        if cloth is None:
            return None
        found = np.flatnonzero(self.ids == np.uint64(cloth))
        if not found.size:
            raise ValueError(f"no cloth {cloth} in this state: read it first")
        return int(found[0])

    def __reduce__(self) -> str:
        raise TypeError("a State cannot be pickled: take its arrays, or Simulation.save()")

    def positions(self, cloth: int | None = None, world: bool = False, out: Floats | None = None) -> Floats:
        """Returns positions of particles [m] of one cloth, shape [n, 3], or of all cloths, shape [cloths, n, 3].

        world: True for world space; by default local space, which equals world space unless the cloth has a pose.
        out: array of this shape, of any float type, to write to and return.

        Raises ValueError if the cloths have different particle counts.
        """
        index, native = self._index(cloth), self._native
        return _into(out, native.world_positions(index) if world else native.particles(index, 3))

    def particles(self, cloth: int | None = None, out: Floats | None = None) -> Floats:
        """Returns local position [m] and current inverse mass [1/kg] of particles, shape [n, 4] or [cloths, n, 4]."""
        return _into(out, self._native.particles(self._index(cloth), 4))

    def velocities(self, cloth: int | None = None, world: bool = False, out: Floats | None = None) -> Floats:
        """Returns velocities in the last iteration of the last frame [m/s], relative to the local space.

        Shape [n, 3] for one cloth or [cloths, n, 3] for all.
        world: True for world axes; by default axes of the local space.
        """
        return _into(out, self._native.velocities(self._index(cloth), world))

    def _counter(self, name: str) -> Ints:
        return np.frombuffer(self._native.counters()[name], np.uint32)

    @property
    def fault_counts(self) -> Ints:
        """Number of particles of each cloth that became NaN, infinite or too far away, shape [cloths].

        Above 0 the cloth is frozen at its last valid state until it is reset.
        """
        return self._counter("fault_count")

    @property
    def iteration_totals(self) -> Ints:
        """Solver iterations of each cloth since it was added or reset, shape [cloths]."""
        return self._counter("iteration_total")

    @property
    def slept_frames(self) -> Ints:
        """Number of frames that each cloth slept through since it was added or reset, shape [cloths]."""
        return self._counter("slept_frames")

    @property
    def contact_reports(self) -> list[ContactReport]:
        """Triangle contact report of each cloth, in the order of `ids`."""

        def report(row: dict[str, Any]) -> ContactReport:
            for kind in ("crossed", "forced", "hurried", "unlisted"):
                trouble = row[kind]
                if trouble is not None:
                    row[kind] = Trouble(**{**trouble, "position_m": tuple(trouble["position_m"])})
            return ContactReport(**row)

        return [report(row) for row in self._native.contact_reports()]


class Simulation:
    """Simulation of cloths on one backend.

    backend: "auto" (a real GPU if there is one, else the CPU), "gpu" or "cpu".
    adapter: use only a GPU adapter whose name contains this.

    Cloths have integer handles; the handle of a removed cloth is never reused. Methods take one handle, an array of
    handles, a mask over `ids`, or None for all cloths, and process thousands of cloths in one call.

    All methods release the interpreter's lock while they work, and may be called from any thread: calls to one simulation
    wait for each other, two simulations run in parallel. Threads and devices do not survive a fork: a forked process
    raises RuntimeError if its parent has used poplin before.

    Bad input raises ValueError and changes nothing; a lost device raises RuntimeError.
    """

    def __init__(self, backend: str = "auto", adapter: str | None = None) -> None:
        self._native = _poplin.Simulation(backend, adapter)

    @property
    def backend(self) -> Backend:
        """Backend of the simulation, with the reason for it."""
        return Backend(*self._native.backend())

    @property
    def memory_bytes(self) -> int:
        """Memory that the backend holds for cloths, used or reserved [bytes]."""
        return self._native.memory_bytes()

    @property
    def ids(self) -> Ids:
        """Handles of the cloths in the order of adding, shape [cloths]."""
        return np.frombuffer(self._native.ids(), np.uint64)

    def __len__(self) -> int:
        """Number of cloths."""
        return len(self.ids)

    def __reduce__(self) -> str:
        raise TypeError("a Simulation cannot be pickled: save() returns bytes, with which restore() continues")

    def __repr__(self) -> str:
        return f"Simulation({len(self)} cloths on {self.backend.adapter})"

    def _select(self, which: ClothSelection) -> Ids:
        """Returns the handles of selected cloths."""
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
            raise ValueError("cloths must be handles, a bool mask, or None")
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
        """Adds a cloth and returns its handle, or adds `count` copies and returns their handles, shape [count].

        Copies share the fabric. Cloths with a thickness collide with each other, including copies at one position:
        settings={"cloth_collision": {"distance": 0}} prevents that.

        settings: keys that override the settings of `cook`.
        translation: origin of the local space in the world [m], shape [3], or one per copy, [count, 3].
        rotation: unit quaternion x y z w of the local space, shape [4] or [count, 4].
        """
        if count is not None and count < 0:
            raise ValueError(f"count must be at least 0, not {count}")
        placed = poses(translation, rotation, 1 if count is None else count)
        ids = np.frombuffer(self._native.add(cooked._native, text(settings), placed), np.uint64)
        return int(ids[0]) if count is None else ids

    def remove(self, cloths: ClothSelection) -> None:
        """Removes cloths; their memory is reused."""
        self._native.remove(self._select(cloths).tobytes())

    def reset(self, cloths: ClothSelection = None) -> None:
        """Resets particles, velocities, pose and clock of cloths to their state when added.

        Keeps settings and colliders; releases particles pinned by `set_pins`.
        """
        self._native.reset(self._select(cloths).tobytes())

    def step(self, frames: int = 1, frame_rate: float = 60.0) -> None:
        """Simulates frames of all cloths.

        frame_rate: frames per second [1/s]; a frame takes at most 10 s.

        Ctrl-C raises KeyboardInterrupt after the current frame.
        """
        if frames < 0 or not frame_rate > 0:
            raise ValueError(
                f"frames must be at least 0 and frame_rate above 0, not {frames} and {frame_rate}"
            )
        self._native.step(frames, frame_rate)

    def read(self, cloths: ClothSelection = None) -> State:
        """Waits for the backend and reads cloths. Copies the state once; arrays are views into it."""
        ids = None if cloths is None else self._select(cloths).tobytes()
        return State(self._native.read(ids))

    def positions(
        self, cloths: ClothSelection = None, world: bool = False, out: Floats | None = None
    ) -> Floats:
        """Reads positions of particles [m]: shape [n, 3] for one handle, else [cloths, n, 3]. See `State.positions`."""
        return self.read(cloths).positions(_one(cloths), world, out)

    def velocities(
        self, cloths: ClothSelection = None, world: bool = False, out: Floats | None = None
    ) -> Floats:
        """Reads velocities of particles [m/s], shape [n, 3] or [cloths, n, 3]. See `State.velocities`."""
        return self.read(cloths).velocities(_one(cloths), world, out)

    def particles(self, cloths: ClothSelection = None, out: Floats | None = None) -> Floats:
        """Reads position [m] and current inverse mass [1/kg] of particles, shape [n, 4] or [cloths, n, 4]."""
        return self.read(cloths).particles(_one(cloths), out)

    def settings(self, cloth: int) -> dict[str, Any]:
        """Returns a copy of the settings of a cloth, with the keys of `[[cloth]]` in a scene."""
        return self._native.settings(cloth)

    def set_settings(self, cloths: ClothSelection, settings: Mapping[str, Any]) -> None:
        """Changes the given settings from the next frame on; keeps the others. Lists are replaced as a whole."""
        self._native.set_settings(self._select(cloths).tobytes(), text(settings))

    def cloth_contact_solver(self) -> dict[str, Any]:
        """Returns a copy of the settings of cloth contact, with the keys of `[cloth_contact_solver]` in a scene."""
        return self._native.cloth_contact_solver()

    def set_cloth_contact_solver(self, settings: Mapping[str, Any]) -> None:
        """Changes the given settings of cloth contact from the next frame on; keeps the others.

        {"contact": "triangles"}: cloths keep their thickness between triangles instead of particles. Failures are in
        `State.contact_reports`; a GPU does not untangle, and counts crossings only when a state is read.
        """
        self._native.set_cloth_contact_solver(text(settings))

    def set_wind(self, velocity: npt.ArrayLike, cloths: ClothSelection = None) -> None:
        """Sets the wind velocity in world axes [m/s], shape [3], or one per cloth, [k, 3].

        Wind acts through drag and lift of the setting `air`.
        """
        ids = self._select(cloths)
        self._native.set_wind(ids.tobytes(), rows("velocity", velocity, len(ids), 3).tobytes())

    def set_pose(
        self,
        cloths: ClothSelection,
        translation: npt.ArrayLike | None = None,
        rotation: npt.ArrayLike | None = None,
        teleport: bool = False,
    ) -> None:
        """Moves local spaces to a pose over the next frame; the setting `inertia` scales the inertial forces.

        translation: [m], shape [3] or [k, 3] (default 0).
        rotation: unit quaternion x y z w, shape [4] or [k, 4] (default identity).
        teleport: moves at once, without inertial forces.
        """
        ids = self._select(cloths)
        self._native.set_pose(ids.tobytes(), poses(translation, rotation, len(ids)), teleport)

    def poses(self, cloths: ClothSelection = None) -> tuple[Floats, Floats]:
        """Returns translations [m], shape [k, 3], and rotations, unit quaternions x y z w, shape [k, 4], of local spaces."""
        both = np.frombuffer(self._native.poses(self._select(cloths).tobytes()), np.float32)
        both = both.reshape(-1, 7)
        return both[:, :3], both[:, 3:]

    def set_pins(self, cloths: ClothSelection, particles: npt.ArrayLike, targets: npt.ArrayLike) -> None:
        """Makes particles follow targets: pins free particles, and moves pinned ones.

        particles: indices, shape [p], the same for all cloths.
        targets: positions at the end of the next frame in local space [m], shape [p, 3] or [k, p, 3].

        The first targets act at once; later targets of the same particles are reached evenly over the next frame. Other
        particles replace those of the previous call. Taut cloth can hold a free particle back from its target.
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

    def _particle_rows(self, name: str, values: npt.ArrayLike, ids: Ids, width: int) -> bytes:
        """Returns the bytes of rows per particle, shape [n, width] for all cloths or [k, n, width], for each cloth."""
        array = np.asarray(values)
        if array.ndim == 3:
            return floats(name, array, len(ids), None, width).tobytes()
        each = floats(name, array, None, width)
        return np.broadcast_to(each, (len(ids), *each.shape)).tobytes()

    def set_motion_spheres(self, cloths: ClothSelection, spheres: npt.ArrayLike | None) -> None:
        """Sets a sphere for each particle that it may not leave, for example around skinned positions; None: no spheres.

        spheres: center in local space and radius [m], shape [n, 4], or [k, n, 4]; a radius of 0 holds the particle.

        The first spheres act at once, later ones are reached over the next frame. The setting `motion` has their stiffness.
        """
        self._set_spheres(cloths, spheres, False)

    def set_separation_spheres(self, cloths: ClothSelection, spheres: npt.ArrayLike | None) -> None:
        """Sets a sphere for each particle that it may not enter (backstops); None: no spheres.

        spheres: center in local space and radius [m], shape [n, 4], or [k, n, 4].

        The first spheres act at once, later ones are reached over the next frame.
        """
        self._set_spheres(cloths, spheres, True)

    def _set_spheres(self, cloths: ClothSelection, spheres: npt.ArrayLike | None, are_separation: bool) -> None:
        ids = self._select(cloths)
        each = b"" if spheres is None else self._particle_rows("spheres", spheres, ids, 4)
        self._native.set_spheres(ids.tobytes(), each, are_separation)

    def set_accelerations(self, cloths: ClothSelection, accelerations: npt.ArrayLike | None) -> None:
        """Sets accelerations of particles in addition to gravity [m/s^2], shape [n, 3] or [k, n, 3]; None: none."""
        ids = self._select(cloths)
        each = b"" if accelerations is None else self._particle_rows("accelerations", accelerations, ids, 3)
        self._native.set_accelerations(ids.tobytes(), each)

    def strain(self, cloths: ClothSelection = None) -> list[dict[str, float]]:
        """Measures the stretch edges of each cloth: `max` and `p99`, the largest and the 99th percentile of
        |length / rest - 1|, and `longest` and `shortest`, which are signed."""
        return self._native.strain(self._select(cloths).tobytes())

    def release_pins(self, cloths: ClothSelection = None) -> None:
        """Releases particles pinned by `set_pins`. Pins of the cooked mesh stay at their positions."""
        self._native.release_pins(self._select(cloths).tobytes())

    def set_particles(
        self, cloth: int, positions: npt.ArrayLike, velocities: npt.ArrayLike | None = None
    ) -> None:
        """Sets all particles of a cloth, for example to a state that was read.

        positions: local positions [m], shape [n, 3], or with inverse masses [1/kg], shape [n, 4].
        velocities: local velocities [m/s], shape [n, 3] (default 0).
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

    def add_collider(self, cloths: ClothSelection = None, **keys: Any) -> int | Ids:
        """Adds a collider and returns its handle.

        keys: keys of `[[collider]]` in a scene: one of sphere={"radius": ..}, capsule={"from": .., "to": .., "radius": ..},
            box, plane, cylinder, convex and mesh, which may also be a `Mesh`; transform, which places the shape on its
            body; friction.
        cloths: by default the collider is in world space and acts on all cloths. With one cloth it acts only on that
            cloth, in its local space; with an array of cloths each gets its own collider, and the handles have shape [k].
        """
        keys = dict(keys)
        mesh = keys.get("mesh")
        arrays = None
        if isinstance(mesh, Mesh):
            if keys.get("transform") is not None:
                raise ValueError("transform: not allowed with a Mesh; transform its points instead")
            arrays = (mesh._bytes(), bool(keys.pop("open", False)))
            if keys.get("sphere") is not None:
                raise ValueError("a collider has exactly one of sphere and mesh")
            # Placeholder shape, which the native half replaces by the mesh.
            keys["mesh"], keys["sphere"] = None, {"radius": 1}
        for key, instead in [("keys", "Simulation.move_collider()"), ("cloths", "the argument cloths")]:
            if key in keys:
                raise ValueError(f"`{key}` is a key of scene files; use {instead} instead")
        own = None if cloths is None else self._select(cloths).tobytes()
        added = np.frombuffer(self._native.add_collider(text(keys), arrays, own), np.uint64)
        return int(added[0]) if cloths is None or np.ndim(cloths) == 0 else added

    def move_collider(
        self,
        colliders: int | npt.ArrayLike,
        translation: npt.ArrayLike | None = None,
        rotation: npt.ArrayLike | None = None,
        cloths: ClothSelection = None,
        teleport: bool = False,
    ) -> None:
        """Moves the bodies of colliders to a pose over the next frame; contact uses their velocity.

        colliders, cloths: handles returned by `add_collider`, and its argument.
        translation: [m], shape [3] or [k, 3] (default 0).
        rotation: unit quaternion x y z w, shape [4] or [k, 4] (default identity).
        teleport: moves at once, without velocity and without contact between the poses.
        """
        handles, own = self._colliders(colliders, cloths)
        placed = poses(translation, rotation, len(handles))
        self._native.move_collider(handles.tobytes(), own, placed, teleport)

    def remove_collider(self, colliders: int | npt.ArrayLike, cloths: ClothSelection = None) -> None:
        """Removes colliders, with the arguments of `move_collider`."""
        handles, own = self._colliders(colliders, cloths)
        self._native.remove_collider(handles.tobytes(), own)

    def _colliders(self, colliders: int | npt.ArrayLike, cloths: ClothSelection) -> tuple[Ids, bytes | None]:
        handles = np.asarray(colliders)
        if handles.dtype.kind not in "iu" or (handles.size and int(handles.min()) < 0):
            raise ValueError("colliders must be handles returned by add_collider")
        handles = np.ascontiguousarray(handles, dtype=np.uint64).reshape(-1)
        if cloths is None:
            return handles, None
        ids = self._select(cloths)
        if len(ids) != len(handles) and len(ids) != 1:
            raise ValueError(f"{len(handles)} colliders need 1 or {len(handles)} cloths, not {len(ids)}")
        return handles, ids.tobytes()

    def pick(self, origin: npt.ArrayLike, direction: npt.ArrayLike) -> Hit | None:
        """Returns the first hit of a world-space ray, or None.

        origin: [m], shape [3]. direction: any length, shape [3].
        """
        start, along = floats("origin", origin, 3), floats("direction", direction, 3)
        hit = self._native.pick(start.tolist(), along.tolist())
        if hit is None:
            return None
        return Hit(**{**hit, "weights": tuple(hit["weights"]), "point": tuple(hit["point"])})

    def save(self) -> bytes:
        """Returns the full simulation state: cloths, settings, inputs and colliders, without pins of `set_pins`."""
        return self._native.save()

    def restore(self, saved: bytes) -> Ids:
        """Replaces all cloths and colliders by a state of `save`, from this or another simulation on either backend.

        Returns the new handles of the cloths, in the saved order of `ids`; old handles become invalid.
        """
        return np.frombuffer(self._native.restore(saved), np.uint64)


def _one(cloths: ClothSelection) -> int | None:
    """Returns the handle of a single cloth, None for an array or all cloths."""
    if cloths is None or np.ndim(cloths) > 0:
        return None
    return int(cast(int, cloths))
