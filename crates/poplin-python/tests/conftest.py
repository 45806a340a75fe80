"""What tests of processes share."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen]]:
    """Starts programs of Python, which end with the test at the latest."""
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
    """Sends Ctrl-C to a program once it is at work, and returns what it has printed."""

    def interrupt(process: subprocess.Popen, is_at_work: Callable[[], bool]) -> str:
        while not is_at_work():
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        return process.communicate(timeout=60)[0]

    return interrupt
