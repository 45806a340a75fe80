"""Examples of the guide's page, each in a new Python process."""

import pytest
from conftest import guide_examples, run_python

EXAMPLES = guide_examples("python")


@pytest.mark.parametrize("index", range(len(EXAMPLES)))
def test_an_example_runs(index, tmp_path):
    done = run_python(EXAMPLES[index], cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_page_has_examples():
    assert EXAMPLES
