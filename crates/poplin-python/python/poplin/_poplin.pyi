import os
from typing import Any

def command(words: list[str]) -> int: ...
def sweep_jobs(sweep: str | os.PathLike[str]) -> list[dict[str, Any]]: ...
def batch(
    sweep: str | os.PathLike[str],
    out: str | os.PathLike[str],
    jobs: tuple[int, int] | None,
    shard: tuple[int, int] | None,
    resume: bool,
    backend: str,
    adapter: str | None,
) -> dict[str, Any]: ...
