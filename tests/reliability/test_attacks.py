"""A small, seeded part of what `benchmarks/reliability.py` tries at length."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ATTACKS = Path(__file__).parents[2] / "benchmarks" / "attacks"


@pytest.fixture(autouse=True)
def found_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ATTACKS))


def attack(name: str) -> Any:
    """A program of the attacks, as a module."""
    return import_module(name)


@pytest.mark.skipif(sys.platform != "linux", reason="forks processes whose memory is limited")
def test_forged_models_are_refused_or_harmless() -> None:
    counts, findings = attack("forged_models").run(150, seed=5)
    assert findings == []
    assert counts["forged, refused"] > 50 and counts["forged, accepted"] > 15 and counts["damaged, refused"] > 4
