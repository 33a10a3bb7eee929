"""What the guide shows is what happens."""

import doctest
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "python.md"


def test_the_examples_of_the_guide():
    found = doctest.testfile(str(GUIDE), module_relative=False)
    assert found.attempted > 10 and found.failed == 0
