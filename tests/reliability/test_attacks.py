"""A small, seeded part of what `benchmarks/hardening/reliability.py` tries at length."""

import random
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ATTACKS = Path(__file__).parents[2] / "benchmarks" / "hardening" / "attacks"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks processes whose memory is limited")


@pytest.fixture(autouse=True)
def found_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ATTACKS))


def attack(name: str) -> Any:
    """A program of the attacks, as a module."""
    return import_module(name)


@pytest.mark.slow
def test_forged_models_are_refused_or_harmless() -> None:
    models = "linear,active,one_against_all,crowd two_level,em exact step"
    counts, findings = attack("forged_models").run(150, seed=5, only=models)
    assert findings == []
    assert counts["forged, refused"] > 50 and counts["forged, accepted"] > 15 and counts["damaged, refused"] > 4


def test_the_page_says_what_was_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ATTACKS.parent))
    reliability = import_module("reliability")
    for path in reliability.PAGES:
        written = path.read_text()
        assert reliability.page(written) == written


def test_memory_that_loading_takes_is_seen(tmp_path: Path) -> None:
    forged = attack("forged_models")
    for take in (np.zeros, np.ones):  # asked for, touched
        model = forged.Model(b"", lambda path, take=take: take(1 << 22), lambda path, found: None)
        found, took = forged.loaded(model, tmp_path)
        assert len(found) == 1 << 22 and 1 << 25 <= took < 1 << 26


def test_hostile_chains_are_refused_or_learn() -> None:
    counts, findings = attack("hostile_chains").run(150, seed=2, only=["linear", "active", "one_against_all"])
    assert findings == []
    assert counts["refused"] > 60 and counts["accepted"] > 5


def test_every_shipped_layer_is_attacked() -> None:
    from hutch.plugins.manager import installed

    chains = attack("sound_chains").CHAINS.values()
    used = {layer if isinstance(layer, str) else next(iter(layer)) for layers, _ in chains for layer in layers}
    assert used == set(installed().registry.reductions)


def test_damaged_caches_are_noticed() -> None:
    counts, findings = attack("damaged_caches").run(200, seed=3)
    assert findings == []
    assert counts["batches: noticed while it was read"] > 30 and counts["objects: refused"] > 50


@pytest.mark.slow
def test_hostile_requests_change_nothing(tmp_path: Path) -> None:
    requests = attack("hostile_requests")
    for name, target in (("serve", requests.serve), ("page", requests.page)):
        (tmp_path / name).mkdir()
        given = [{"plain": [{"linear": {"loss": "logistic"}}]}] if name == "serve" else []
        counts, findings = target(120, random.Random(4), tmp_path / name, *given)
        assert findings == []
        assert sum(times for status, times in counts.items() if status.startswith(f"{name}: body: 4")) > 40


@pytest.mark.slow
def test_killed_commands_lose_nothing() -> None:
    counts, findings = attack("kill_commands").attack(4, 1, ["train"])
    assert findings == []
    assert counts["train: killed"] == 4 and counts["train: whole jobs equal to the bit"] >= 1


@pytest.mark.slow
def test_lost_output_is_said() -> None:
    counts, findings = attack("lost_output").attack(11, 1, "train --json")
    assert findings == []
    assert counts["output full: held"] == counts["400 MB of memory: held"] == 1
