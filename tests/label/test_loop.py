"""The loop keeps its guarantee and its budget; posteriors and plans against plain twins."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from hutch.core.errors import UsageError
from hutch.label.loop import Loop, Settings, vote_gain
from hutch.label.market import UNKNOWN, Hidden, Seller
from hutch.label.plan import plan
from hutch.label.posterior import Votes, fit_logit, posterior
from hutch.label.simulate import cascade, compare, invented, simulated

JUDGES, PEOPLE = [Seller("cheap", 0.002), Seller("dear", 0.04)], Seller("people", 1.0)


def run(world, settings, judges=JUDGES, people=PEOPLE, truth=None):
    truth = world.truth if truth is None else truth
    market = Hidden(judges, people, world.votes, truth)
    return Loop(len(truth), world.classes, judges, people, market, settings).run(), market


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("errors", ["calibrated", "miscalibrated", "common"])
def test_the_promise_is_kept(classes, errors):
    held, bills = [], []
    for seed in range(15):
        world = simulated(600, [0.75, 0.9], classes, errors, [seed, classes])
        outcome, market = run(world, Settings(0.9, seed=seed))
        right = np.mean(outcome.label == world.truth)
        held.append(right >= 0.9 and right >= outcome.low)
        bills.append(outcome.spent / 600)
        assert outcome.state in ("proved", "all") and outcome.low >= 0.9 - 1e-9
        assert outcome.spent == pytest.approx(market.spent)
        assert (outcome.label[outcome.checked] == world.truth[outcome.checked]).all()
    assert np.mean(held) >= 0.93
    assert np.mean(bills) < (0.5 if errors != "common" else 0.9)


def test_more_than_two_judges_with_plain_votes_and_no_judge_at_all():
    world = simulated(800, [0.75, 0.8, 0.85, 0.9], 3, "calibrated", 5)
    plain = [Votes(each.label, np.full_like(each.probability, np.nan), each.worker) for each in world.votes]
    judges = [Seller(f"j{k}", 0.01 * (k + 1)) for k in range(4)]
    market = Hidden(judges, PEOPLE, plain, world.truth)
    outcome = Loop(800, 3, judges, PEOPLE, market, Settings(0.9)).run()
    assert np.mean(outcome.label == world.truth) >= 0.9 and outcome.spent < 600
    nobody = Hidden([], PEOPLE, [], world.truth)
    alone = Loop(800, 3, [], PEOPLE, nobody, Settings(0.9)).run()
    assert np.mean(alone.label == world.truth) >= 0.9 and alone.spent <= 800


def test_items_that_people_cannot_judge_count_as_errors():
    world = simulated(500, [0.9, 0.95], seed=2)
    truth = np.where(np.random.default_rng(0).random(500) < 0.03, UNKNOWN, world.truth).astype(np.int32)
    outcome, _ = run(world, Settings(0.9), truth=truth)
    assert np.mean(outcome.label == truth) >= 0.9 - 1e-9  # an unknown item is never right
    hopeless = np.full(500, UNKNOWN, np.int32)
    hopeless[:300] = world.truth[:300]
    outcome, _ = run(world, Settings(0.9), truth=hopeless)
    assert outcome.low <= 0.7


def test_money_that_is_gone_leaves_a_smaller_promise_and_one_that_is_too_little_is_refused():
    world = simulated(2000, [0.7, 0.8], 2, "common", 1)
    outcome, market = run(world, Settings(0.95, budget=400))
    assert outcome.state == "money" and market.spent <= 400
    assert outcome.low < 0.95 and np.mean(outcome.label == world.truth) >= outcome.low
    with pytest.raises(UsageError, match="--budget: got 3, wanted at least"):
        run(world, Settings(0.95, budget=3))


def test_the_estimate_is_near_the_truth_also_after_few_audits():
    errors = []
    for seed in range(20):
        world = simulated(2000, [0.8, 0.93], 2, "calibrated", [seed, 5])
        outcome, _ = run(world, Settings(0.95, budget=150, seed=seed))
        errors.append(outcome.accuracy - np.mean(outcome.label == world.truth))
    assert outcome.state == "money" and np.sqrt(np.mean(np.square(errors))) < 0.035 and abs(np.mean(errors)) < 0.015


def test_the_same_seed_buys_the_same_and_gives_the_same():
    world = simulated(500, [0.8, 0.9], seed=4)
    (first, one), (second, two) = (run(world, Settings(0.9, seed=8)) for _ in range(2))
    assert one.bought == two.bought and (first.label == second.label).all() and first.low == second.low


def test_a_conditional_logit_is_the_maximum_of_its_likelihood():
    random = np.random.default_rng(0)
    design, truth = random.normal(size=(40, 3, 4)) * 3, random.integers(0, 3, 40)
    ridge, start = np.array([0.1, 1, 2, 5]), np.array([0.5, 0, -1, 0])

    def loss(b):
        z = design @ b
        return np.sum(np.logaddexp.reduce(z, axis=1) - z[np.arange(40), truth]) + 0.5 * ridge @ (b - start) ** 2

    assert fit_logit(design, ridge, start, truth) == pytest.approx(minimize(loss, start, tol=1e-10).x, abs=1e-3)


def test_posteriors_of_votes_are_better_than_the_best_judge_and_than_knowing_nothing():
    world = simulated(3000, [0.8, 0.85], 3, "miscalibrated", 6)
    known = np.arange(60)
    q = posterior(world.votes, 3, known, world.truth[known])
    log_loss = -np.log(q[np.arange(3000), world.truth]).mean()
    best = max((each.label[:, 0] == world.truth).mean() for each in world.votes)
    assert (q.argmax(axis=1) == world.truth).mean() > best + 0.01
    assert log_loss < 0.6 * -sum(f * math.log(f) for f in np.bincount(world.truth) / 3000)


def test_a_plan_gives_the_worst_items_to_people_and_asks_less_the_surer_it_is():
    random = np.random.default_rng(0)
    p = random.beta(0.2, 2, 1000)
    costs = [plan(p * scale, 50, 3.7).labels for scale in (1.0, 0.7, 0.4)]
    assert costs == sorted(costs, reverse=True) and costs[0] < 950
    assert plan(p, 50, 3.7).threshold == np.sort(p)[::-1][plan(p, 50, 3.7).fixes]


def test_a_plan_counts_on_the_votes_that_are_there():
    world, settings = simulated(600, [0.85, 0.85], seed=3), Settings(0.9)
    votes = [Votes(each.label, np.full(each.label.shape, np.nan), each.worker) for each in world.votes]
    without, given = (invented(600, 2, [], PEOPLE, settings, some) for some in ((), votes))
    paid = Loop(600, 2, [], PEOPLE, Hidden([], PEOPLE, [], world.truth), settings, votes).run().spent
    assert given[0] < paid < given[1] <= without[1]
    assert given[0] < 0.9 * without[0]


def test_the_gain_of_a_vote_is_that_of_drawing_it():
    random, p, skill, star, classes = np.random.default_rng(1), 0.3, 0.8, 0.4, 3
    truth = np.where(random.random(200_000) < p, 1 + random.integers(0, 2, 200_000), 0)  # the label is 0
    said = np.where(random.random(len(truth)) < skill, truth, (truth + 1 + random.integers(0, 2, len(truth))) % 3)
    after = np.empty(3)
    for vote in range(3):
        q = np.array([1 - p, p / 2, p / 2]) * np.where(np.arange(3) == vote, skill, (1 - skill) / 2)
        after[vote] = 1 - q.max() / q.sum()
    drawn = min(1, p / star) - np.minimum(1, after[said] / star).mean()
    assert vote_gain(np.array([p]), np.array([skill]), star, classes)[0] == pytest.approx(drawn, abs=0.01)


def test_a_cascade_keeps_its_own_promise():
    held = []
    for seed in range(40):
        world = simulated(1000, [0.9], seed=[seed, 3])
        label, sure = world.votes[0].label[:, 0], world.votes[0].probability[:, 0]
        asked, wrong = cascade(label, sure, world.truth, 0.9, 0.95, 200, np.random.default_rng(seed))
        held.append(wrong <= 100)
        assert 0 < asked <= 1000
    assert np.mean(held) >= 0.9


def test_it_is_cheaper_than_cascades_random_audits_and_people():
    found = compare(lambda r: simulated(2000, [0.8, 0.93], seed=[r, 9]), JUDGES, PEOPLE, Settings(0.9), 6)
    assert list(found) == ["hutch", "random", "cascade", "cascade with credit", "majority", "people"]
    assert found["hutch"].bill < 0.8 * found["cascade"].bill and found["hutch"].bill < found["random"].bill
    assert found["people"].share == 1 and found["hutch"].held == 1
    assert found["hutch"].within >= 5 / 6 > 0.5 > abs(found["hutch"].plan - 1)


def test_nothing_is_bought_that_the_budget_does_not_cover():
    world = simulated(500, [0.75, 0.9], 2, "calibrated", 4)
    market = Hidden(JUDGES, PEOPLE, world.votes, world.truth)
    with pytest.raises(UsageError, match="--budget"):
        Loop(500, world.classes, JUDGES, PEOPLE, market, Settings(0.9, budget=1e-4)).run()
    assert market.spent == 0
