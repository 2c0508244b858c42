"""The certificate: its bets are fair, and its guarantee holds for any model of errors."""

import numpy as np
import pytest

from hutch.core.errors import UsageError
from hutch.label.certificate import LARGEST, Certificate, best_stake
from hutch.sampling.chances import weights_of
from hutch.sampling.draws import draw_by_lot


def audited(wrong, p, allowed, confidence, random, tilt=0.65, most=None):
    """Audit random items, correcting errors, until few wrong items are proved or all are seen."""
    proof, left = Certificate(len(wrong), allowed, confidence), np.arange(len(wrong))
    while len(left) and not proof.proved and proof.audited < (most or len(wrong)):
        weights = weights_of(p[left], tilt)
        stake = best_stake(p[left], weights / weights.sum(), proof.allowed + 1)
        places, chances, least = draw_by_lot(weights, min(20, len(left)), random)
        for place, chance, low in zip(places, chances, least, strict=True):
            proof.draw(bool(wrong[left[place]]), chance, low, stake)
            if proof.proved:
                break
        left = np.delete(left, places)
    return proof


def test_each_bet_is_fair_if_just_so_many_are_wrong():
    p = np.array([0.05, 0.1, 0.4, 0.2, 0.3])
    wrong = np.array([False, True, True, False, False])
    weights = weights_of(p, 0.65)
    chance = weights / weights.sum()
    growth = []
    for item in range(5):  # the hypothesis allowed + 1 = 2 is true
        proof = Certificate(5, 1)
        proof.draw(bool(wrong[item]), chance[item], chance.min(), 0.3)
        growth.append(np.exp(proof.log_wealth if not wrong[item] else proof._log_wealth[0]))
    assert float(chance @ growth) == pytest.approx(1)
    assert min(growth) > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["right", "backwards", "useless"])
@pytest.mark.parametrize("tilt", [0.0, 0.65])
def test_one_more_error_than_allowed_is_hardly_ever_certified(kind, tilt):
    random, items, allowed, certified, runs = np.random.default_rng(7), 300, 30, 0, 150
    for _ in range(runs):
        p = random.beta(0.3, 2, items)
        order = np.argsort(p + 0.2 * random.random(items))
        wrong = np.zeros(items, np.bool_)
        wrong[order[-(allowed + 1) :]] = True
        told = {"right": p, "backwards": 1 - p, "useless": random.random(items)}[kind].clip(1e-3, 0.97)
        proof = audited(wrong, told, allowed, 0.9, random, tilt, most=items // 2)
        left = int(wrong.sum()) - proof.fixed
        certified += proof.proved and left > allowed
    assert certified / runs <= 0.1 + 3 * np.sqrt(0.09 / runs)


def test_errors_that_were_found_are_credited_and_what_cannot_be_judged_is_not():
    fixed, lost = Certificate(1000, 100), Certificate(1000, 100)
    fixed.fix(60)
    lost.fix(0, 60)
    for proof in (fixed, lost):
        for _ in range(20):
            proof.draw(False, 1 / 900, 1 / 900, 0.02)
    assert fixed.log_wealth > lost.log_wealth
    assert (fixed.unsettled, lost.unsettled) == (0, 60)


def test_what_it_bounds_is_never_less_than_was_allowed():
    random = np.random.default_rng(1)
    wrong = random.random(2000) < 0.02
    proof = audited(wrong, np.full(2000, 0.02), 100, 0.95, random)
    assert proof.proved
    assert proof.errors_left >= 100 >= int(wrong.sum()) - proof.fixed
    assert abs(proof.estimate + proof.fixed - wrong.sum()) < 60


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 2])
def test_a_confidence_that_is_none_is_refused(confidence):
    with pytest.raises(UsageError, match="--confidence: got"):
        Certificate(10, 1, confidence)


def test_no_answer_ruins_the_wealth_where_some_items_could_not_be_judged():
    audit = Certificate(100, 30)
    audit.fix(0, unknown=10)
    audit.draw(False, 1 / 90, 1 / 90, stake=1e9, unknown=True)
    assert audit.log_wealth == pytest.approx(np.log(1 - LARGEST))
