"""For every command that writes: the n-th write, sync, rename, statement or allocation fails, for some n.

`benchmarks/hardening/attacks/nth_failure.py` tries every n.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.reliability.failing import COMMANDS, Attempts, prepare

MOST = 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the commands read."""
    found = tmp_path_factory.mktemp("commands")
    with pytest.MonkeyPatch.context() as there:
        there.chdir(found)
        prepare()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_the_nth_failure_leaves_old_or_new_and_is_said(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    monkeypatch.chdir(folder)
    attempts = Attempts(name, lambda: capfd.readouterr().err)
    for memory in (False, True):
        count = attempts.count(memory)
        assert count > 0
        for nth in range(1, count + 1, -(-count // MOST)):
            attempts.fail(nth, memory)
