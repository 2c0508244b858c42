"""What a panel is worth: votes, and the gap to independence."""

import numpy as np
import pytest

from hutch.crowd.aggregate import aggregate
from hutch.crowd.data.labels import from_triples
from hutch.crowd.mixed.model import Mixed
from hutch.crowd.mixed.worth import Worth, independent, kish, sentences, worth
from hutch.crowd.models.two_level import TwoLevel


def panel(shared, gold=0, items=400, judges=6, right=0.8, seed=0):
    """Labels of judges who all see one wrong class on a share of the items, and are right in `right` else."""
    random = np.random.default_rng(seed)
    truth = random.integers(2, size=items)
    seen = np.where(random.random(items) < shared, 1 - truth, truth)
    said = np.where(random.random((judges, items)) < right, seen, 1 - seen)
    rows = [(f"j{j}", f"t{i}", str(said[j, i])) for i in range(items) for j in range(judges)]
    return from_triples(rows, ["0", "1"], gold={f"t{i}": str(truth[i]) for i in range(gold)})


def test_judges_who_guess_are_worth_nothing():
    labels = panel(0.0, right=0.5)
    found = worth(labels, aggregate(labels, TwoLevel(judges=True)).fit.state)
    assert found.votes < 0.1 and found.accuracy is None
    assert sentences(found.summary)[0] == "6 judges count as no vote: they agree no more than chance explains"
    good = panel(0.0, right=0.9)
    assert worth(good, aggregate(good, TwoLevel(judges=True, least_accuracy=1)).fit.state).votes > 1


def test_independence_is_simulated_from_rows():
    labels = panel(0.0, gold=400, right=0.7)
    known = np.arange(400)
    assert independent(labels, known) == pytest.approx(0.874, abs=0.03)  # of 6 votes at .7 ties are halved
    assert independent(panel(0.3, gold=400, right=0.7), known) < 0.7 + 0.1


def test_a_panel_of_one_mind_does_not_close_the_gap():
    apart, alike = panel(0.0, gold=200), panel(0.25, gold=200)
    free, bound = (worth(each, aggregate(each, Mixed()).fit.state) for each in (apart, alike))
    assert free.gold == bound.gold == 200
    assert free.accuracy - free.independent == pytest.approx(0, abs=0.04)
    assert bound.independent - bound.accuracy > 0.05 and bound.closed < 0.5
    lines = sentences(bound.summary)
    assert lines[1].startswith("judges who err by themselves would be right in 0.8") and len(lines) == 2


def test_votes_are_those_of_kish():
    labels = panel(0.2, gold=400)
    error = (labels.labels.reshape(400, 6) != labels.gold[:, None]).T.astype(float)
    rho = np.corrcoef(error)[np.triu_indices(6, 1)].mean()
    assert kish(labels, np.arange(400)) == pytest.approx(6 / (1 + 5 * rho))
    assert kish(panel(0.0, gold=400), np.arange(400)) > 4
    assert kish(panel(0.2, gold=400, right=1.0), np.arange(400)) == pytest.approx(1)
    assert kish(panel(0.0, gold=400, right=1.0), np.arange(400)) == pytest.approx(1)  # nobody errs: nothing is shown


def test_little_gold_tells_little():
    labels = panel(0.1, gold=20)
    found = worth(labels, aggregate(labels, Mixed()).fit.state)
    assert found.accuracy is None and found.gold == 20
    assert sentences(found.summary)[-1].startswith(
        "50 labels by people would tell how often it is right to within 0.14"
    )


def test_without_a_gap_nothing_is_closed():
    assert "closed" not in Worth(3, 1.0, True, 60, 0.9, 0.9, 0.9).summary
