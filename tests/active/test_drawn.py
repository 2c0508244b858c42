"""Labels of a store as a sample of its pool."""

import numpy as np
import pytest

from hutch.active.drawn import labels_drawn
from hutch.core.errors import UsageError
from hutch.durable.entries import Round
from hutch.durable.records import Request, make_answer
from hutch.durable.store import Store

POOL = 300


def drawn(path, random, truth, rounds=3, size=30, answered=1.0):
    """A store of rounds that ask for positives more often, and more so from round to round."""
    left = np.arange(len(truth))
    with Store(path, create=True) as store:
        for number in range(rounds):
            preference = 1.0 + (number + 1) * truth[left]
            chance = np.minimum(size * preference / preference.sum(), 1.0)
            taken = random.random(len(left)) < chance
            items = [(f"t{i}", float(p)) for i, p in zip(left[taken], chance[taken], strict=True)]
            store.ask(
                [Request(name, f"|f {name}", 0.0, p, 1 / p, "m") for name, p in items],
                Round("pool", len(left), float(chance.sum()), 0.0),
            )
            store.answer(
                make_answer(name, "ann", int(truth[int(name[1:])])) for name, _ in items if random.random() < answered
            )
            left = left[~taken]


@pytest.mark.slow
@pytest.mark.parametrize("answered", [1.0, 0.6])
def test_rounds_together_measure_the_whole_pool(tmp_path, answered):
    random = np.random.default_rng(0)
    truth = (random.random(POOL) < 0.3).astype(float)
    found, sizes = [], []
    for number in range(60):
        path = tmp_path / f"{number}.db"
        drawn(path, random, truth, answered=answered)
        with Store(path) as store:
            labels, chances, total = labels_drawn(store)
        weight = 1 / np.array([chances[name] for name in labels.item_names])
        said = np.array([float(labels.classes[label]) for label in labels.labels])
        found.append((weight * said).sum() / weight.sum())
        sizes.append(weight.sum())
        assert total == POOL
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found) - truth.mean()) < 3 * error and error < 0.012
    assert np.mean(sizes) == pytest.approx(POOL, rel=0.05)


def requests(names, probability):
    return [Request(name, f"|f {name}", 0.0, probability, 1 / probability, "m") for name in names]


def test_labels_that_cannot_measure_a_pool_are_refused(tmp_path):
    with Store(tmp_path / "empty.db", create=True) as store:
        with pytest.raises(UsageError, match="got no labels, wanted answers to requests"):
            labels_drawn(store)
        store.ask(requests("ab", 1.0), Round("pool", 10, 2.0, 0.0))
        store.answer([make_answer("a", "ann", 1)])
        with pytest.raises(UsageError, match="every request has probability 1, but 8 lines have never been asked for"):
            labels_drawn(store)
        store.ask(requests("cd", 0.5), Round("pool", 10, 2.0, 0.0))
        with pytest.raises(UsageError, match="round 2: drawn from 10 lines, where 8 were left of 10; wanted one pool"):
            labels_drawn(store)
