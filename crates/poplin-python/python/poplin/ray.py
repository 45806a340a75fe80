"""Sweeps on many machines with Ray: pip install "poplin[ray]"."""

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
from ._batch import MANIFESTS, batch, rows_of, warnings_of

__all__ = ["Result", "run"]

PARTS_PER_SLOT = 8
"""Parts per concurrent task: more balance the load better, fewer have less overhead."""

MAX_BATCH_SIZE = 512
"""Most jobs of a part by default."""

MAX_PARTS = 1024
"""Most parts submitted to Ray at once."""

PERIOD = 0.5
"""Time between checks whether another writer of the same part has ended [s]."""

MARK = "ray.json"
"""File that stores the part size of a folder: {"batch_size": N}."""

Files = dict[str, "np.ndarray[Any, Any] | bytes"]
"""Files of a job by name, in a folder as "folder/file": arrays, and other files as bytes."""


@dataclass(frozen=True)
class Result:
    """Result of a sweep."""

    rows: list[dict[str, Any]]
    """Row of each job, as in the manifests."""
    ran: int
    """Number of jobs that this call finished."""
    seconds: float
    """Duration of this call [s]."""
    _load: Callable[[int], Files] = field(repr=False)

    @property
    def failed(self) -> list[int]:
        """Failed jobs in rising order; their rows hold the errors."""
        return [row["job"] for row in self.rows if row["status"] == "failed"]

    @property
    def doubtful(self) -> list[int]:
        """Jobs with warnings in rising order; their rows hold the warnings."""
        return [row["job"] for row in self.rows if row.get("warnings")]

    @property
    def warnings(self) -> list[dict[str, Any]]:
        """Warnings of all jobs, each with its `job` and the fields of `poplin.PoplinWarning`."""
        return warnings_of(self.rows)

    def files(self, job: int) -> Files:
        """Returns the files of a job by name: arrays (.npy), shape [frame, vertex, 3], read-only; others as bytes.

        Files in a folder (formats = ["obj"]) are named "folder/file". A failed job has none. Files are loaded on request,
        from disk or from the worker that holds them; jobs in rising order are fetched once per part.
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
    """Runs the jobs of a sweep file (TOML) as Ray tasks, with results bit-identical to poplin.batch on one machine.

    The sweep and all files that it names must be at the same path on every machine, or in Ray's working_dir, with a relative
    path of the sweep.

    out: folder on a file system shared by all machines, for the files of poplin.batch. Finished jobs there are skipped,
        including failed ones. None: results stay in Ray's object store until requested.
    address: cluster to connect to, passed to ray.init, unless this process is connected; None: Ray's default, a new Ray on
        only this machine unless the environment names a cluster.
    backend: "auto" (the GPU if num_gpus is above 0, else the CPU), "gpu" or "cpu".
    batch_size: jobs per task; None: chosen to keep the cluster busy, up to 512. A folder keeps the value of its first run.
    num_cpus: CPUs and threads per task, at least 1.
    num_gpus: GPUs per task; Ray does not tell poplin which GPU to use, so at most one per machine.
    max_retries: retries of a task whose worker or machine died, or which could not write; a retry resumes its part.
    progress: called repeatedly with the number of finished jobs and the number of all jobs.

    Workers and this process may be killed at any time; the next run with the same folder resumes. A failed job is not an
    error: its row holds the message. Ctrl-C stops the tasks.

    Raises ValueError for bad input, such as a folder with results of another sweep or workers with different files,
    RuntimeError if a task fails after its retries, ImportError without Ray.
    """
    begin_time = time.monotonic()
    ray = _ray()
    _check(backend, num_cpus, batch_size, max_retries)
    if backend == "auto":
        backend = "gpu" if num_gpus > 0 else "cpu"
    count = _poplin.sweep_job_count(sweep)
    folder = None if out is None else Path(out).absolute()
    rows = {} if folder is None else rows_of(folder.glob(MANIFESTS))
    known = len(rows)
    if not ray.is_initialized():
        ray.init(address=address)
    if not ray.get_runtime_context().runtime_env.get("working_dir"):
        sweep = os.path.abspath(sweep)
    size = _batch_size(folder, batch_size, count, _slots(ray.cluster_resources(), num_cpus, num_gpus))
    parts = [range(begin, min(begin + size, count)) for begin in range(0, count, size)]
    # If all parts are finished, run the first one: it checks that the folder belongs to this sweep.
    wanted = [part for part in parts if any(job not in rows for job in part)] or parts[:1]
    options: dict[str, Any] = {
        "num_cpus": num_cpus,
        "num_gpus": num_gpus,
        "num_returns": 2,
        "max_retries": max_retries,
        "retry_exceptions": [RuntimeError, OSError],
        # Limits the threads of the CPU backend, by default all of the machine.
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
                    f"{sweep}, the files that it names or poplin differ between machines: {mark} and {own_mark}"
                )
            if own_mark["jobs"] != count:
                raise ValueError(f"{sweep} has {count} jobs here and {own_mark['jobs']} on the workers")
            mark = own_mark
            rows.update(own_rows)
            objects[part.start // size] = files
            if progress:
                progress(len(rows), count)
    if folder is not None and len(rows) < count:
        # Another writer finished them meanwhile.
        rows = rows_of(folder.glob(MANIFESTS))
    missing = [job for job in range(count) if job not in rows]
    if missing:
        raise RuntimeError(f"{len(missing)} jobs of {sweep} have no row, the first is job {missing[0]}: run the sweep again")

    # Caches the last part, because jobs are mostly read in order.
    @lru_cache(maxsize=1)
    def load_part(index: int) -> list[Files]:
        files: list[Files] = ray.get(objects[index])
        return files

    def load(job: int) -> Files:
        return load_part(job // size)[job % size] if folder is None else _files(folder, rows[job])

    ordered = [rows[job] for job in range(count)]
    return Result(ordered, count - known, time.monotonic() - begin_time, load)


def _ray() -> Any:
    """Imports Ray."""
    try:
        return import_module("ray")
    except ImportError as error:
        raise ImportError('poplin.ray needs Ray: pip install "poplin[ray]"') from error


def _check(backend: str, num_cpus: int, batch_size: int | None, max_retries: int) -> None:
    """Raises ValueError for arguments out of range."""
    if backend not in ("auto", "gpu", "cpu"):
        raise ValueError(f'no backend "{backend}": use "auto", "gpu" or "cpu"')
    size = 1 if batch_size is None else batch_size
    for name, value, least in [("num_cpus", num_cpus, 1), ("batch_size", size, 1), ("max_retries", max_retries, 0)]:
        if not isinstance(value, int) or value < least:
            raise ValueError(f"{name} = {value!r} is not a whole number of at least {least}")


def _ended(ray: Any, submit: Callable[[range], Any], wanted: Iterable[range]) -> Generator[tuple[range, Any, Any]]:
    """Yields each part when its task ends, with the task's first return value and a reference to its second.

    Cancels the remaining tasks when closed.
    """
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
                # The exception of the task; without one its process or machine died.
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
    """Runs jobs on a worker. Returns the identity of the sweep with the rows of the jobs, and their files without a folder."""
    # Named after run and part: after a kill, the retry on this machine resumes there and removes it.
    folder = out or Path(tempfile.gettempdir(), f"poplin-{run_name}-{begin}-{end}")
    try:
        while True:
            try:
                batch(sweep, folder, jobs=(begin, end), resume=True, backend=backend)
                break
            except BlockingIOError:
                # Locked by a task of a dead driver or of a lost machine; the lock ends with its process.
                time.sleep(PERIOD)
        mark = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
        rows = rows_of([folder / f"manifest-jobs-{begin}-{end}.jsonl"])
        files = [] if out else [_files(folder, rows[job], whole=True) for job in range(begin, end)]
        return (mark, rows), files
    finally:
        if out is None:
            shutil.rmtree(folder, ignore_errors=True)


def _files(folder: Path, row: dict[str, Any], whole: bool = False) -> Files:
    """Returns the files of a job; whole: loads arrays into memory instead of mapping them."""
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
    """Returns the number of tasks that fit the cluster at once, at least 1."""
    slots = resources.get("CPU", 0) // num_cpus
    if num_gpus > 0:
        slots = min(slots, resources.get("GPU", 0) // num_gpus)
    return max(int(slots), 1)


def _batch_size(folder: Path | None, wanted: int | None, count: int, slots: int) -> int:
    """Returns the number of jobs per part.

    A folder keeps it, so that all runs have the same parts, and the lock of a part's manifest stops leftover tasks of an
    earlier run from writing beside the next run.
    """
    size = wanted or min(-(-count // (PARTS_PER_SLOT * slots)), MAX_BATCH_SIZE)
    if folder is None:
        return size
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder / MARK
    temporary = folder / f".{MARK}.{uuid.uuid4().hex}.tmp"
    temporary.write_text(json.dumps({"batch_size": size}) + "\n", encoding="utf-8")
    try:
        # A hard link is atomic and fails if the file exists.
        os.link(temporary, mark)
    except FileExistsError:
        pass
    except OSError:
        # No hard links on this file system.
        if not mark.exists():
            os.replace(temporary, mark)
    finally:
        temporary.unlink(missing_ok=True)
    known = json.loads(mark.read_text(encoding="utf-8"))["batch_size"]
    if wanted not in (None, known):
        raise ValueError(f"{folder} was started with batch_size = {known}, which it keeps: omit batch_size")
    return int(known)
