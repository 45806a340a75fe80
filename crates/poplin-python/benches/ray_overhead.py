"""Overhead of Ray: a sweep of small jobs in one process and with Ray, on the CPUs of this machine.

python crates/poplin-python/benches/ray_overhead.py FOLDER > benches/results/MACHINE/ray.csv

FOLDER: output folder, best in memory. All rows run in turn in each round, so that other load affects them equally.
"""

import datetime
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

# Ray otherwise writes a token into the home folder.
os.environ["RAY_AUTH_MODE"] = "disabled"

import ray

import poplin
import poplin.ray

ROUNDS = 5
JOBS = 2000
SCENE = """
frames = 60
[[cloth]]
name = "sheet"
damping = [0.0, 0.0, 0.0]
grid = { columns = 16, rows = 16, width = 1, height = 1 }
pins = ["corner:top-left"]
"""
SWEEP = f"""
scene = "scene.toml"
[[vary]]
key = "cloth.sheet.damping[1]"
linear = {{ from = 0.0, to = 0.5, count = {JOBS} }}
"""


def cpu_seconds() -> float:
    """Returns the CPU time of this process and its descendants [s]."""
    parents, used = {}, {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        process = int(path.name)
        parents[process] = int(words[1])
        used[process] = (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def is_ours(process: int) -> bool:
        return process == os.getpid() or process in parents and is_ours(parents[process])

    return sum(seconds for process, seconds in used.items() if is_ours(process))


def main() -> None:
    folder = Path(sys.argv[1]) / "poplin-ray-overhead"
    folder.mkdir()
    os.environ["TMPDIR"] = str(folder)
    (folder / "scene.toml").write_text(SCENE)
    (folder / "sweep.toml").write_text(SWEEP)
    sweep, out = folder / "sweep.toml", folder / "out"
    cpus = os.cpu_count() or 1
    ray.init(num_cpus=cpus, include_dashboard=False, log_to_driver=False)
    runs: list[tuple[str, Callable[[], object]]] = [
        ("one process, `poplin.batch`", lambda: poplin.batch(sweep, out, backend="cpu")),
        (f"Ray, {8 * cpus} tasks", lambda: poplin.ray.run(sweep, out)),
        ("Ray, tasks of 25 jobs", lambda: poplin.ray.run(sweep, out, batch_size=25)),
        (f"Ray, {8 * cpus} tasks, results as objects", lambda: poplin.ray.run(sweep)),
    ]
    measured: dict[str, list[tuple[float, float]]] = {name: [] for name, _ in runs}
    for index in range(1 + ROUNDS):
        for name, run in runs:
            begin, used = time.monotonic(), cpu_seconds()
            run()
            # The first round starts the workers.
            if index > 0:
                measured[name].append((time.monotonic() - begin, cpu_seconds() - used))
            shutil.rmtree(out, ignore_errors=True)
    ray.shutdown()
    shutil.rmtree(folder)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout
    print(f"# date: {datetime.date.today()}\n# commit: {commit.strip()}")
    print(
        f"# how: python crates/poplin-python/benches/ray_overhead.py FOLDER, in memory; {JOBS:,} jobs of 16 x 16 squares and 60 frames,"
        f" {cpus} CPUs, Ray {ray.__version__}; medians of {ROUNDS} rounds beside other work on these CPUs"
    )
    print("how,s,jobs a second,CPU s,CPU ms a job beside one process")
    alone = statistics.median(used for _, used in measured[runs[0][0]])
    for name, rounds in measured.items():
        seconds, used = (statistics.median(values) for values in zip(*rounds))
        print(f'"{name}",{seconds:.2f},{JOBS / seconds:.0f},{used:.2f},{1000 * (used - alone) / JOBS:.2f}')


main()
