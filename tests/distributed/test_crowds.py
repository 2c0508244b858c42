"""Crowd models over shards: one process's result, for every model and every number of shards."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from hutch.core.errors import UsageError
from hutch.crowd.aggregate import aggregate
from hutch.crowd.data.labels import Labels, from_triples
from hutch.crowd.mixed.model import Mixed
from hutch.crowd.models.model import CrowdModel, State
from hutch.crowd.sharded import Sharded, crowd, cut, cuts
from hutch.crowd.simulate import simulate
from hutch.crowd.table import EXCHANGEABLE
from hutch.jobs.engine import Here
from hutch.jobs.processes import Processes

MODELS = [*(model() for model in EXCHANGEABLE), Mixed(reference=("w1*",))]


@pytest.fixture(scope="module")
def labels() -> Labels:
    """From 1 to 6 labels per item, and gold on some."""
    simulated = simulate(400, 30, 3, 6, seed=3)
    whole = simulated.labels
    kept = np.arange(len(whole)) - whole.item_ptr[whole.label_items] <= whole.label_items * 6 // whole.items
    item_ptr = np.concatenate([[0], np.cumsum(np.bincount(whole.label_items[kept], minlength=whole.items))])
    gold = np.where(np.arange(whole.items) % 9 == 4, simulated.truth, -1).astype(np.int32)
    return replace(whole, item_ptr=item_ptr, workers=whole.workers[kept], labels=whole.labels[kept], gold=gold)


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    with Processes(2) as engine:
        yield engine


@pytest.mark.parametrize(
    "shards", [pytest.param(1, marks=pytest.mark.slow), 4, pytest.param(16, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_shards_give_what_one_process_gives(model: CrowdModel, shards: int, labels: Labels) -> None:
    one, many = aggregate(labels, model), crowd(labels, model, shards=shards)
    assert many.fit.iterations == one.fit.iterations
    assert many.fit.objective == pytest.approx(one.fit.objective, abs=1e-9)
    for name in ("probability", "confusions", "class_prior"):
        assert np.allclose(getattr(many, name), getattr(one, name), rtol=0, atol=1e-9)
    assert np.allclose(many.others(), one.others(), rtol=0, atol=1e-9)
    again, history = crowd(labels, model, shards=shards, history=many.fit.state), one.fit.state
    assert np.allclose(again.probability, aggregate(labels, model, history=history).probability, rtol=0, atol=1e-9)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_processes_give_the_same_bits(model: CrowdModel, labels: Labels, processes: Processes) -> None:
    here, there = (crowd(labels, model, shards=4, engine=engine).fit for engine in (Here(), processes))
    assert np.array_equal(here.posterior, there.posterior) and here.objective == there.objective
    for part in ("workers", "shared"):
        for name, array in getattr(here.state, part).items():
            assert np.array_equal(array, getattr(there.state, part)[name])


class Share(CrowdModel):
    """The least a third party's model says of its labels: the share of each class, as prior and posterior."""

    name, summary = "share", "class shares"

    def start(self, labels, history):
        prior = np.full(len(labels.classes), 1 / len(labels.classes))
        return State(labels.classes, labels.worker_names, {}, {"prior": prior}, {"votes": labels.vote_share()})

    def count(self, labels, state):
        return {"votes": state.items["votes"].sum(axis=0)}

    def settle(self, state, sums):
        state.shared["prior"] = sums["votes"] / sums["votes"].sum()

    def expect(self, labels, state, learned):
        before = state.items["votes"].copy()
        state.items["votes"] = labels.vote_share() * state.shared["prior"]
        state.items["votes"] /= state.items["votes"].sum(axis=1, keepdims=True)
        return 0.0, float(np.abs(before - state.items["votes"]).max(initial=0))

    def posterior(self, state):
        return state.items["votes"]

    def confusions(self, state):
        return np.tile(np.eye(len(state.classes)), (len(state.worker_names), 1, 1))

    def class_prior(self, state):
        return state.shared["prior"]


def test_a_model_of_a_third_party_takes_part(labels: Labels) -> None:
    one, many = Share().fit(labels), Share().fit(labels, over=Sharded(Here(), 5))
    assert 1 < one.iterations == many.iterations
    assert np.allclose(one.posterior, many.posterior, rtol=0, atol=1e-12)


@pytest.mark.parametrize("shards", [1, 2, 7, 50])
def test_shards_hold_every_item_once(labels: Labels, shards: int) -> None:
    between = cuts(labels, shards)
    parts = cut(labels, between)
    assert len(between) == shards + 1 == len(set(between)) and sum(part.items for part in parts) == labels.items
    assert np.array_equal(np.concatenate([part.labels for part in parts]), labels.labels)
    assert [name for part in parts for name in part.item_names] == labels.item_names
    assert np.array_equal(np.concatenate([part.gold for part in parts]), labels.gold)
    assert max(len(part) for part in parts) <= len(labels) / shards + np.diff(labels.item_ptr).max()


@pytest.mark.slow
def test_more_shards_than_items_and_no_labels() -> None:
    few = from_triples([("ann", "t1", "cat"), ("bob", "t1", "cat"), ("cy", "t2", "dog")])
    assert np.allclose(crowd(few, shards=9).probability, aggregate(few).probability, rtol=0, atol=1e-9)
    assert crowd(from_triples([]), shards=3).probability.shape == (0, 0)
    with pytest.raises(UsageError, match="shards: got 0"):
        crowd(few, shards=0)
