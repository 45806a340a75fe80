"""Sweeps by Ray on one machine with two workers: the same files as poplin.batch, also after kills."""

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import SCENE, guide_examples, manifest_rows, run_python

# Ray otherwise writes a token into the home folder.
os.environ["RAY_AUTH_MODE"] = "disabled"

import ray

import poplin
import poplin.ray

INIT = {"num_cpus": 2, "include_dashboard": False, "log_to_driver": False}

# Jobs with different frame counts are in different groups, each with a row when it finishes.
SWEEP = """
scene = "scene.toml"
[[vary]]
key = "frames"
linear = { from = FIRST, to = LAST, count = COUNT }
whole = true
[output]
arrays = ["positions", "velocities"]
every = 100
precision = "f16"
final_obj = true
"""


@pytest.fixture(scope="module")
def temporary(tmp_path_factory):
    """Returns the temporary folder of the workers."""
    return tmp_path_factory.mktemp("temporary")


@pytest.fixture(scope="module")
def cluster(temporary):
    """Starts Ray with two workers on this machine."""
    yield ray.init(**INIT, runtime_env={"env_vars": {"TMPDIR": str(temporary)}})
    ray.shutdown()


def write(folder: Path, count: int = 8, first: int = 10) -> Path:
    """Writes a sweep of jobs with at least this many frames."""
    folder.mkdir(exist_ok=True)
    (folder / "scene.toml").write_text(SCENE)
    last = str(first + 2 * (count - 1))
    sweep = SWEEP.replace("FIRST", str(first)).replace("LAST", last).replace("COUNT", str(count))
    (folder / "sweep.toml").write_text(sweep)
    return folder / "sweep.toml"


def lasting(row: dict) -> dict:
    """Returns the keys that do not depend on the run."""
    return {key: value for key, value in row.items() if key not in ("seconds", "group")}


def files(folder: Path) -> dict[str, bytes]:
    """Returns the files of all jobs by path."""
    paths = [path for path in folder.glob("job-*/*")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def count_rows(folder: Path) -> int:
    """Returns the rows written so far by a running sweep."""
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("manifest-*.jsonl"))


def assert_same(out: Path, sweep: Path) -> None:
    """Asserts that a folder equals that of poplin.batch: each job once, in rows and files, and nothing else."""
    alone = sweep.parent / "alone"
    if not alone.exists():
        poplin.batch(sweep, alone, backend="cpu")
    assert list(map(lasting, manifest_rows(out))) == list(map(lasting, manifest_rows(alone)))
    assert files(out) == files(alone) and len(files(out)) == 3 * len(manifest_rows(out))
    left = {path.name for path in out.iterdir() if not path.name.startswith(("job-", "manifest-jobs-"))}
    assert left == {"sweep.json", "ray.json"}


def workers(jobs: str = "") -> list[int]:
    """Returns the child processes that run a part of a sweep, or this part."""
    title = f"ray::poplin jobs {jobs}".encode()
    parents, at_work = {}, []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if (path / "cmdline").read_bytes().startswith(title):
                at_work.append(int(path.name))
        except OSError:
            pass

    def is_ours(process: int) -> bool:
        return process == os.getpid() or process in parents and is_ours(parents[process])

    return list(filter(is_ours, at_work))


def wait_until(condition, seconds: float = 60):
    """Waits until a call returns a true value, and returns it."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


def test_a_folder_has_the_files_of_a_batch(cluster, tmp_path):
    sweep, out, seen = write(tmp_path), tmp_path / "out", []
    result = poplin.ray.run(sweep, out, batch_size=3, progress=lambda *counts: seen.append(counts))
    assert_same(out, sweep)
    assert result.rows == manifest_rows(out) and (result.ran, result.failed, result.doubtful) == (8, [], [])
    assert len(seen) == 3 and seen[-1] == (8, 8)
    again = poplin.ray.run(sweep, out)
    assert (again.ran, again.rows) == (0, result.rows)


def test_objects_are_the_files_of_a_batch(cluster, temporary, tmp_path):
    sweep, alone = write(tmp_path), tmp_path / "alone"
    poplin.batch(sweep, alone, backend="cpu")
    poplin.ray.run(sweep, tmp_path / "out", batch_size=3)
    for result in (poplin.ray.run(sweep, batch_size=3), poplin.ray.run(sweep, tmp_path / "out")):
        assert list(map(lasting, result.rows)) == list(map(lasting, manifest_rows(alone)))
        for job in (7, *range(8)):
            made, folder = result.files(job), alone / f"job-{job:07}"
            assert set(made) == {path.name for path in folder.iterdir()}
            assert made["sheet.obj"] == (folder / "sheet.obj").read_bytes()
            for name in ("sheet-positions.npy", "sheet-velocities.npy"):
                known = np.load(folder / name)
                assert made[name].dtype == known.dtype and np.array_equal(made[name], known)
    assert list(temporary.iterdir()) == []


def test_folders_of_files_are_read_by_their_entries(cluster, tmp_path):
    sweep, alone = write(tmp_path, count=2), tmp_path / "alone"
    sweep.write_text(sweep.read_text().partition("[output]")[0] + '[output]\nformats = ["obj"]\n')
    poplin.batch(sweep, alone, backend="cpu")
    known = {path.relative_to(alone / "job-0000001").as_posix(): path for path in alone.glob("job-0000001/*/*.obj")}
    assert len(known) > 10 and all(name.startswith("sheet-obj/") for name in known)
    for result in (poplin.ray.run(sweep), poplin.ray.run(sweep, tmp_path / "out")):
        files = result.files(1)
        assert files.pop("sheet-positions.npy").shape == (1, 64, 3)
        assert files == {name: path.read_bytes() for name, path in known.items()}


def test_a_folder_started_by_a_batch_is_resumed(cluster, tmp_path):
    sweep, out = write(tmp_path), tmp_path / "out"
    poplin.batch(sweep, out, jobs=(2, 5), backend="cpu")
    assert poplin.ray.run(sweep, out, batch_size=3).ran == 5
    assert_same(out, sweep)


def test_a_killed_worker_loses_nothing(cluster, tmp_path):
    sweep, out, killed = write(tmp_path, count=40, first=800), tmp_path / "out", []

    def kill():
        """Kills a worker in the middle of a part whenever more jobs are finished."""
        for rows in (3, 13, 23):
            killed.append(wait_until(lambda: count_rows(out) >= rows and workers())[0])
            os.kill(killed[-1], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    result = poplin.ray.run(sweep, out, batch_size=10)
    killer.join()
    assert len(set(killed)) == 3 and len(result.rows) == 40
    assert_same(out, sweep)


def test_objects_survive_a_killed_worker(cluster, temporary, tmp_path):
    sweep = write(tmp_path, count=20, first=800)

    def kill():
        wait_until(lambda: list(temporary.glob("poplin-*/job-*")))
        os.kill(wait_until(workers)[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    result = poplin.ray.run(sweep, batch_size=10)
    killer.join()
    poplin.batch(sweep, tmp_path / "alone", backend="cpu")
    assert list(map(lasting, result.rows)) == list(map(lasting, manifest_rows(tmp_path / "alone")))
    assert result.files(19)["sheet.obj"] == (tmp_path / "alone/job-0000019/sheet.obj").read_bytes()
    assert list(temporary.iterdir()) == []


def test_a_worker_killed_too_often_raises_its_jobs(cluster, tmp_path):
    sweep, out = write(tmp_path, count=20, first=800), tmp_path / "out"

    def kill():
        process = wait_until(lambda: count_rows(out) > 0 and workers())[0]
        os.kill(process, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(RuntimeError, match=r"jobs (0\.\.10|10\.\.20): .*died"):
        poplin.ray.run(sweep, out, batch_size=10, max_retries=0)
    killer.join()
    assert poplin.ray.run(sweep, out).ran > 0
    assert_same(out, sweep)


def test_a_killed_driver_is_resumed(tmp_path):
    sweep, out = write(tmp_path, count=160, first=800), tmp_path / "out"
    script = f"""
import ray, poplin.ray
ray.init(**{INIT})
print(poplin.ray.run({str(sweep)!r}, {str(out)!r}, batch_size=20).ran)
"""
    before = 0
    for rows in (8, 20):
        driver = subprocess.Popen([sys.executable, "-c", script])
        wait_until(lambda: count_rows(out) >= rows)
        driver.kill()
        driver.wait()
        assert before < count_rows(out) < 160
        before = count_rows(out)
    last = run_python(script, check=True)
    assert 0 < int(last.stdout) <= 160 - before
    assert_same(out, sweep)


def test_leftover_tasks_lock_their_part(cluster, tmp_path):
    sweep, out = write(tmp_path), tmp_path / "out"
    out.mkdir()
    with (out / "manifest-jobs-0-4.jsonl").open("w") as manifest:
        fcntl.flock(manifest, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError, match="another process is writing"):
            poplin.batch(sweep, out, jobs=(0, 4), backend="cpu")
        run = threading.Thread(target=poplin.ray.run, args=(sweep, out), kwargs={"batch_size": 4, "max_retries": 0})
        run.start()
        wait_until(lambda: count_rows(out) == 4)
        wait_until(lambda: workers("0..4"))
        time.sleep(1.5)
        assert run.is_alive() and {row["job"] for row in manifest_rows(out)} == {4, 5, 6, 7}
    run.join()
    assert_same(out, sweep)


def test_a_folder_keeps_its_parts(cluster, tmp_path):
    sweep, out = write(tmp_path), tmp_path / "out"
    poplin.ray.run(sweep, out, batch_size=3)
    with pytest.raises(ValueError, match="batch_size = 3, which it keeps"):
        poplin.ray.run(sweep, out, batch_size=4)
    assert poplin.ray.run(sweep, out, num_cpus=2).ran == 0
    assert len(list(out.glob("manifest-*"))) == 3


def test_an_interrupted_run_stops_its_tasks(cluster, temporary, tmp_path):
    sweep, out = write(tmp_path, count=3), tmp_path / "out"
    (tmp_path / "sweep.toml").write_text(
        'scene = "scene.toml"\n[[vary]]\nkey = "frames"\nvalues = [10, 900_000, 900_001]\n'
    )

    def interrupt(ended, count):
        wait_until(lambda: len(workers()) == 2)
        raise KeyboardInterrupt

    for folder in (out, None):
        with pytest.raises(KeyboardInterrupt):
            poplin.ray.run(sweep, folder, batch_size=1, progress=interrupt)
        wait_until(lambda: not workers(), 20)
    assert [row["job"] for row in manifest_rows(out)] == [0]
    assert not list(out.glob(".job-*")) and list(temporary.iterdir()) == []


def test_a_job_that_fails_is_a_row(cluster, tmp_path):
    sweep, out = write(tmp_path), tmp_path / "out"
    sweep.write_text('scene = "scene.toml"\n[[vary]]\nkey = "cloth.sheet.damping[0]"\nvalues = [0.1, 7, 0.2]\n')
    result = poplin.ray.run(sweep)
    assert result.failed == [1] and "damping" in result.rows[1]["message"]
    assert result.files(1) == {} and set(result.files(2)) == {"sheet-positions.npy"}


def test_a_task_that_cannot_write_raises_its_jobs(cluster, tmp_path):
    sweep, out = write(tmp_path), tmp_path / "out"
    out.mkdir()
    # A file at the path of a job folder.
    (out / "job-0000005").write_text("")
    with pytest.raises(RuntimeError, match=r"jobs 4\.\.8: cannot write .*job-0000005"):
        poplin.ray.run(sweep, out, batch_size=4, max_retries=1)
    (out / "job-0000005").unlink()
    assert poplin.ray.run(sweep, out).rows[5]["status"] == "done"
    assert_same(out, sweep)


def test_bad_input_is_a_value_error(cluster, tmp_path):
    sweep, out = write(tmp_path), tmp_path / "out"
    for arguments, words in [
        ({"backend": "tpu"}, 'no backend "tpu"'),
        ({"batch_size": 0}, "batch_size = 0"),
        ({"num_cpus": 0.5}, "num_cpus = 0.5"),
        ({"max_retries": -1}, "max_retries = -1"),
    ]:
        with pytest.raises(ValueError, match=words):
            poplin.ray.run(sweep, out, **arguments)
    with pytest.raises(FileNotFoundError, match="missing.toml"):
        poplin.ray.run(tmp_path / "missing.toml", out)
    assert not out.exists()
    other = write(tmp_path / "other", first=20)
    poplin.batch(sweep, out, jobs=(0, 2), backend="cpu")
    with pytest.raises(ValueError, match="another sweep"):
        poplin.ray.run(other, out)
    poplin.batch(sweep, out, resume=True, backend="cpu")
    with pytest.raises(ValueError, match="another sweep"):
        poplin.ray.run(other, out)


def test_workers_with_different_files_are_detected(cluster, tmp_path):
    sweep = write(tmp_path, count=40, first=800)

    other = write(tmp_path / "other", count=40, first=801)

    def change(ended, count):
        if other.exists():
            os.replace(other, sweep)

    with pytest.raises(ValueError, match="differ between machines"):
        poplin.ray.run(sweep, batch_size=4, progress=change)


def test_a_task_has_its_cpus_as_threads(cluster, tmp_path):
    sweep, threads = write(tmp_path, count=4, first=3000), []

    def look():
        worker = wait_until(workers)[0]
        threads.append(Path(f"/proc/{worker}/environ").read_bytes().split(b"\0"))

    for count in (1, 2):
        looker = threading.Thread(target=look)
        looker.start()
        poplin.ray.run(sweep, num_cpus=count)
        looker.join()
        assert f"RAYON_NUM_THREADS={count}".encode() in threads[-1]


def test_without_ray_the_error_says_what_to_install(tmp_path):
    script = f"""
import sys
sys.modules["ray"] = None
import poplin.ray
try:
    poplin.ray.run({str(write(tmp_path))!r})
except ImportError as error:
    print(error)
"""
    said = run_python(script, check=True).stdout
    assert 'pip install "poplin[ray]"' in said


def test_a_working_dir_takes_the_sweep_to_the_workers(tmp_path):
    write(tmp_path / "a", first=12)
    write(tmp_path / "b", first=10)
    script = f"""
import os, ray, poplin.ray
ray.init(**{INIT}, runtime_env={{"working_dir": {str(tmp_path / "a")!r}}})
# A sweep with the same number of jobs, but different from that of the workers.
os.chdir({str(tmp_path / "b")!r})
print(poplin.ray.run("sweep.toml").rows[0]["frames"])
"""
    said = run_python(script, check=True).stdout
    assert said == "12\n"


def test_workers_with_more_jobs_are_detected(tmp_path):
    write(tmp_path / "a", count=8)
    write(tmp_path / "b", count=4)
    script = f"""
import os, ray, poplin.ray
ray.init(**{INIT}, runtime_env={{"working_dir": {str(tmp_path / "a")!r}}})
os.chdir({str(tmp_path / "b")!r})
try:
    poplin.ray.run("sweep.toml")
except ValueError as error:
    print(error)
"""
    said = run_python(script, check=True).stdout
    assert said == "sweep.toml has 4 jobs here and 8 on the workers\n"


def test_the_examples_of_the_guide_run(tmp_path):
    examples = guide_examples("py")
    for example in examples:
        done = run_python(example, cwd=tmp_path)
        assert done.returncode == 0 and done.stdout.count("(1, 2501, 3)") == 20, done.stderr + done.stdout
    assert examples
