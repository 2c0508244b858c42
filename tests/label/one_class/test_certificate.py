"""The certificate for one class: exact by enumeration of every truth and every order of draws, and at every look."""

from itertools import product

import numpy as np
import pytest

from hutch.core.errors import UsageError
from hutch.label.certificate import LARGEST
from hutch.label.one_class.certificate import ClassCertificate
from hutch.label.one_class.promise import MEASURES, Promise

Draw = tuple[int, float, float]


def chance_of_a_false_proof(truth, claimed, promise, weights, stake, confidence, unknown=()):
    """The exact probability that the promise is proved while it is broken, over all orders of draws."""
    items = len(truth)

    def replay(draws):
        proof = ClassCertificate(promise, sum(claimed), items - sum(claimed), confidence=confidence)
        for item, chance, largest in draws:
            proof.draw(bool(claimed[item]), None if item in unknown else bool(truth[item]), chance, largest, stake)
        return proof

    def value(left, draws):
        stays = [item for item in range(items) if item in left or item in unknown]
        seen = [item for item, _, _ in draws if item not in unknown]
        false = sum(claimed[item] and not truth[item] for item in stays)
        missed = sum(truth[item] and not claimed[item] for item in stays)
        delivered = sum(claimed[item] for item in stays) + sum(truth[item] for item in seen)
        return delivered, promise.value(delivered, false, missed)

    def walk(left, draws, chance):
        proof = replay(draws)
        delivered, now = value(left, draws)
        assert proof.delivered == delivered
        if proof.proved:
            assert proof.low >= promise.level - 1e-9
            return chance if now < promise.level - 1e-9 else 0.0
        assert proof.low < promise.level + 1e-9
        total = sum(weights[item] for item in left)
        largest = max((proof.cost(bool(claimed[item])) * total / weights[item] for item in left), default=0.0)
        return sum(
            walk([other for other in left if other != item], [*draws, (item, weights[item] / total, largest)],
                 chance * weights[item] / total)
            for item in left
        )  # fmt: skip

    return walk(list(range(items)), [], 1.0)


@pytest.mark.parametrize("measure", MEASURES)
def test_no_truth_makes_a_false_proof_likelier_than_allowed(measure):
    random, worst, several = np.random.default_rng(3), 0.0, 0
    for claimed in ((0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 1, 1), (1, 1, 1, 1)):
        for truth in product((0, 1), repeat=4):
            for level in (0.4, 0.6):
                weights = random.random(4) + 0.2
                found = chance_of_a_false_proof(truth, claimed, Promise(measure, level), weights, 1e9, 0.6)
                worst, several = max(worst, found), several + (found > 0)
    assert worst <= 0.4 + 1e-12
    assert several > 0 and worst > 0.1  # it is put to the test


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
def test_no_truth_of_five_items_with_one_that_nobody_can_judge(measure):
    random, worst = np.random.default_rng(4), 0.0
    for claimed in ((0, 0, 0, 0, 0), (0, 0, 0, 1, 1), (0, 1, 1, 1, 1)):
        for rest in product((0, 1), repeat=4):
            truth = (1 - claimed[0], *rest)  # what nobody can judge counts as an error
            weights = random.random(5) + 0.1
            worst = max(worst, chance_of_a_false_proof(truth, claimed, Promise(measure, 0.6), weights, 1e9, 0.6, (0,)))
    assert worst <= 0.4 + 1e-12


def test_each_bet_is_fair_if_errors_cost_just_so_much():
    promise, claimed, truth = Promise("recall", 0.8), [1, 1, 0, 0, 0], [1, 0, 0, 1, 0]
    weights = np.array([0.3, 0.2, 1.0, 0.7, 0.9])
    chance = weights / weights.sum()
    cost = promise.false + promise.missed
    growth = []
    for item in range(5):
        proof = ClassCertificate(promise, 2, 3)
        proof.draw(bool(claimed[item]), bool(truth[item]), chance[item], 1 / chance.min(), 0.02)
        growth.append(np.exp(proof._log_wealth(cost)))
    assert float(chance @ growth) == pytest.approx(1) and max(growth) > 1 > min(growth)


def test_an_item_that_is_found_allows_more_and_one_that_cannot_be_judged_does_not():
    found, lost = (ClassCertificate(Promise("recall", 0.9), 0, 1000, found=100) for _ in range(2))
    for _ in range(5):
        found.answer(False, True)
        lost.answer(False, None)
    before = ClassCertificate(Promise("recall", 0.9), 0, 995, found=100, lost=(0, 5))
    for proof in (found, lost, before):
        for draw in range(100):
            proof.draw(False, False, 1 / (995 - draw), 0.9 * (995 - draw), 1.0)
    assert found.log_wealth > 1.5 * lost.log_wealth > 0
    assert (found.delivered, lost.delivered) == (105, 100)
    assert lost.log_wealth <= before.log_wealth < found.log_wealth  # not drawn, they are no part of what is bet on
    assert 5 < found.missed < lost.missed and before.missed > 5


def test_even_audits_without_a_hit_prove_as_soon_as_counting_does():
    promise = Promise("recall", 0.9)
    proof, missed = ClassCertificate(promise, 0, 500, found=45), 6  # 5 may be missed
    while not proof.proved:
        left = 500 - proof.audited
        proof.draw(False, False, 1 / left, 0.9 * left, 1.0)
    chance = np.prod([(500 - missed - k) / (500 - k) for k in range(proof.audited)])
    assert chance <= 0.05 < chance * 1.12  # hypergeometric, but for the share of the wealth that is kept


def test_no_answer_ruins_the_wealth():
    proof = ClassCertificate(Promise("recall", 0.9), 0, 100, found=90)
    proof.draw(False, True, 1 / 100, 90.0, stake=1e9)
    assert proof._log_wealth(0.9 * 11) == pytest.approx(np.log(1 - LARGEST))


def test_what_is_left_is_trivially_right():
    proof = ClassCertificate(Promise("precision", 0.9), claimed=100, unclaimed=900)
    for _ in range(89):
        assert not proof.proved
        proof.answer(True, True)
    proof.answer(True, True)
    assert proof.proved and proof.low == pytest.approx(0.9) and proof.false == 10


@pytest.mark.parametrize("confidence", [0, 1, 2])
def test_a_confidence_that_is_none_is_refused(confidence):
    with pytest.raises(UsageError, match="--confidence: got"):
        ClassCertificate(Promise("recall", 0.9), 0, 10, confidence=confidence)


def test_what_is_proved_stays_proved():
    proof = ClassCertificate(Promise("recall", 0.9), 0, 400, found=180)
    while not proof.proved:
        left = 400 - proof.audited
        proof.draw(False, False, 1 / left, 0.9 * left, 1.0)
    left = 400 - proof.audited
    proof.draw(False, True, 1 / left, 0.9 * left, 1.0)  # one find later costs wealth, and is one the fewer missed
    assert proof.log_wealth < proof.needed and proof.proved
    assert proof.low >= 0.9 - 1e-9 and proof.missed == 20
