import doctest
from pathlib import Path

import pytest


@pytest.mark.parametrize("page", ["crowd/index.md", "crowd/mixed.md", "crowd/ordered.md"])
def test_examples_in_the_docs_run(page):
    found = doctest.testfile(str(Path(__file__).parents[2] / "docs" / page), module_relative=False)
    assert found.attempted > 0
    assert found.failed == 0
