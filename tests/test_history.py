"""`benchmarks/speed/history.py`: figures by commit, compared with those before."""

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "speed" / "history.py"
SPEC = importlib.util.spec_from_file_location("history", SCRIPT)
assert SPEC is not None and SPEC.loader is not None
history: Any = importlib.util.module_from_spec(SPEC)
sys.modules["history"] = history
SPEC.loader.exec_module(history)


def entry(machine: float = 10.0, on: str = "here", **figures: float) -> dict[str, Any]:
    named = {name.replace("_", " ").replace("predict one", "predict_one"): value for name, value in figures.items()}
    about = {"commit": "c" * 12, "changed": False, "measured": "2026-01-01", "on": on, "load": 1.0}
    return about | {"figures": {"machine": machine} | named}


@pytest.mark.slow
def test_every_figure_is_measured_and_a_line_appended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="needs hutch[plots]")
    file, page = tmp_path / "history.jsonl", tmp_path / "history.html"
    assert history.main([str(file), "--page", str(page)], history.TINY) == 0
    [line] = file.read_text().splitlines()
    figures = json.loads(line)["figures"]
    assert list(figures) == list(history.UNITS)
    assert all(value > 0 for name, value in figures.items() if not name.startswith("demo"))
    assert all(0 <= figures[name] <= 1 for name in figures if name.startswith("demo"))
    assert "new" in capsys.readouterr().out
    assert page.read_text().count("<svg") == 1 and "crowd: log-loss, nats" in page.read_text()


@pytest.mark.parametrize(
    ("now", "change", "worse"),
    [
        (entry(predict_one=12.0), "+20%", True),
        (entry(predict_one=11.0), "+10%", False),
        (entry(predict_one=8.0), "-20%", False),
        (entry(machine=12.0, predict_one=12.0), "+0%", False),  # the machine was as much slower
        (entry(machine=5.0, predict_one=10.0), "+0%", False),  # a quick moment excuses nothing and accuses nobody
        (entry(on="there", predict_one=99.0), "new", False),
    ],
)
def test_times_are_compared_on_one_machine(now: dict[str, Any], change: str, worse: bool) -> None:
    before = [entry(predict_one=value) for value in (10.0, 7.0, 13.0)]
    found = {name: rest for name, *rest in history.compared(now, before, 1.15)}
    assert found["predict_one"] == [change, worse]


@pytest.mark.parametrize(("value", "worse"), [(0.19, True), (0.18, False), (0.17, False)])
def test_qualities_are_compared_on_all_machines(value: float, worse: bool) -> None:
    name = "demo: error of linear"
    before = [entry(on="there") | {"figures": {name: 0.18}}]
    now = entry() | {"figures": {"machine": 10.0, name: value}}
    assert {row[0]: row[2] for row in history.compared(now, before, 1.15)}[name] is worse


def test_a_foreign_line_is_named(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    file.write_text(json.dumps(entry()) + "\n{}\n")
    with pytest.raises(SystemExit, match=r"history.jsonl:2: .*wanted a line that this program wrote"):
        history.main([str(file)])
