"""Simulations and their NumPy arrays."""

import importlib.metadata
import os
import re
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from conftest import run_python

import poplin

CPU = {"backend": "cpu"}


@pytest.fixture(scope="module")
def sheet() -> poplin.Cooked:
    """Returns a hanging sheet of 8 x 8 particles, pinned at a corner."""
    return poplin.cook(poplin.grid(8, 8, 1.0, 1.0), pins="corner:top-left")


@pytest.fixture
def simulation() -> poplin.Simulation:
    """Returns an empty simulation."""
    return poplin.Simulation(**CPU)


def free(folder: Path) -> str:
    """Returns a scene with one free and one pinned sheet."""
    scene = folder / "scene.toml"
    scene.write_text(
        """
frames = 20
[[cloth]]
name = "sheet"
grid = { columns = 8, rows = 8, width = 1, height = 1 }
pins = ["corner:top-left"]
contact = { friction = 0.3 }
solver = { pbd = { frequency = 600 } }
[[collider]]
sphere = { center = [0.5, -1.45, 0.1], radius = 0.4 }
"""
    )
    return str(scene)


def test_positions_are_those_of_the_command(tmp_path, simulation):
    words = [sys.executable, "-m", "poplin", "run", free(tmp_path), "--format", "npy"]
    done = subprocess.run([*words, "--backend", "cpu", "--out", tmp_path / "out"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    frames = np.load(next((tmp_path / "out").glob("*.npy")))
    settings = {"contact": {"friction": 0.3}, "solver": {"pbd": {"frequency": 600}}}
    cooked = poplin.cook(poplin.grid(8, 8, 1.0, 1.0), "corner:top-left", settings)
    simulation.add_collider(sphere={"center": [0.5, -1.45, 0.1], "radius": 0.4})
    cloth = simulation.add(cooked)
    for frame in range(20):
        vertices = simulation.positions(cloth)[cooked.vertex_to_particle]
        assert vertices.tobytes() == frames[frame].astype(np.float32).tobytes(), frame
        simulation.step()


def test_the_version_is_that_of_the_package():
    assert poplin.__version__ == importlib.metadata.version("poplin")


def test_fine_cloth_holds_its_lengths(simulation):
    settings = {"density": 0.2, "fabric": {"tethers": "none"}, "solver": {"multilevel": {"frequency": 240}}}
    cooked = poplin.cook(poplin.grid(48, 48, 1.0, 1.0), ["corner:top-left", "corner:top-right"], settings)
    cloth = simulation.add(cooked)
    simulation.step(60)
    rows = simulation.positions(cloth)[cooked.vertex_to_particle].reshape(48, 48, 3)
    edges = np.concatenate([np.diff(rows, axis=axis).reshape(-1, 3) for axis in (0, 1)])
    strains = np.linalg.norm(edges, axis=1) * 47 - 1
    assert np.quantile(strains, 0.99) < 0.01
    # Levels are cooked for the solver that needs them.
    plain = simulation.add(poplin.cook(poplin.grid(4, 4, 1.0, 1.0)))
    with pytest.raises(ValueError, match="cook it with `levels`"):
        simulation.set_settings(plain, {"solver": {"multilevel": {}}})


def test_values_stated_at_their_default_win_over_a_material(simulation):
    settings = {"material": "silk", "contact": {"friction": 0}, "solver": {"xpbd": {"bending_rigidity": 0}}}
    cooked = poplin.cook(poplin.grid(4, 4, 1.0, 1.0), settings=settings)
    assert cooked.settings["contact"]["friction"] == 0
    assert cooked.settings["solver"]["xpbd"]["bending_rigidity"] == 0
    assert cooked.settings["thickness"] == pytest.approx(0.2e-3)
    cloth = simulation.add(cooked, {"thickness": 0, "max_speed": 3})
    assert (simulation.settings(cloth)["thickness"], simulation.settings(cloth)["max_speed"]) == (0, 3)
    simulation.set_settings(cloth, {"max_speed": None, "contact": {"friction": 0.5}})
    settings = simulation.settings(cloth)
    assert (settings["max_speed"], settings["contact"]["friction"], settings["thickness"]) == (None, 0.5, 0)


def test_cooking_warns_of_doubtful_cloth():
    with pytest.warns(poplin.PoplinWarning, match="1.41 mm across") as caught:
        cooked = poplin.cook(poplin.grid(4, 4, 0.001, 0.001))
    [warning] = [it.message for it in caught]
    assert (warning.kind, warning.limit) == ("odd_size", pytest.approx(0.01))
    assert warning.value == pytest.approx(0.001 * 2**0.5)
    assert cooked.warnings == [warning.record] and warning.record["size_m"] == warning.value
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert poplin.cook(poplin.grid(4, 4, 1.0, 1.0)).warnings == []


def test_arrays_have_their_shapes_and_share_memory(simulation, sheet):
    ids = simulation.add(sheet, translation=np.arange(6).reshape(2, 3), count=2)
    simulation.step(3)
    state = simulation.read()
    positions = state.positions()
    assert positions.shape == (2, 64, 3) and positions.dtype == np.float32
    assert not positions.flags.writeable and not positions.flags.owndata
    particles = state.particles()
    assert particles.shape == (2, 64, 4) and np.shares_memory(positions, particles)
    one = state.positions(int(ids[1]))
    assert one.shape == (64, 3) and np.shares_memory(one, positions) and one.strides == (16, 4)
    assert np.array_equal(one, positions[1])
    before = positions.copy()
    simulation.step(3)
    simulation.remove(None)
    del state, particles, one
    assert np.array_equal(positions, before), "a view outlives what it was read from"
    with pytest.raises(ValueError, match="read-only"):
        positions[0] = 0


def test_dlpack_takes_a_copy_or_a_view(simulation, sheet):
    simulation.add(sheet)
    positions = simulation.positions()
    assert np.array_equal(np.from_dlpack(positions.copy()), positions)
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        assert np.shares_memory(np.from_dlpack(positions), positions)


def test_world_and_local_space_differ_by_the_pose(simulation, sheet):
    half = np.sqrt(0.5)
    cloth = simulation.add(sheet, translation=[1, 2, 3], rotation=[0, half, 0, half])
    simulation.step(10)
    local, world = simulation.positions(cloth), simulation.positions(cloth, world=True)
    expected = np.stack([local[:, 2], local[:, 1], -local[:, 0]], axis=1) + [1, 2, 3]
    assert np.allclose(world, expected, atol=1e-5)
    axes = simulation.velocities(cloth, world=True)
    v = simulation.velocities(cloth)
    assert np.allclose(axes, np.stack([v[:, 2], v[:, 1], -v[:, 0]], axis=1), atol=1e-4)


def test_velocities_are_those_of_free_fall(simulation):
    cooked = poplin.cook(poplin.grid(4, 4, 1.0, 1.0))
    cloth = simulation.add(cooked)
    simulation.step(30, frame_rate=60)
    fall = simulation.velocities(cloth)
    assert np.allclose(fall[:, 1], -9.81 * 0.5, rtol=0.02) and np.abs(fall[:, [0, 2]]).max() < 1e-2


def test_velocities_are_those_of_the_step_that_was_simulated(simulation):
    cooked = poplin.cook(poplin.grid(4, 4, 1.0, 1.0), settings={"solver": {"pbd": {"frequency": 300}}})
    cloth = simulation.add(cooked)
    simulation.step(30)
    fall = simulation.velocities(cloth)
    simulation.set_settings(cloth, {"solver": {"pbd": {"frequency": 600}}})
    assert np.array_equal(simulation.velocities(cloth), fall)
    simulation.set_settings(cloth, {"solver": {"xpbd": {"substeps": 4}}})
    assert np.array_equal(simulation.velocities(cloth), fall)
    simulation.step(30, frame_rate=120)
    fall = simulation.velocities(cloth)
    other = poplin.Simulation(**CPU)
    [restored] = other.restore(simulation.save())
    assert np.array_equal(other.velocities(restored), fall)
    velocities = np.full((16, 3), [0, 0, 1])
    late = simulation.add(cooked)
    simulation.set_particles(late, simulation.positions(late), velocities)
    assert np.allclose(simulation.velocities(late), velocities, atol=1e-3)


def test_triangle_contact_keeps_layers_apart_and_reports_failures(simulation):
    settings = {"thickness": 0.01, "gravity": [0, 0, 0]}
    flat = poplin.cook(poplin.grid(8, 8, 0.4, 0.4, plane="xz"), settings=settings)
    upright = poplin.cook(poplin.grid(8, 8, 0.4, 0.4), pins="all", settings=settings)
    default = simulation.cloth_contact_solver()
    assert default["contact"] == "particles" and default["iterations"] == 2
    simulation.set_cloth_contact_solver({"contact": "triangles"})
    assert simulation.cloth_contact_solver() == {**default, "contact": "triangles"}
    # The vertical sheet crosses the corner of the horizontal one.
    low = simulation.add(flat)
    high = simulation.add(upright, translation=[0.313, 0.111, 0.031])
    alone = simulation.add(flat, translation=[0, -1, 0])
    simulation.step(20)
    reports = simulation.read([alone, low, high]).contact_reports
    assert reports[0] == poplin.ContactReport(20, 0, 0, None, None, None, None)
    for report in reports[1:]:
        assert report.frames == 20 and report.start_crossings > 0
        crossed = report.crossed
        assert isinstance(crossed, poplin.Trouble) and crossed.partner == "other_cloth"
        assert crossed.first_frame == 0 and crossed.most_pairs >= report.start_crossings
        assert np.allclose(crossed.position_m, [0.35, 0, 0.03], atol=0.1)
    other = poplin.Simulation(**CPU)
    other.restore(simulation.save())
    assert other.cloth_contact_solver()["contact"] == "triangles"


def test_invalid_contact_settings_change_nothing(simulation):
    before = simulation.cloth_contact_solver()
    for settings, message in [
        ({"contct": "triangles"}, "unknown key `contct` in [cloth_contact_solver]; did you mean `contact`?"),
        ({"iterations": 65}, "cloth_contact_solver.iterations = 65 is outside 1..=64"),
        ({"contact": "spheres"}, "unknown value `spheres` in [cloth_contact_solver]; expected one of `particles`, `triangles`"),
    ]:
        with pytest.raises(ValueError, match=re.escape(message)):
            simulation.set_cloth_contact_solver(settings)
        assert simulation.cloth_contact_solver() == before


def test_a_mask_selects_cloths_to_reset(simulation, sheet):
    ids = simulation.add(sheet, count=4)
    start = simulation.positions()
    simulation.step(10)
    moved = simulation.positions()
    simulation.reset(np.array([True, False, True, False]))
    now = simulation.positions()
    assert np.array_equal(now[[0, 2]], start[[0, 2]]) and np.array_equal(now[[1, 3]], moved[[1, 3]])
    simulation.reset(ids[1:2])
    assert np.array_equal(simulation.positions(ids[[1]])[0], start[1])
    simulation.reset()
    assert np.array_equal(simulation.positions(), start)
    assert np.array_equal(simulation.positions(ids[[3, 1]]), start[[3, 1]])


def test_cloths_are_read_in_the_requested_order(simulation, sheet):
    ids = simulation.add(sheet, count=3)
    targets = np.array([[[1.0, -0.9, z]] for z in (0, 0.1, 0.2)])
    simulation.set_pins(ids, [63], targets)
    simulation.step(1)
    order = ids[[2, 0]]
    state = simulation.read(order)
    assert np.array_equal(state.ids, order)
    assert np.allclose(state.positions()[:, 63], targets[[2, 0], 0], atol=0.02)
    assert not state.positions().flags.owndata and not state.positions().flags.writeable
    assert state.fault_counts.shape == (2,)


def test_pins_reach_their_targets_and_are_released(simulation, sheet):
    ids = simulation.add(sheet, count=2)
    simulation.set_pins(ids, [0, 63], [[0, 0.1, 0], [0.9, -0.8, 0.2]])
    simulation.step(2)
    assert np.allclose(simulation.positions()[:, 0], [0, 0.1, 0], atol=1e-6)
    assert np.allclose(simulation.positions()[:, 63], [0.9, -0.8, 0.2], atol=0.02)
    targets = np.array([[[0, 0, 0], [0.9, -0.9, 0]], [[0, 0.2, 0], [0.8, -0.7, 0]]])
    simulation.set_pins(ids, [0, 63], targets)
    simulation.step()
    assert np.allclose(simulation.positions()[:, 0], targets[:, 0], atol=1e-6)
    assert np.allclose(simulation.positions()[:, 63], targets[:, 1], atol=0.02)
    simulation.reset(ids[:1])
    simulation.set_pins(ids, [0, 63], targets)
    simulation.step()
    assert np.allclose(simulation.positions()[:, 0], targets[:, 0], atol=1e-6)
    assert np.allclose(simulation.positions()[:, 63], targets[:, 1], atol=0.02)
    simulation.release_pins()
    simulation.step(10)
    assert np.allclose(simulation.positions()[:, 0], targets[:, 0], atol=1e-6), "pins stay pins"
    assert np.linalg.norm(simulation.positions()[:, 63] - targets[:, 1], axis=1).min() > 0.1


def test_empty_pins_replace_those_of_the_previous_call(simulation, sheet):
    cloth = simulation.add(sheet)
    simulation.set_pins(cloth, [63], [[0.9, -0.8, 0.2]])
    simulation.step(2)
    simulation.set_pins(cloth, [], np.zeros((0, 3)))
    simulation.step(10)
    assert np.linalg.norm(simulation.positions(cloth)[63] - [0.9, -0.8, 0.2]) > 0.1


def test_only_given_settings_change(simulation, sheet):
    cloth = simulation.add(sheet, settings={"damping": [0.1, 0.1, 0.1]})
    before = simulation.settings(cloth)
    assert before["damping"] == [np.float32(0.1)] * 3
    simulation.set_settings(cloth, {"contact": {"friction": np.float32(0.5)}, "max_speed": 2})
    after = simulation.settings(cloth)
    assert after["contact"]["friction"] == 0.5 and after["max_speed"] == 2
    after["contact"]["friction"], after["max_speed"] = before["contact"]["friction"], None
    assert after == before
    simulation.set_settings(cloth, {"max_speed": None})
    assert simulation.settings(cloth)["max_speed"] is None
    assert sheet.settings["damping"] == [0, 0, 0]


def test_each_cloth_has_its_own_wind(simulation):
    settings = {"air": {"drag": 0.5, "lift": 0.0}}
    cooked = poplin.cook(poplin.grid(6, 6, 1.0, 1.0), "top:1%", settings)
    ids = simulation.add(cooked, count=2)
    simulation.set_wind([[0, 0, 5], [0, 0, -5]], ids)
    simulation.step(30)
    z = simulation.positions()[:, :, 2].mean(axis=1)
    assert z[0] > 0.05 and z[1] < -0.05


def test_poses_move_local_spaces(simulation, sheet):
    ids = simulation.add(sheet, count=2)
    simulation.set_pose(ids, [[1, 0, 0], [0, 2, 0]])
    simulation.step()
    assert np.array_equal(simulation.poses()[0], [[1, 0, 0], [0, 2, 0]])
    simulation.set_pose(ids, [0, 0, 0], teleport=True)
    assert np.array_equal(simulation.poses(ids)[1], [[0, 0, 0, 1]] * 2)


def test_colliders_are_shared_or_of_each_cloth(simulation):
    cooked = poplin.cook(poplin.grid(6, 6, 0.5, 0.5, plane="xz"))
    ids = simulation.add(cooked, count=3)
    floor = simulation.add_collider(plane={"normal": [0, 1, 0], "offset": -0.5})
    tables = simulation.add_collider(ids[:2], box={"size": [1, 0.1, 1]}, transform={"translation": [0.25, -0.2, 0.25]})
    assert isinstance(floor, int) and tables.shape == (2,)
    simulation.step(90)
    heights = simulation.positions()[:, :, 1].min(axis=1)
    assert np.allclose(heights, [-0.15, -0.15, -0.5], atol=0.01)
    for frame in range(1, 51):
        simulation.move_collider(tables, [[0, 0.002 * frame, 0], [0, 0, 0]], cloths=ids[:2])
        simulation.step()
    simulation.step(30)
    heights = simulation.positions()[:, :, 1].mean(axis=1)
    assert np.allclose(heights[:2], [-0.05, -0.15], atol=0.02)
    simulation.remove_collider(tables, cloths=ids[:2])
    simulation.step(60)
    assert np.allclose(simulation.positions()[:, :, 1].min(axis=1), -0.5, atol=0.01)
    simulation.remove_collider(floor)
    with pytest.raises(ValueError, match="collider"):
        simulation.remove_collider(floor)


def test_colliders_change_all_or_none(simulation, sheet):
    ids = simulation.add(sheet, count=2)
    shared = [simulation.add_collider(sphere={"radius": radius}) for radius in (0.1, 0.2)]
    own = simulation.add_collider(ids, sphere={"radius": 0.1})
    # Handles in two sets may be equal.
    simulation.move_collider(own, [[1, 0, 0], [2, 0, 0]], cloths=ids)
    before = simulation.save()
    rotations = [[0, 0, 0, 1], [0, 0, 0, 2]]
    for call, words in [
        (lambda: simulation.move_collider([shared[0], shared[1] + 99], [1, 1, 1]), "collider"),
        (lambda: simulation.move_collider(shared, [1, 1, 1], rotations), "rotation"),
        (lambda: simulation.move_collider([shared[0]] * 2, [1, 1, 1]), "twice"),
        (lambda: simulation.move_collider(own, [1, 1, 1], cloths=[ids[0], ids[1] + 99]), "no cloth"),
        (lambda: simulation.remove_collider([shared[0], shared[1] + 99]), "collider"),
        (lambda: simulation.remove_collider([shared[0]] * 2), "twice"),
        (lambda: simulation.remove_collider([own[0]] * 2, cloths=ids[0]), "twice"),
    ]:
        with pytest.raises(ValueError, match=words):
            call()
        assert simulation.save() == before
    simulation.remove_collider(own, cloths=ids)
    simulation.remove_collider(shared)


def test_meshes_are_colliders(simulation):
    cube = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], np.float64)
    quads = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    simulation.add_collider(mesh=poplin.Mesh(cube - [0.5, 1.2, 0.5], quads))
    cloth = simulation.add(poplin.cook(poplin.grid(9, 9, 0.5, 0.5, plane="xz")), translation=[-0.25, 0, -0.25])
    simulation.step(60)
    assert np.allclose(simulation.positions(cloth)[:, 1], -0.2, atol=0.02)
    with pytest.raises(ValueError, match="not closed"):
        simulation.add_collider(mesh=poplin.Mesh(cube, quads[:4]))
    simulation.add_collider(mesh=poplin.Mesh(cube, quads[:4]), open=True)
    for shape in [{"sphere": {"radius": 1}}, {"box": {"size": [1, 1, 1]}}]:
        with pytest.raises(ValueError, match="exactly one of"):
            simulation.add_collider(mesh=poplin.Mesh(cube, quads), **shape)


def test_a_restored_simulation_continues_with_the_same_bits(simulation, sheet):
    simulation.add(sheet, count=2)
    simulation.add_collider(sphere={"center": [0.5, -1, 0], "radius": 0.3})
    simulation.step(10)
    saved = simulation.save()
    simulation.step(10)
    expected = simulation.positions()
    ids = simulation.restore(saved)
    simulation.step(10)
    assert simulation.positions().tobytes() == expected.tobytes() and np.array_equal(ids, simulation.ids)
    other = poplin.Simulation(**CPU)
    other.restore(saved)
    other.step(10)
    assert other.positions().tobytes() == expected.tobytes()
    with pytest.raises(ValueError):
        other.restore(saved[:-5])
    with pytest.raises(ValueError):
        other.restore(b"")


def test_a_ray_picks_a_particle(simulation, sheet):
    cloth = simulation.add(sheet)
    hit = simulation.pick([0.5, -0.5, 2], [0, 0, -1])
    assert hit is not None and hit.cloth == cloth and np.isclose(hit.distance, 2, atol=1e-2)
    assert hit.particle in sheet.triangles[hit.triangle] and hit.is_front
    assert simulation.pick([9, 9, 9], [0, 0, 1]) is None


def test_particles_are_set(simulation, sheet):
    cloth = simulation.add(sheet)
    moved = simulation.particles(cloth).copy()
    moved[1:, 2] += 0.5
    simulation.set_particles(cloth, moved[:, :3])
    assert np.array_equal(simulation.particles(cloth), moved)
    velocities = np.zeros((64, 3))
    velocities[1:] = [0, 0, 1]
    simulation.set_particles(cloth, moved, velocities)
    assert np.allclose(simulation.velocities(cloth), velocities, atol=1e-3)


def test_a_cloth_that_faults_is_reported(simulation, sheet):
    loose = poplin.cook(poplin.grid(8, 8, 1.0, 1.0))
    cloth = simulation.add(loose, settings={"gravity": [0, -1e15, 0]})
    simulation.add(sheet)
    simulation.step(150)
    counts = simulation.read().fault_counts
    assert counts[0] > 0 and counts[1] == 0
    simulation.reset(cloth)
    assert not simulation.read().fault_counts.any()


BAD_MESHES = [
    (np.zeros((3, 2)), [[0, 1, 2]], r"points must have the shape \[any, 3\], not \[3, 2\]"),
    (np.zeros(3), [[0, 1, 2]], "points must have the shape"),
    (np.array([["a"] * 3] * 3), [[0, 1, 2]], "points must be numbers"),
    ([[0, 0, 0], [1, 0, np.nan], [0, 1, 0]], [[0, 1, 2]], r"points\[1, 2\] = nan is not finite"),
    ([[0, 0, 0], [1e300, 0, 0], [0, 1, 0]], [[0, 1, 2]], r"points\[1, 0\] = inf is not finite"),
    (np.eye(3), [[0, 1, 3]], r"faces\[0, 2\] is 3, but there are only 3 points"),
    (np.eye(3), [[0, 1, -1]], "faces must be 0 or more"),
    (np.eye(3), [[0.0, 1, 2]], "faces must be whole numbers"),
    (np.eye(3), [[0, 1]], r"faces must have the shape \[any, 3\]"),
    (np.eye(3), [0, 1, 2], "faces must have the shape"),
]


@pytest.mark.parametrize("points, faces, words", BAD_MESHES)
def test_a_bad_mesh_is_rejected_by_name(points, faces, words):
    with pytest.raises(ValueError, match=words):
        poplin.Mesh(points, faces)


def test_bad_input_is_rejected_and_changes_nothing(simulation, sheet):
    cloth = simulation.add(sheet)
    mesh = poplin.grid(3, 3, 1, 1)
    before = simulation.save()
    for call, words in [
        (lambda: poplin.cook(mesh, [9]), "no vertex 9"),
        (lambda: poplin.cook(mesh, "tpo:3%"), "pin rule"),
        (lambda: poplin.cook(mesh, settings={"contct": {}}), "unknown key `contct`.*did you mean `contact`"),
        (lambda: poplin.cook(mesh, settings={"damping": np.nan}), "not finite"),
        (lambda: poplin.cook(mesh, settings={"damping": object()}), "cannot be the value of a setting"),
        (lambda: poplin.cook(mesh, settings={"count": 3}), r"`count` is a key of scene files.*add\(count"),
        (lambda: poplin.cook(poplin.Mesh(np.zeros((0, 3)), np.zeros((0, 3), int))), "empty"),
        (lambda: poplin.cook(poplin.Mesh(np.zeros((3, 3)), [[0, 1, 2]])), "area"),
        (lambda: poplin.grid(1, 1, 1, 1), "columns"),
        (lambda: poplin.Simulation(backend="tpu"), "no backend `tpu`; there are auto, gpu, cpu"),
        (lambda: poplin.Simulation(backend="cpu", adapter="x"), "adapter"),
        (lambda: simulation.add(sheet, {"contact": {"friction": -1}}), "friction"),
        (lambda: simulation.add(sheet, {"density": 1}), "`density` is an option of cooking"),
        (lambda: simulation.add(sheet, translation=[0, 0]), "translation"),
        (lambda: simulation.add(sheet, rotation=[0, 0, 0, 2]), "rotation"),
        (lambda: simulation.add(sheet, rotation=[[0, 0, 0, 1], [0, 0, 0, 2]], count=2), "rotation"),
        (lambda: simulation.add(sheet, count=-1), "count"),
        (lambda: simulation.step(-1), "frames"),
        (lambda: simulation.step(1, 0), "frame_rate"),
        (lambda: simulation.step(1, 0.01), "dt"),
        (lambda: simulation.step(1, float("nan")), "frame_rate"),
        (lambda: simulation.positions(cloth + 1), f"no cloth {cloth + 1}"),
        (lambda: simulation.positions([cloth, cloth]), "twice"),
        (lambda: simulation.positions(-1), "handles"),
        (lambda: simulation.positions("a"), "handles"),
        (lambda: simulation.reset([True, False]), "mask"),
        (lambda: simulation.remove([cloth, cloth + 1]), "no cloth"),
        (lambda: simulation.set_pins(cloth, [64], [[0, 0, 0]]), "no particle 64"),
        (lambda: simulation.set_pins(cloth, [1], [[0, np.inf, 0]]), "targets"),
        (lambda: simulation.set_pins(cloth, [1, 2], [[0, 0, 0]]), "targets"),
        (lambda: simulation.set_wind([0, 0]), "velocity"),
        (lambda: simulation.set_settings(cloth, {"solver": {"xpbd": {}, "pbd": {}}}), "one key"),
        (lambda: simulation.set_pose(cloth, rotation=[1, 1, 1, 1]), "rotation"),
        (lambda: simulation.set_particles(cloth, np.zeros((3, 3))), "positions"),
        (lambda: simulation.add_collider(sphere={"radius": -1}), "radius"),
        (lambda: simulation.add_collider(), "exactly one of"),
        (lambda: simulation.add_collider(cloth + 1, sphere={"radius": 1}), "no cloth"),
        (lambda: simulation.move_collider(99), "collider"),
        (lambda: simulation.pick([0, 0, 0], [0, 0, 0]), "direction"),
        (lambda: simulation.restore(before[:50]), "."),
    ]:
        with pytest.raises(ValueError, match=words):
            call()
    assert simulation.save() == before
    other = simulation.add(poplin.cook(mesh))
    with pytest.raises(ValueError, match="different particle counts, 64 and 9"):
        simulation.positions()
    assert simulation.positions(other).shape == (9, 3)


def test_memory_of_removed_cloths_is_reused(sheet):
    simulation = poplin.Simulation(**CPU)
    keep = simulation.add(sheet)
    sizes = []
    for index in range(100_000):
        cloth = simulation.add(sheet)
        simulation.reset(cloth)
        simulation.remove(cloth)
        if index % 1000 == 0:
            simulation.step()
        if index % 10_000 == 9_999:
            sizes.append((resident(), simulation.memory_bytes))
    assert simulation.ids.tolist() == [keep]
    assert len({own for _, own in sizes}) == 1, sizes
    assert sizes[-1][0] - sizes[0][0] < 4 << 20, sizes


def resident() -> int:
    """Returns the memory of this process [bytes]."""
    if not Path("/proc/self/statm").exists():
        return 0
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_two_simulations_step_in_parallel():
    """Steps release the interpreter: a counting thread progresses."""
    cooked = poplin.cook(poplin.grid(48, 48, 1.0, 1.0), "top:1%")
    simulations = [poplin.Simulation(**CPU) for _ in range(2)]
    alone = poplin.Simulation(**CPU)
    for simulation in [*simulations, alone]:
        simulation.add(cooked)
    alone.step(40)
    threads = [threading.Thread(target=it.step, args=(40,)) for it in simulations]
    inside = {"both": False}
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    inside["both"] = all(thread.is_alive() for thread in threads)
    released = time.perf_counter() - begun
    for thread in threads:
        thread.join()
    assert inside["both"], f"a step held the interpreter for {released} s"
    for simulation in simulations:
        assert simulation.positions().tobytes() == alone.positions().tobytes()


def test_one_simulation_is_used_from_several_threads(simulation, sheet):
    ids = simulation.add(sheet, count=8)
    faults = []

    def work(index: int) -> None:
        try:
            for _ in range(50):
                simulation.set_wind([0, 0, index], ids[index : index + 1])
                simulation.step()
                assert np.isfinite(simulation.positions()).all()
        except Exception as error:  # noqa: BLE001
            faults.append(error)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    assert simulation.read().iteration_totals.min() > 0


FORKED = """
import multiprocessing, os, sys
import poplin
sheet = poplin.cook(poplin.grid(4, 4, 1.0, 1.0))
simulation = poplin.Simulation(backend="cpu")
cloth = simulation.add(sheet)
simulation.step()

def use(_=None):
    said = []
    for call in [simulation.step, simulation.positions, lambda: poplin.Simulation(backend="cpu"), lambda: simulation.ids]:
        try:
            call()
            said.append("worked")
        except RuntimeError as error:
            said.append("spawn" if "spawn" in str(error) else str(error))
    return said
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_raises_with_advice():
    script = FORKED + """
if __name__ == "__main__":
    child = os.fork()
    if child == 0:
        print(use(), flush=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    with multiprocessing.get_context("fork").Pool(1) as pool:
        print(pool.map(use, [0])[0])
    simulation.step()
"""
    done = run_python(script, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [str(["spawn"] * 4)] * 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_poplin_works_after_an_earlier_fork():
    script = """
import os
import poplin
if os.fork() == 0:
    simulation = poplin.Simulation(backend="cpu")
    simulation.add(poplin.cook(poplin.grid(4, 4, 1.0, 1.0)))
    simulation.step(10)
    print("worked", flush=True)
    os._exit(0)
os.wait()
poplin.Simulation(backend="cpu").step()
"""
    done = run_python(script, timeout=60)
    assert (done.returncode, done.stdout) == (0, "worked\n"), done.stderr


def test_ctrl_c_ends_a_long_step(start, interrupt):
    script = """
import poplin
simulation = poplin.Simulation(backend="cpu")
cloth = simulation.add(poplin.cook(poplin.grid(32, 32, 1.0, 1.0), "top:1%"))
print("begins", flush=True)
try:
    simulation.step(10_000_000)
except KeyboardInterrupt:
    simulation.step()
    print("interrupted", simulation.positions(cloth).shape)
"""
    process = start("-c", script)
    assert process.stdout.readline() == "begins\n"
    assert interrupt(process, lambda: True) == "interrupted (1024, 3)\n"


def test_meshes_come_from_files_and_shapes(tmp_path):
    (tmp_path / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n")
    mesh = poplin.load_mesh(tmp_path / "a.obj")
    assert mesh.points.shape == (4, 3) and mesh.quads.tolist() == [[0, 1, 2, 3]]
    tube = poplin.tube(segments=8, rings=3, top_radius=0.2, bottom_radius=0.3, height=0.5)
    assert len(tube.points) == 24 and len(tube.quads) == 16
    cooked = poplin.cook(tube, pins=np.arange(8))
    assert cooked.report["pinned"] == 8 and cooked.particle_count == 24
    assert not mesh.origin.any() and not tube.origin.any() and not poplin.Mesh(mesh.points, mesh.quads).origin.any()
    (tmp_path / "far.obj").write_text("v 5e5 0 -4e6\nv 500001.25 0 -4e6\nv 500001.25 1 -4e6\nv 5e5 1 -4e6\nf 1 2 3 4\n")
    far = poplin.load_mesh(tmp_path / "far.obj")
    assert far.origin.shape == (3,) and far.origin.dtype == np.float64 and np.abs(far.points).max() < 100
    assert np.array_equal((far.points + far.origin)[:2], [[5e5, 0, -4e6], [500001.25, 0, -4e6]])
    unused = poplin.Mesh(np.vstack([[[5, 5, 5]], mesh.points]), mesh.quads + 1)
    assert poplin.cook(unused).vertex_to_particle.tolist() == [-1, 0, 1, 2, 3]
