"""Threads change no bit of what crowd models find."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hutch.core.errors import DataError
from hutch.crowd.data.labels import Labels
from hutch.crowd.mixed.model import Mixed
from hutch.crowd.models import parts
from hutch.crowd.models.dawid_skene import DawidSkene
from hutch.crowd.models.model import CrowdModel, Fit
from hutch.crowd.models.nominal import Nominal
from hutch.crowd.models.one_coin import OneCoin
from hutch.crowd.models.ordinal import Ordinal
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.simulate import simulate

MODELS: dict[str, Callable[[], CrowdModel]] = {
    "two_level": lambda: TwoLevel(iterations=4),
    "dawid_skene": lambda: DawidSkene(iterations=4),
    "one_coin": lambda: OneCoin(iterations=4),
    "nominal": lambda: Nominal(iterations=3),
    "ordinal": lambda: Ordinal(iterations=3),
    "mixed": lambda: Mixed(reference=["w1?"], iterations=3),
}


@pytest.fixture(scope="module")
def labels() -> Labels:
    return simulate(240, 30, 3, 4, seed=5).labels


def bits(fit: Fit) -> list[bytes]:
    arrays = [fit.posterior, *fit.state.workers.values(), *fit.state.shared.values(), *fit.state.labels.values()]
    return [array.tobytes() for array in arrays]


@pytest.mark.parametrize("name", MODELS)
def test_threads_find_the_same_bits(name: str, labels: Labels, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, found, objectives = MODELS[name]().fit(labels), [], []
    monkeypatch.setattr(parts, "TOGETHER", 60)
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("HUTCH_THREADS", threads)
        fit = MODELS[name]().fit(labels)
        found.append(bits(fit))
        objectives.append(fit.objective)
    assert found[0] == found[1] == found[2] == bits(whole)
    assert objectives[0] == objectives[1] == objectives[2] == pytest.approx(whole.objective, abs=1e-12)


def test_each_part_has_its_workers_in_the_order_of_the_labels(labels: Labels, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "TOGETHER", 10)
    monkeypatch.setenv("HUTCH_THREADS", "4")
    seen: list[Labels] = []
    parts.over_workers(labels, seen.append)
    assert len(seen) == 4 and sum(map(len, seen)) == len(labels)
    workers = [set(part.workers.tolist()) for part in seen]
    assert sum(map(len, workers)) == len(set.union(*workers))
    assert max(map(len, seen)) < 0.5 * len(labels)
    for part in seen:
        mine = np.isin(labels.workers, part.workers)
        assert np.array_equal(part.workers, labels.workers[mine]) and np.array_equal(part.labels, labels.labels[mine])
        assert np.array_equal(part.label_items, labels.label_items[mine])
    again: list[Any] = []
    parts.over_workers(labels, again.append)
    assert {id(part) for part in again} == {id(part) for part in seen}


def test_an_error_of_a_part_is_raised(labels: Labels, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "TOGETHER", 60)
    monkeypatch.setenv("HUTCH_THREADS", "2")

    def step(item_ptr: parts.ItemPtr, items: slice) -> tuple[float, float]:
        if items.start > 0:
            raise DataError(f"items from {items.start} on")
        return 0.0, 0.0

    with pytest.raises(DataError, match="items from"):
        parts.over_items(labels, step)
