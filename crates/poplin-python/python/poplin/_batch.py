"""Sweeps: variants of one scene."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from . import _poplin

MANIFESTS = "manifest-*.jsonl"
"""Pattern of the manifests in a folder of results."""


def rows_of(manifests: Iterable[Path]) -> dict[int, dict[str, Any]]:
    """Returns the rows of manifests by job. Ignores an incomplete last row."""
    rows = {}
    for path in manifests:
        for line in path.read_bytes().splitlines(keepends=True):
            if line.endswith(b"\n"):
                row = json.loads(line)
                rows[row["job"]] = row
    return rows


def warnings_of(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the warnings of rows, each with its `job`."""
    return [{"job": row["job"], **warning} for row in rows for warning in row.get("warnings", [])]


class BatchResult(NamedTuple):
    """State of the selected jobs of a sweep after a call."""

    wanted: int
    """Number of selected jobs."""
    ran: int
    """Number of selected jobs that this call finished, including failed ones."""
    done: int
    """Number of selected jobs that succeeded."""
    failed: list[int]
    """Failed jobs in rising order; the manifests in the folder hold their errors."""
    doubtful: list[int]
    """Jobs with warnings in rising order."""
    seconds: float
    """Duration of this call [s]."""
    warnings: list[dict[str, Any]]
    """Warnings of the doubtful jobs, each with its `job` and the fields of `PoplinWarning`."""


def sweep_jobs(sweep: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Returns the jobs of a sweep file (TOML), each as its varied keys with their values, without simulating.

    Raises FileNotFoundError if there is no such sweep, ValueError if sweep or scene cannot be read or are not valid.
    """
    return _poplin.sweep_jobs(sweep)


def batch(
    sweep: str | os.PathLike[str],
    out: str | os.PathLike[str],
    jobs: tuple[int, int] | None = None,
    shard: tuple[int, int] | None = None,
    resume: bool = False,
    backend: str = "auto",
    adapter: str | None = None,
) -> BatchResult:
    """Runs jobs of a sweep file (TOML) like the command `poplin batch`, and writes the same files.

    out: folder to write to, created if missing. Several processes may write parts of one sweep into one folder.
    jobs: (begin, end): only jobs begin to end - 1, counted from 0.
    shard: (i, n): only jobs whose index modulo n is i, 0 to n - 1.
    resume: continue in a folder with results: skips finished jobs, including failed ones.
    backend: "auto" (a real GPU if there is one, else the CPU), "gpu" or "cpu".
    adapter: use only a GPU adapter whose name contains this.

    Releases the interpreter's lock. Ctrl-C raises KeyboardInterrupt and leaves a folder that can be resumed. A failed job
    is not an error: its row in the manifest holds the message.

    Raises ValueError for bad input, such as a folder with results of another sweep, RuntimeError if the folder cannot be
    written or the backend fails, BlockingIOError if another process writes the same part of the sweep.
    """
    done = _poplin.batch(sweep, out, jobs, shard, resume, backend, adapter)
    rows = rows_of(Path(out).glob(MANIFESTS)) if done["doubtful"] else {}
    return BatchResult(**done, warnings=warnings_of(rows[job] for job in done["doubtful"]))
