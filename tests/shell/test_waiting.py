"""The line that tells how long a command has been at work."""

import io
import sys
import time

import pytest

from hutch.shell import waiting as module
from hutch.shell.waiting import waiting


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal in place of stderr; not a fixture, after whose setup pytest puts its own stream back."""
    monkeypatch.setattr(module, "_FIRST", 0.01)
    monkeypatch.setattr(module, "_EACH", 0.01)
    monkeypatch.setattr(sys, "stderr", found := Terminal())
    monkeypatch.delenv("TERM", raising=False)
    return found


def until(screen: Terminal, text: str) -> None:
    begun = time.monotonic()
    while text not in screen.getvalue() and time.monotonic() < begun + 20:
        time.sleep(0.002)


def test_the_line_gives_way_to_what_a_command_says(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    with waiting("crowd"):
        until(screen, "\rcrowd: 0 s")
        print("notice", file=sys.stderr)
    text = screen.getvalue()
    before, after = text[: text.index("notice")], text[text.index("notice") :]
    assert before.endswith("\r" + " " * len("crowd: 0 s") + "\r")
    assert after.startswith("notice\n") and (after == "notice\n" or after.endswith(" \r"))
    assert sys.stderr is screen


def test_a_short_run_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    monkeypatch.setattr(module, "_FIRST", 20.0)
    with waiting("crowd"):
        print("done", file=sys.stderr)
    assert screen.getvalue() == "done\n"


@pytest.mark.parametrize("how", ["quiet", "dumb", "no terminal"])
def test_nothing_where_nobody_looks(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    screen: io.StringIO = terminal(monkeypatch)
    if how == "dumb":
        monkeypatch.setenv("TERM", "dumb")
    if how == "no terminal":
        monkeypatch.setattr(sys, "stderr", screen := io.StringIO())
    with waiting("crowd", quiet=how == "quiet"):
        time.sleep(0.05)
    assert screen.getvalue() == ""


def test_an_error_ends_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    with pytest.raises(ValueError, match="no"), waiting("crowd"):
        until(screen, "crowd: 0 s")
        raise ValueError("no")
    assert screen.getvalue().endswith(" \r") and sys.stderr is screen
