import importlib.util
from pathlib import Path

import numpy as np
import pytest

from hutch.core.errors import UsageError
from hutch.crowd.aggregate import Options, aggregate
from hutch.crowd.data.labels import from_triples
from hutch.crowd.mixed.model import Mixed
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.offers import expected_gain, offers
from hutch.crowd.output import offer_rows
from hutch.crowd.requests import entropy

_spec = importlib.util.spec_from_file_location(
    "crowd_of_judges", Path(__file__).parent / "mixed" / "crowd_of_judges.py"
)
crowds = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(crowds)
PEOPLE = Mixed(reference=("ann*",))


def test_where_factors_are_likelihoods_the_gain_is_the_mutual_information():
    random = np.random.default_rng(0)
    q, row = random.dirichlet(np.ones(4), 50), random.dirichlet(np.ones(4), 4)
    wanted = entropy(q @ row) - q @ entropy(row)
    assert expected_gain(q, row, row.T) == pytest.approx(wanted)


def spare(judge_right):
    """Judges and people who left out half of the items each."""
    random = np.random.default_rng(3)
    rows, _ = crowds.mixed_crowd(800, 2, judges=4, together=0.0, person=0.9, right=judge_right, seed=2)
    return [row for row in rows if random.random() < 0.5]


@pytest.mark.parametrize("options", [Options(), Options(method="online", slots=512)])
def test_a_cheap_judge_is_asked_before_a_dear_person_and_not_if_they_cost_the_same(options):
    result = aggregate(from_triples(spare(0.85)), PEOPLE, options)
    names = result.labels.worker_names
    people = [i for i, name in enumerate(names) if name.startswith("ann")]
    both = [*people, *(i for i, name in enumerate(names) if name.startswith("judge"))]
    for dear, few, many in ((1.0, -0.01, 1.01), (30.0, -0.01, 0.2)):
        found = offers(result, both, [dear if i in people else 1.0 for i in both])
        asked = found.worker[found.best(100)]
        assert few < np.isin(asked, people).mean() < many
        if dear == 1.0:
            share = np.isin(asked, people).mean()
    assert share > 0.5


def test_nobody_is_asked_twice_and_who_has_labelled_all_is_nobody():
    rows, _ = crowds.mixed_crowd(50, 2, judges=2)
    result = aggregate(from_triples(rows), PEOPLE)
    judge = result.labels.worker_names.index("judge0")
    found = offers(result, [judge], [1.0])
    assert (found.worker == -1).all() and len(found.best(5)) == 0


def test_a_copy_of_what_is_known_is_worth_little():
    rows, _ = crowds.mixed_crowd(900, 2, judges=2, together=0.0, seed=4)
    copies = [(f"copy{c}", t, x) for w, t, x in rows if w == "judge0" for c in range(3)]
    rows = [row for row in rows + copies if not (row[0] in ("copy2", "judge1") and int(row[1][1:]) % 2)]
    result = aggregate(from_triples(rows), PEOPLE)
    half = np.array([int(name[1:]) % 2 == 1 for name in result.labels.item_names])
    factors = result.factors()
    gains = {
        name: expected_gain(result.fit.posterior, result.confusions[w], factors[w])[half].mean()
        for w, name in enumerate(result.labels.worker_names)
    }
    assert gains["copy2"] < 0.5 * gains["judge1"]


def test_rows_name_worker_gain_and_price():
    result = aggregate(from_triples(spare(0.7)), TwoLevel())
    prices = {"judge0": 0.1, "ann1": 2.0}
    rows = offer_rows(result, prices, [], 5)
    assert {row["worker"] for row in rows} <= set(prices)
    worth = [row["gain"] / row["price"] for row in rows]
    assert worth == sorted(worth, reverse=True)
    assert {row["worker"] for row in offer_rows(result, prices, ["ann1"], 5)} == {"ann1"}
    with pytest.raises(UsageError, match="'ann2' has no price in the labels; did you mean 'ann1'"):
        offer_rows(result, prices, ["ann2"], 5)
