"""Scenes in simulation, and what a simulation has of a scene's keys."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from conftest import SCENE

import poplin

CPU = {"backend": "cpu"}
SHEET = {"grid": {"columns": 5, "rows": 5, "width": 0.2, "height": 0.2, "plane": "xz"}, "perturbation": 0}


def sheet(**keys) -> poplin.Cooked:
    """Returns a free sheet of 5 x 5 particles in the plane y = 0."""
    return poplin.cook(poplin.grid(5, 5, 0.2, 0.2, plane="xz"), **keys)


def test_points_are_those_of_the_command(tmp_path):
    path = tmp_path / "scene.toml"
    path.write_text(SCENE)
    words = [sys.executable, "-m", "poplin", "run", str(path), "--format", "npy", "--out", tmp_path / "out"]
    done = subprocess.run([*words, "--backend", "cpu"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    frames = np.load(next((tmp_path / "out").glob("*.npy")))
    scene = poplin.Scene(path, **CPU)
    assert (scene.names, scene.frames, scene.frame_rate, scene.frame) == (["sheet"], 10, 60.0, 0)
    for frame in range(11):
        assert np.array_equal(scene.points(), frames[frame]), frame
        scene.step()
    assert scene.frame == 11
    scene.reset()
    assert scene.frame == 0 and np.array_equal(scene.points("sheet"), frames[0])
    assert scene.read().positions().shape == (1, 64, 3)
    assert list(scene.read().ids) == list(scene.ids("sheet"))
    assert scene.backend.name == "cpu" and "frame 0 of 10" in repr(scene)


def test_a_scene_of_keys_has_bodies_spheres_and_moving_colliders():
    held = {**SHEET, "motion_spheres": [{"vertices": "all", "radius": 0.01}], "name": "held", "count": 2}
    held |= {"spacing": [1, 0, 0], "transform": {"translation": [-5, 0, 0]}}
    pushed = {**SHEET, "name": "pushed", "gravity": [0, 0, 0], "transform": {"translation": [0, 0.05, 0]}}
    pushed["accelerations"] = [{"vertices": "all", "acceleration": [0, 0, 2]}]
    ball = {"sphere": {"radius": 0.1, "center": [3, 0, 0]}, "body": {"mass": 1}, "name": "ball"}
    disc = {"box": {"size": [0.1, 0.1, 0.1], "center": [9, 0, 0]}, "pivot": [9, 0, 0], "spin": [0, 90, 0]}
    scene = poplin.Scene({"cloth": [held, pushed], "collider": [ball, disc]}, **CPU)
    scene.step(30)
    starts = scene.mesh("held").points
    for copy in range(2):
        moved = scene.points("held", copy) - starts - np.array([copy - 5, 0, 0])
        assert np.linalg.norm(moved, axis=1).max() < 0.0101
    assert scene.points("pushed")[:, 2].mean() == pytest.approx(0.1 + 0.5 * 2 * 0.25, rel=0.05)
    assert np.abs(scene.normals("pushed") - np.array([0, 1, 0])).max() < 1e-3
    report = scene.report()
    assert report["frame"] == 30 and [cloth["name"] for cloth in report["cloths"]] == ["held", "pushed"]
    assert report["bodies"][0]["velocity_m_per_s"][1] == pytest.approx(-4.905, rel=0.01)
    cloth = report["cloths"][1]
    assert cloth["strain"]["max"] < 0.01 and cloth["speed_m_per_s"] == pytest.approx(1.0, rel=0.05)
    assert cloth["collider_depth"]["particles_inside"] == 0 and cloth["frozen_copies"] == 0


def test_shipped_scenes_run():
    scene = poplin.Scene("flag", frame_rate=30, **CPU)
    scene.step(2)
    assert scene.frame_rate == 30 and len(scene.points()) == len(scene.mesh().points)


def test_errors_of_scenes_say_what_is_wrong(tmp_path):
    with pytest.raises(FileNotFoundError, match="no.toml"):
        poplin.Scene(tmp_path / "no.toml")
    with pytest.raises(FileNotFoundError, match="no.obj"):
        poplin.load_mesh(tmp_path / "no.obj")
    with pytest.raises(ValueError, match=r"cloth\[0\].grid needs the key `rows`"):
        poplin.Scene({"cloth": [{"grid": {"columns": 3, "width": 1, "height": 1}}]}, **CPU)
    scene = poplin.Scene({"cloth": [SHEET]}, **CPU)
    for wrong in ["other", 1, -1]:
        with pytest.raises(ValueError, match="cloth"):
            scene.points(wrong)
    with pytest.raises(ValueError, match="no copy 1"):
        scene.points(0, 1)
    with pytest.raises(ValueError, match="outside"):
        poplin.Scene({"cloth": [{**SHEET, "density": -1}]}, **CPU)


def test_spheres_and_accelerations_act_on_a_simulation():
    simulation = poplin.Simulation(**CPU)
    cooked = sheet(settings={"gravity": [0, 0, 0]})
    held, blocked, pulled = (simulation.add(cooked) for _ in range(3))
    start = simulation.positions(held)
    simulation.set_wind([0, 0, 0])
    simulation.set_accelerations([held, blocked, pulled], np.tile([0.0, -1.0, 0.0], (25, 1)))
    spheres = np.hstack([start, np.full((25, 1), 0.02)])
    simulation.set_motion_spheres(held, spheres)
    below = np.hstack([start - [0, 0.51, 0], np.full((25, 1), 0.5)])
    simulation.set_separation_spheres(blocked, below)
    simulation.step(60)
    assert (simulation.positions(held) - start)[:, 1].min() > -0.0201
    assert (simulation.positions(blocked) - start)[:, 1].min() > -0.0201
    assert (simulation.positions(pulled) - start)[:, 1].mean() == pytest.approx(-0.5, rel=0.02)
    simulation.set_motion_spheres(held, None)
    simulation.step(60)
    assert (simulation.positions(held) - start)[:, 1].mean() < -0.2
    assert simulation.strain(pulled)[0]["max"] < 1e-3 and len(simulation.strain()) == 3
    with pytest.raises(ValueError, match="spheres"):
        simulation.set_motion_spheres([held, pulled], np.zeros((2, 24, 4)))
    with pytest.raises(ValueError, match="shape"):
        simulation.set_accelerations(held, np.zeros((25, 4)))


def test_masks_select_pins_and_arrays_are_written_to():
    mask = np.zeros(25, bool)
    mask[:5] = True
    cooked = sheet(pins=mask)
    assert np.array_equal(cooked.particles[:, 3] == 0, mask)
    with pytest.raises(ValueError, match="pins"):
        sheet(pins=mask[:-1])
    simulation = poplin.Simulation(**CPU)
    cloth = simulation.add(cooked)
    out = np.zeros((25, 3), np.float64)
    assert simulation.positions(cloth, out=out) is out and out.max() == pytest.approx(0.2)
    assert simulation.velocities(cloth, out=out).max() == 0
    with pytest.raises(ValueError, match="out"):
        simulation.positions(cloth, out=out[:3])
    normals = poplin.vertex_normals(simulation.positions(cloth), cooked.triangles)
    assert np.abs(normals - [0, 1, 0]).max() < 5e-3
    with pytest.raises(ValueError, match="no vertex"):
        poplin.vertex_normals(np.zeros((2, 3)), [[0, 1, 2]])


def test_what_cannot_be_pickled_says_what_to_do():
    simulation = poplin.Simulation(**CPU)
    cooked = sheet()
    simulation.add(cooked)
    scene = poplin.Scene({"cloth": [SHEET]}, **CPU)
    for value, words in [(simulation, "save"), (cooked, "cook"), (simulation.read(), "arrays"), (scene, "keys")]:
        with pytest.raises(TypeError, match=words):
            pickle.dumps(value)
