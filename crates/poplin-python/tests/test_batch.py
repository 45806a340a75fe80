"""Sweeps from Python: the files of the command, errors as exceptions, and Ctrl-C."""

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import SCENE, manifest_rows

import poplin

SWEEP = """
scene = "scene.toml"
[[vary]]
key = "cloth.sheet.damping[1]"
values = [0.1, 0.2, 0.4]
"""


def write(folder: Path, frames: int = 10) -> Path:
    """Writes a sweep of three jobs."""
    (folder / "scene.toml").write_text(SCENE.replace("10", str(frames), 1))
    (folder / "sweep.toml").write_text(SWEEP)
    return folder / "sweep.toml"


def command(*words: object) -> subprocess.CompletedProcess:
    """Runs the command through Python."""
    words = [sys.executable, "-m", "poplin", *map(str, words)]
    return subprocess.run(words, capture_output=True, text=True)


def test_jobs_are_listed(tmp_path):
    jobs = poplin.sweep_jobs(write(tmp_path))
    assert jobs == [{"cloth.sheet.damping[1]": damping} for damping in (0.1, 0.2, 0.4)]


def test_a_batch_has_the_results_of_the_command(tmp_path):
    sweep = write(tmp_path)
    result = poplin.batch(sweep, tmp_path / "a", backend="cpu")
    assert result[:5] == (3, 3, 3, [], [])
    assert command("batch", sweep, "--out", tmp_path / "b", "--backend", "cpu").returncode == 0
    hashes = [[row["particle_hash"] for row in manifest_rows(tmp_path / name)] for name in "ab"]
    assert hashes[0] == hashes[1] and len(set(hashes[0])) == 3
    assert poplin.batch(sweep, tmp_path / "a", resume=True, backend="cpu").ran == 0


def test_warnings_are_records(tmp_path):
    sweep = write(tmp_path)
    scene = tmp_path / "scene.toml"
    scene.write_text(scene.read_text().replace("[[cloth]]", "[[cloth]]\nmax_speed = 0"))
    result = poplin.batch(sweep, tmp_path / "out", backend="cpu")
    assert result.doubtful == [0, 1, 2]
    found = [(record["job"], record["kind"], record["subject"]) for record in result.warnings]
    assert found == [(job, "no_speed", "sheet") for job in range(3)]
    assert poplin.batch(sweep, tmp_path / "out", resume=True, backend="cpu").warnings == result.warnings


def test_parts_of_a_sweep_share_a_folder(tmp_path):
    sweep, out = write(tmp_path), tmp_path / "out"
    assert poplin.batch(sweep, out, jobs=(0, 1), backend="cpu").done == 1
    assert poplin.batch(sweep, out, shard=(1, 3), backend="cpu").done == 1
    assert [row["job"] for row in manifest_rows(out)] == [0, 1]
    assert poplin.batch(sweep, out, resume=True, backend="cpu").ran == 1


def test_bad_input_is_a_value_error(tmp_path):
    sweep, out = write(tmp_path), tmp_path / "out"
    for arguments, words in [
        ({"jobs": (2, 2)}, "range of jobs"),
        ({"jobs": (2, 9)}, "no job 8"),
        ({"shard": (3, 3)}, "not a shard"),
        ({"shard": (0, 0)}, "not a shard"),
        ({"jobs": (0, 1), "shard": (0, 1)}, "exclude each other"),
        ({"backend": "tpu"}, "no backend `tpu`"),
    ]:
        with pytest.raises(ValueError, match=words):
            poplin.batch(sweep, out, **{"backend": "cpu", **arguments})
    assert not out.exists()
    with pytest.raises(FileNotFoundError, match="missing.toml"):
        poplin.sweep_jobs(tmp_path / "missing.toml")
    poplin.batch(sweep, out, backend="cpu")
    with pytest.raises(ValueError, match="results of 3 jobs"):
        poplin.batch(sweep, out, backend="cpu")
    with pytest.raises(RuntimeError, match="output folder"):
        poplin.batch(sweep, sweep / "out", backend="cpu")


def test_ctrl_c_leaves_a_folder_that_can_be_resumed(tmp_path, start, interrupt):
    sweep, out = write(tmp_path, frames=100_000), tmp_path / "out"
    script = f"""
import poplin
try:
    poplin.batch({str(sweep)!r}, {str(out)!r}, backend="cpu")
except KeyboardInterrupt:
    print("interrupted")
"""
    process = start("-c", script)
    assert interrupt(process, (out / "sweep.json").exists) == "interrupted\n"
    assert manifest_rows(out) == [] and not list(out.glob("job-*"))
    with pytest.raises(ValueError, match="another sweep"):
        poplin.batch(write(tmp_path), out, resume=True, backend="cpu")
    write(tmp_path, frames=100_000)
    process = start("-c", script.replace("backend", "resume=True, backend"))
    assert interrupt(process, lambda: bool(list(out.glob(".job-*")))) == "interrupted\n"


def test_the_command_runs_through_python():
    listed = command("scenes")
    assert listed.returncode == 0 and "flag" in listed.stdout
    wrong = command("run", "nosuch")
    assert wrong.returncode == 2 and "no shipped scene `nosuch`" in wrong.stderr


def test_the_command_handles_ctrl_c(tmp_path, start, interrupt):
    words = ["-m", "poplin", "run", "flag", "--backend", "cpu", "--frames", "1000000", "--no-cache"]
    process = start(*words, "--out", tmp_path / "out")
    said = interrupt(process, (tmp_path / "out").exists)
    assert process.returncode == 130 and "flag" in said


def test_a_second_command_of_a_process_handles_ctrl_c(tmp_path, start, interrupt):
    script = f"""
import signal
from poplin import _poplin
signal.signal(signal.SIGINT, signal.SIG_DFL)
run = ["poplin", "run", "flag", "--backend", "cpu", "--no-cache", "--frames"]
codes = [_poplin.command([*run, "2", "--out", {str(tmp_path / "a")!r}])]
codes.append(_poplin.command([*run, "1000000", "--out", {str(tmp_path / "b")!r}]))
print("codes", codes)
"""
    assert "codes [0, 130]" in interrupt(start("-c", script), (tmp_path / "b").exists)
