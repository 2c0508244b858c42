"""The loop for one class keeps its promises, for less than labelling everything, and says what it proved."""

import numpy as np
import pytest

from hutch.core.errors import UsageError
from hutch.label.loop import Settings
from hutch.label.market import UNKNOWN, Hidden, Seller
from hutch.label.one_class.certificate import ClassCertificate
from hutch.label.one_class.loop import ClassLoop
from hutch.label.one_class.plan import plan_class
from hutch.label.one_class.promise import Promise, promises_of
from hutch.label.one_class.simulate import least_labels, planned_costs, reached
from hutch.label.posterior import Votes

PEOPLE = Seller("people", 1.0)
JUDGES = [Seller("judge", 0.001)]


def world(items, rate, seed, apart=2.5, plain=False):
    """Items of which few are of class 1, and the votes of a judge who sees them through noise."""
    random = np.random.default_rng(seed)
    truth = (random.random(items) < rate).astype(np.int32)
    seen = random.normal(size=items) + (truth - 0.5) * apart
    p = 1 / (1 + np.exp(-(apart * seen + np.log(rate / (1 - rate)))))
    label = (p > 0.5).astype(np.int32)[:, None]
    said = np.full((items, 1), np.nan) if plain else np.clip(np.maximum(p, 1 - p), 0.5, 0.99999)[:, None]
    return truth, [Votes(label, said, np.zeros((items, 1), np.int32))]


def run(target, items=1500, rate=0.1, seed=0, judges=JUDGES, truth=None, **options):
    known, votes = world(items, rate, seed, plain=options.pop("plain", False))
    truth = known if truth is None else truth(known)
    market = Hidden(judges, PEOPLE, votes if judges else [], truth)
    settings = Settings(0.5, seed=seed, **options)
    promises = promises_of(target)
    loop = ClassLoop(items, 2, judges, PEOPLE, market, settings, promises=promises, positive=1)
    return loop.find(), market, truth, known


def values(outcome, truth):
    """Recall, precision and F1 of what is delivered; what nobody can judge counts against them."""
    said, true = outcome.label == 1, truth == 1
    missed = int(((truth == UNKNOWN) & ~said).sum() + (true & ~said).sum())
    right, delivered = int((said & true).sum()), int(said.sum())
    return {
        name: Promise(name, 0.5).value(delivered, delivered - right, missed) for name in ("recall", "precision", "f1")
    }


@pytest.mark.parametrize("target", ["recall=0.9", "precision=0.9", "f1=0.85", "recall=0.9,precision=0.9"])
def test_promises_are_kept_for_less_than_everything(target):
    bills = []
    for seed in range(6):
        outcome, market, truth, _ = run(target, seed=seed, rate=0.2)
        found = values(outcome, truth)
        for kept in outcome.kept:
            assert found[kept.promise.measure] >= kept.low - 1e-9 and kept.low >= kept.promise.level - 1e-9
        assert outcome.state == "proved" and outcome.delivered == (outcome.label == 1).sum()
        assert outcome.found == ((truth == 1) & outcome.checked).sum()
        if "recall" in target:
            assert outcome.missed >= ((truth == 1) & (outcome.label != 1)).sum()
        assert outcome.spent == pytest.approx(market.spent)
        bills.append(market.bought[-1] / 1500)
    assert np.mean(bills) < 0.7


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("target", ["recall=0.8", "precision=0.8", "f1=0.8"])
@pytest.mark.parametrize("plain", [False, True])
def test_promises_are_broken_at_most_as_often_as_is_allowed(rate, target, plain):
    held = []
    for seed in range(60):
        outcome, _, truth, _ = run(target, 1000, rate, seed, confidence=0.8, plain=plain)
        found = values(outcome, truth)
        held.append(all(found[kept.promise.measure] >= kept.low - 1e-9 for kept in outcome.kept))
    assert np.mean(held) >= 0.8 - 3 * np.sqrt(0.16 / 60)


def test_without_judges_only_people_deliver():
    outcome, market, truth, _ = run("recall=0.8", 600, 0.3, judges=[])
    assert (outcome.label[~outcome.checked] == 0).all() and outcome.false == 0
    assert values(outcome, truth)["recall"] >= 0.8 and market.bought[-1] < 600


def test_items_that_nobody_can_judge_count_against_the_promise():
    def hide(truth):
        return np.where(np.random.default_rng(5).random(len(truth)) < 0.02, UNKNOWN, truth).astype(np.int32)

    outcome, _, truth, _ = run("recall=0.8", rate=0.2, truth=hide)
    assert values(outcome, truth)["recall"] >= outcome.kept[0].low - 1e-9
    hopeless, _, _, _ = run("recall=0.9", rate=0.2, truth=lambda truth: np.full(len(truth), UNKNOWN, np.int32))
    assert hopeless.state == "all" and hopeless.kept[0].low < 0.6


def test_a_class_that_no_item_has_needs_all_labels_and_says_so():
    outcome, market, _, _ = run("recall=0.9", 200, truth=lambda truth: np.zeros(len(truth), np.int32))
    assert outcome.state == "all" and outcome.found == 0
    assert market.bought[-1] == 200 or outcome.delivered > 0


def test_money_that_is_too_little_leaves_a_smaller_promise_and_says_how_far_it_reaches():
    outcome, market, truth, _ = run("recall=0.95", 2000, 0.2, budget=200)
    assert outcome.state == "money" and market.spent <= 200
    assert outcome.kept[0].low < 0.95 and values(outcome, truth)["recall"] >= outcome.kept[0].low
    assert outcome.reachable is not None and 0 < outcome.reachable < 0.95
    level = round(outcome.reachable - 0.1, 2)
    less, _, truth, _ = run(f"recall={level}", 2000, 0.2, budget=200)
    assert less.state == "proved" and less.kept[0].low >= level - 1e-9


def test_the_same_seed_buys_the_same():
    (first, one, _, _), (second, two, _, _) = (run("f1=0.8", seed=4) for _ in range(2))
    assert one.bought == two.bought and (first.label == second.label).all() and first.kept == second.kept


def test_a_plan_looks_first_at_the_likeliest_and_asks_for_less_where_less_is_promised():
    random = np.random.default_rng(0)
    p, claimed = random.beta(0.1, 2, 2000), random.random(2000) < 0.1
    plans = {}
    for level in (0.95, 0.9, 0.8):
        proof = ClassCertificate(Promise("recall", level), int(claimed.sum()), int((~claimed).sum()), found=50)
        plans[level] = plan_class(p, claimed, proof, 0.7)
        first = plans[level].order[: plans[level].fixes]
        assert not claimed[first].any() and (np.diff(p[first]) <= 1e-9).all()
    assert plans[0.95].labels > plans[0.9].labels > plans[0.8].labels


@pytest.mark.slow
def test_a_plan_before_anything_is_bought_is_near_the_bill_where_its_guess_is_right():
    _, votes = world(1500, 0.2, 3)
    settings, promises = Settings(0.5), promises_of("recall=0.9")
    costs = planned_costs(1500, 2, [], PEOPLE, settings, votes, promises, 1)
    outcome, market, _, _ = run("recall=0.9", rate=0.2, seed=3)
    low, high = sorted(costs.values())
    assert 0.6 * low < market.spent < 1.3 * high
    guessed = planned_costs(1500, 2, JUDGES, PEOPLE, settings, [], promises, 1)
    assert [text.split()[1] for text in guessed] == ["1%", "5%", "20%"]
    level = reached(0.5 * low, 1500, 2, [], PEOPLE, settings, votes, promises, 1)
    assert level is not None and level < 0.9


def texts(items, rate, seed):
    """Sorted documents, those of the class last, and the words of each."""
    random = np.random.default_rng(seed)
    truth = np.sort((random.random(items) < rate).astype(np.int32))
    start = np.where(truth, 40, 0)[:, None]
    words = np.concatenate(
        [random.integers(0, 200, (items, 15)), 200 + start + random.integers(0, 60, (items, 4))], axis=1
    )
    return truth, ["|t " + " ".join(map(str, row)) for row in words.tolist()]


def test_words_find_the_class_with_fewer_labels_than_no_words():
    bills = {}
    for name in ("words", "none"):
        bills[name] = []
        for seed in range(4):
            truth, words = texts(2000, 0.15, seed)
            market = Hidden([], PEOPLE, [], truth)
            loop = ClassLoop(
                2000, 2, [], PEOPLE, market, Settings(0.5, seed=seed),
                promises=promises_of("recall=0.8"), positive=1, words=words if name == "words" else None,
            )  # fmt: skip
            outcome = loop.find()
            assert values(outcome, truth)["recall"] >= outcome.kept[0].low >= 0.8 - 1e-9
            bills[name].append(outcome.spent)
    assert np.mean(bills["words"]) < 0.65 * np.mean(bills["none"])
    assert np.mean(bills["words"]) > least_labels(2000, 0.15, promises_of("recall=0.8"), 0.95)


def test_what_needs_no_proof_is_refused():
    with pytest.raises(UsageError, match="--target: got precision 0.9 without judges, wanted recall"):
        run("precision=0.9", judges=[])
    outcome, _, truth, _ = run("recall=0.8,precision=0.9", 600, 0.3, judges=[])
    assert values(outcome, truth)["precision"] == 1 and outcome.kept[1].low == 1


@pytest.mark.parametrize(("judges", "level"), [(JUDGES, 0.95), ([], 0.9)])
def test_two_promises_share_the_probability_of_being_wrong(judges, level):
    promises = promises_of("recall=0.8,precision=0.8")  # without judges the second needs no proof
    market = Hidden(judges, PEOPLE, [], np.zeros(50, np.int32))
    loop = ClassLoop(50, 2, judges, PEOPLE, market, Settings(0.5, 0.9), promises=promises, positive=1)
    assert loop.level == pytest.approx(level)
