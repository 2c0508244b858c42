"""`hutch reproduce nat-oem`, in small."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hutch.reproduce import em_contenders as contenders
from hutch.reproduce import em_evaluation as evaluation
from hutch.reproduce import em_tables
from hutch.reproduce.em_tables import reproduce_nat_oem


def shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    """One seed, and four families with one setting each, on an eighth of the training rows."""

    def small(seed: int, whole: Any = evaluation.synthetic) -> evaluation.Task:
        task: evaluation.Task = whole(seed)
        count = len(task.train.rows) // 8
        train = evaluation.Labelled(task.train.rows[:count], task.train.classes[:count])
        shuffles = np.stack([np.random.default_rng(k).permutation(count) for k in range(len(task.shuffles))])
        return replace(task, train=train, shuffles=shuffles)

    monkeypatch.setattr(em_tables, "SEEDS", 1)
    monkeypatch.setattr(em_tables, "DATA", {"synthetic": small})
    first = {contenders.BASELINE, contenders.TUNED, "exact step", "Nat-oEM step literal"}
    families = [contenders.Family(f.name, f.settings[-1:]) for f in contenders.FAMILIES if f.name in first]
    monkeypatch.setattr(contenders, "FAMILIES", families)


def test_it_prints_tables(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    shortened(monkeypatch)
    reproduce_nat_oem(None, False)
    output = capsys.readouterr()
    assert "synthetic: iid stream, rank 15" in output.out
    assert "exact step" in output.out and "unstable" in output.out
    assert "class by class" in output.err


@pytest.mark.slow
def test_it_prints_json_and_draws(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shortened(monkeypatch)
    reproduce_nat_oem(tmp_path, True)
    results: dict[str, Any] = json.loads(capsys.readouterr().out)["synthetic"]
    exact, plain = results["incremental"]["exact step"], results["incremental"]["oEM k^-0.6"]
    assert exact["final"][0] > plain["final"][0] + 10
    assert results["iid"]["Nat-oEM step literal"]["to_target"] == []
    assert len(list(tmp_path.glob("nat-oem-synthetic-*.png"))) == 4
