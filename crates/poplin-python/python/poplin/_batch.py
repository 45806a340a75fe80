"""Sweeps: one scene with many values of some of its keys."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from . import _poplin


class BatchResult(NamedTuple):
    """How the jobs of a sweep that were wanted are now."""

    wanted: int
    """Jobs that were wanted."""
    ran: int
    """Of those, how many this call did."""
    done: int
    """Those that are done, failed ones not among them."""
    failed: list[int]
    """Those that failed, rising; the manifests in the folder say why."""
    doubtful: list[int]
    """Those whose results may not be trusted, rising; the manifests in the folder say why."""
    seconds: float
    """How long this call took [s]."""


def sweep_jobs(sweep: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The jobs of a sweep file (TOML), each as its varied keys with their values; nothing is simulated.

    Raises ValueError if sweep or scene cannot be read or are not valid.
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
    """Runs jobs of a sweep file (TOML) as the command `poplin batch` does, into the same files.

    out: folder to write to; made if it is not there. Several processes may write parts of one sweep into one folder.
    jobs: only those from the first on and before the second, counted from 0.
    shard: (i, n): only those whose remainder by n is i, 0 to n - 1.
    resume: go on in a folder with results: jobs that are done are left out, failed ones too.
    backend: "auto", a real GPU if there is one, else the CPU; "gpu"; "cpu".
    adapter: take only a GPU adapter whose name contains this.

    The interpreter's lock is released. Ctrl-C raises KeyboardInterrupt and leaves a folder that can be resumed. A job that
    fails is no error: its row in the manifest says why.

    Raises ValueError for bad input, such as a folder with results of another sweep, RuntimeError if the folder cannot be
    written or the backend fails, BlockingIOError if another process writes the same part of the sweep.
    """
    return BatchResult(**_poplin.batch(sweep, out, jobs, shard, resume, backend, adapter))
