"""Sweeps on many machines, by Ray: pip install "poplin[ray]"."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from . import _poplin
from ._batch import batch

__all__ = ["Result", "run"]

PARTS_PER_SLOT = 8
"""Parts that each of the tasks that run at once gets: what a part costs beside its jobs is paid so often, and the last one to end is
late by so little."""

MAX_BATCH_SIZE = 512
"""Most jobs of a part unless the caller asks for more."""

MAX_PARTS = 1024
"""Parts that Ray has at once."""

PERIOD = 0.5
"""Time between two looks whether a writer of the same part has ended [s]."""

MANIFESTS = "manifest-*.jsonl"
"""The manifests of a folder."""

MARK = "ray.json"
"""Which parts the folder has: {"batch_size": N}."""

Files = dict[str, "np.ndarray[Any, Any] | bytes"]
"""The files of a job by name, those of a folder as "folder/file": arrays, and what is none as it is."""


@dataclass(frozen=True)
class Result:
    """What became of the jobs of a sweep."""

    rows: list[dict[str, Any]]
    """The row of each job as it stands in the manifests."""
    ran: int
    """How many of them this call did."""
    seconds: float
    """How long this call took [s]."""
    _load: Callable[[int], Files] = field(repr=False)

    @property
    def failed(self) -> list[int]:
        """The jobs that failed, rising; their rows say why."""
        return [row["job"] for row in self.rows if row["status"] == "failed"]

    @property
    def doubtful(self) -> list[int]:
        """The jobs whose results may not be trusted, rising; their rows say why."""
        return [row["job"] for row in self.rows if row.get("warnings")]

    def files(self, job: int) -> Files:
        """The files of a job by name: arrays (.npy), shape [frame, vertex, 3], read-only; all others as bytes, those of a
        folder (formats = ["obj"]) as "folder/file". None of a job that failed.

        They are read, or fetched from the worker that has them, when they are asked for; in rising order each is so once.
        """
        return self._load(job)


def run(
    sweep: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    address: str | None = None,
    backend: str = "auto",
    batch_size: int | None = None,
    num_cpus: int = 1,
    num_gpus: float = 0,
    max_retries: int = 3,
    progress: Callable[[int, int], object] | None = None,
) -> Result:
    """Runs the jobs of a sweep file (TOML) as tasks of Ray, with the bits that poplin.batch gives them on one machine.

    The sweep and all files that it names must be at the same path on every machine, or be in Ray's working_dir, the sweep as a relative
    path.

    out: folder on a file system of all machines, this one too, for the files of poplin.batch. Jobs that are done there are left out,
        failed ones too. None: results stay in Ray's object store until they are asked for.
    address: the cluster to connect to, as of ray.init, unless this process is connected to one; None: Ray's default, which is a new
        Ray on this machine alone unless the environment says otherwise.
    backend: "auto", the GPU if num_gpus is above 0, else the CPU; "gpu"; "cpu".
    batch_size: jobs of a task; None: as many as keep all tasks that fit the cluster at once busy, up to 512. A folder keeps
        that of its first run.
    num_cpus: CPUs of a task, 1 or more, and threads.
    num_gpus: GPUs of a task; Ray does not say which one to poplin, so one of each machine at most.
    max_retries: how often a task is begun again whose worker or machine has died, or which could not write; it goes on where it was.
    progress: is called now and then with the count of jobs that have ended, and that of all.

    A worker or this process may be killed at any time; the next run with the same folder goes on. A job that fails is no error: its row
    says why. Ctrl-C stops the tasks.

    Raises ValueError for bad input, such as a folder with results of another sweep or workers that see other files than one another,
    RuntimeError if a task fails still after its retries, ImportError if there is no Ray.
    """
    begin_time = time.monotonic()
    ray = _ray()
    _check(backend, num_cpus, batch_size, max_retries)
    if backend == "auto":
        backend = "gpu" if num_gpus > 0 else "cpu"
    count = _poplin.sweep_job_count(sweep)
    folder = None if out is None else Path(out).absolute()
    rows = {} if folder is None else _rows(folder.glob(MANIFESTS))
    known = len(rows)
    if not ray.is_initialized():
        ray.init(address=address)
    if not ray.get_runtime_context().runtime_env.get("working_dir"):
        sweep = os.path.abspath(sweep)
    size = _batch_size(folder, batch_size, count, _slots(ray.cluster_resources(), num_cpus, num_gpus))
    parts = [range(begin, min(begin + size, count)) for begin in range(0, count, size)]
    # If all are done, the first: it finds out whether they are of this sweep.
    wanted = [part for part in parts if any(job not in rows for job in part)] or parts[:1]
    options: dict[str, Any] = {
        "num_cpus": num_cpus,
        "num_gpus": num_gpus,
        "num_returns": 2,
        "max_retries": max_retries,
        "retry_exceptions": [RuntimeError, OSError],
        # Of the CPU backend, which otherwise takes all of the machine.
        "runtime_env": {"env_vars": {"RAYON_NUM_THREADS": str(num_cpus)}},
    }
    task = ray.remote(_run_part)
    run_name = uuid.uuid4().hex
    objects = {}
    mark = None

    def submit(part: range) -> Any:
        named = task.options(name=f"poplin jobs {part.start}..{part.stop}", **options)
        return named.remote(sweep, folder, run_name, part.start, part.stop, backend)

    with closing(_ended(ray, submit, wanted)) as ended:
        for part, (own_mark, own_rows), files in ended:
            if mark not in (None, own_mark):
                raise ValueError(
                    f"{sweep}, what it names or poplin is not the same on all machines: {mark} and {own_mark}"
                )
            if own_mark["jobs"] != count:
                raise ValueError(f"{sweep} has {count} jobs here and {own_mark['jobs']} on the workers")
            mark = own_mark
            rows.update(own_rows)
            objects[part.start // size] = files
            if progress:
                progress(len(rows), count)
    if folder is not None and len(rows) < count:
        # Another writer did them meanwhile.
        rows = _rows(folder.glob(MANIFESTS))
    missing = [job for job in range(count) if job not in rows]
    if missing:
        raise RuntimeError(f"{len(missing)} jobs of {sweep} have no row, the first is job {missing[0]}: run it again")

    # The last one: jobs are mostly asked for one after another.
    @lru_cache(maxsize=1)
    def load_part(index: int) -> list[Files]:
        files: list[Files] = ray.get(objects[index])
        return files

    def load(job: int) -> Files:
        return load_part(job // size)[job % size] if folder is None else _files(folder, rows[job])

    ordered = [rows[job] for job in range(count)]
    return Result(ordered, count - known, time.monotonic() - begin_time, load)


def _ray() -> Any:
    """Ray, if it is installed."""
    try:
        return import_module("ray")
    except ImportError as error:
        raise ImportError('poplin.ray needs Ray: pip install "poplin[ray]"') from error


def _check(backend: str, num_cpus: int, batch_size: int | None, max_retries: int) -> None:
    """Raises ValueError for arguments out of range."""
    if backend not in ("auto", "gpu", "cpu"):
        raise ValueError(f'no backend "{backend}": there are "auto", "gpu" and "cpu"')
    size = 1 if batch_size is None else batch_size
    for name, value, least in [("num_cpus", num_cpus, 1), ("batch_size", size, 1), ("max_retries", max_retries, 0)]:
        if not isinstance(value, int) or value < least:
            raise ValueError(f"{name} = {value!r} is no whole number from {least} on")


def _ended(ray: Any, submit: Callable[[range], Any], wanted: Iterable[range]) -> Generator[tuple[range, Any, Any]]:
    """The parts as they end, each with the first of the two things that its task returns, and a reference to the second. No task
    is left when this is."""
    waiting = iter(wanted)
    running: dict[Any, tuple[range, Any]] = {}
    try:
        while True:
            for part in islice(waiting, MAX_PARTS - len(running)):
                first, second = submit(part)
                running[first] = (part, second)
            if not running:
                return
            [first], _ = ray.wait(list(running), fetch_local=False)
            part, second = running.pop(first)
            try:
                found = ray.get(first)
            except ray.exceptions.RayError as error:
                # Of a task that raised; without one, its process or machine has died.
                cause = getattr(error, "cause", error)
                kind = ValueError if isinstance(cause, ValueError) else RuntimeError
                raise kind(f"jobs {part.start}..{part.stop}: {cause}") from error
            yield part, found, second
    finally:
        for first in running:
            ray.cancel(first)


def _run_part(
    sweep: str, out: Path | None, run_name: str, begin: int, end: int, backend: str
) -> tuple[tuple[dict[str, Any], dict[int, dict[str, Any]]], list[Files]]:
    """Runs jobs on a worker. Returns which sweep it is and the rows of the jobs, and their files unless they are in a folder."""
    # Of a run and a part: after a kill, the next attempt on this machine goes on there, and removes it.
    folder = out or Path(tempfile.gettempdir(), f"poplin-{run_name}-{begin}-{end}")
    try:
        while True:
            try:
                batch(sweep, folder, jobs=(begin, end), resume=True, backend=backend)
                break
            except BlockingIOError:
                # Of a run whose driver died, or of a machine that Ray has lost: the lock goes with the process.
                time.sleep(PERIOD)
        mark = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
        rows = _rows([folder / f"manifest-jobs-{begin}-{end}.jsonl"])
        files = [] if out else [_files(folder, rows[job], whole=True) for job in range(begin, end)]
        return (mark, rows), files
    finally:
        if out is None:
            shutil.rmtree(folder, ignore_errors=True)


def _rows(manifests: Iterable[Path]) -> dict[int, dict[str, Any]]:
    """The rows of manifests by job. A last one that is not whole counts as none."""
    rows = {}
    for path in manifests:
        for line in path.read_bytes().splitlines(keepends=True):
            if line.endswith(b"\n"):
                row = json.loads(line)
                rows[row["job"]] = row
    return rows


def _files(folder: Path, row: dict[str, Any], whole: bool = False) -> Files:
    """The files of a job, those of a folder as "folder/file"; whole: in memory."""
    files: Files = {}
    job_folder = folder / f"job-{row['job']:07}"
    for name in row.get("files", []):
        named = job_folder / name
        for path in sorted(named.iterdir()) if named.is_dir() else [named]:
            is_array = path.suffix == ".npy"
            file = np.load(path, mmap_mode=None if whole else "r") if is_array else path.read_bytes()
            files[path.relative_to(job_folder).as_posix()] = file
    return files


def _slots(resources: dict[str, float], num_cpus: int, num_gpus: float) -> int:
    """Tasks that fit the cluster at once, 1 or more."""
    slots = resources.get("CPU", 0) // num_cpus
    if num_gpus > 0:
        slots = min(slots, resources.get("GPU", 0) // num_gpus)
    return max(int(slots), 1)


def _batch_size(folder: Path | None, wanted: int | None, count: int, slots: int) -> int:
    """Jobs of a part. A folder keeps it, so that the parts of all runs are the same, and the lock of a part's manifest keeps what
    is left of one run from writing beside the next."""
    size = wanted or min(-(-count // (PARTS_PER_SLOT * slots)), MAX_BATCH_SIZE)
    if folder is None:
        return size
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder / MARK
    temporary = folder / f".{MARK}.{uuid.uuid4().hex}.tmp"
    temporary.write_text(json.dumps({"batch_size": size}) + "\n", encoding="utf-8")
    try:
        # Appears whole, and only if there is none.
        os.link(temporary, mark)
    except FileExistsError:
        pass
    except OSError:
        # No hard links here.
        if not mark.exists():
            os.replace(temporary, mark)
    finally:
        temporary.unlink(missing_ok=True)
    known = json.loads(mark.read_text(encoding="utf-8"))["batch_size"]
    if wanted not in (None, known):
        raise ValueError(f"{folder} was begun with batch_size = {known}, which it keeps: leave it out")
    return int(known)
