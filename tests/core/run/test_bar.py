"""The last line of a terminal while a run goes on."""

import io
import sys
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest

from hutch.core.run.reporters import Bar
from hutch.core.run.run import Notes


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def a_run(seconds: float, **files: Any) -> Any:
    progress = SimpleNamespace(seconds=seconds, pass_number=2, statistics=SimpleNamespace(examples=12_345))
    return SimpleNamespace(
        files=SimpleNamespace(**files), progress=progress, options=SimpleNamespace(passes=2), notes=Notes()
    )


def test_a_bar_shows_share_rate_and_time_left_below_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    bar, run = Bar(), a_run(0.01, total=1000, position=500)
    none: Any = None
    with ExitStack() as stack:
        bar.open(run, stack)
        bar.see(run, none, none)
        assert screen.getvalue() == ""  # it is too early
        run.progress.seconds = 3.0
        bar.see(run, none, none)
        bar.see(run, none, none)
        run.notes.say("0.5 row")
    run.notes.say("the end")
    clear = "\r\x1b[K"
    assert screen.getvalue() == f"{clear} 75%  4,115 examples/s  1 s left{clear}0.5 row\n{clear}the end\n"


@pytest.mark.parametrize(("screen", "total"), [(Terminal(), None), (io.StringIO(), 1000)])
def test_there_is_none_elsewhere_or_where_the_length_is_unknown(
    monkeypatch: pytest.MonkeyPatch, screen: io.StringIO, total: int | None
) -> None:
    monkeypatch.setattr(sys, "stderr", screen)
    bar, run = Bar(), a_run(3.0, total=total, position=500)
    none: Any = None
    with ExitStack() as stack:
        bar.open(run, stack)
        bar.see(run, none, none)
    assert screen.getvalue() == ""
