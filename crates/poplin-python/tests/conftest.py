"""Helpers shared by the tests."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

SCENE = """
frames = 10
[[cloth]]
name = "sheet"
damping = [0.0, 0.0, 0.0]
grid = { columns = 8, rows = 8, width = 1, height = 1 }
pins = ["corner:top-left"]
"""


def manifest_rows(folder: Path) -> list[dict]:
    """Returns the rows of all manifests in the order of their jobs."""
    lines = [line for path in folder.glob("manifest-*.jsonl") for line in path.read_text().splitlines()]
    return sorted((json.loads(line) for line in lines), key=lambda row: row["job"])


def guide_examples(language: str) -> list[str]:
    """Returns the examples of the guide's Python page in this language."""
    page = next(path for folder in Path(__file__).parents for path in [folder / "python.md"] if path.exists())
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def run_python(script: str, **options: Any) -> subprocess.CompletedProcess:
    """Runs a program in a new Python process."""
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, **options)


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen]]:
    """Starts Python programs, which are ended with the test."""
    processes = []

    def start(*words: Any) -> subprocess.Popen:
        process = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True)
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()


@pytest.fixture
def interrupt() -> Callable[..., str]:
    """Sends Ctrl-C to a working program and returns its output."""

    def interrupt(process: subprocess.Popen, is_at_work: Callable[[], bool]) -> str:
        while not is_at_work():
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        return process.communicate(timeout=60)[0]

    return interrupt
