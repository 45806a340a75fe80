"""The examples of the guide's page, as they stand there, each in a Python of its own."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = next(path for folder in Path(__file__).parents for path in [folder / "python.md"] if path.exists())
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("index", range(len(EXAMPLES)))
def test_an_example_runs(index, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", EXAMPLES[index]], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_page_has_examples():
    assert EXAMPLES
