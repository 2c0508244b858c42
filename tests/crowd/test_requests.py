import numpy as np
import pytest

from hutch.crowd.requests import ask_more, ask_pool, best_worker, entropy, pool, worker_value

ROW = np.array([[0.9, 0.1], [0.2, 0.8]])


def test_gain_is_the_mutual_information():
    posterior, g, habit = np.array([[0.7, 0.3], [0.5, 0.5]]), np.array([1.0, 0.25]), np.array([0.6, 0.4])
    found = pool(posterior, np.array([1, 2]), ROW, g, habit)
    for i in range(2):
        rows = g[i] * ROW + (1 - g[i]) * habit
        joint = posterior[i][:, None] * rows
        expected = np.sum(joint * np.log(joint / np.outer(posterior[i], joint.sum(axis=0))))
        assert found.gain[i] == pytest.approx(expected, rel=1e-3)
    assert found.score == pytest.approx([0.3 / 2, 0.5 / 3])


def test_next_are_doubtful_and_unsettled_are_hopeless():
    posterior = np.array([[0.99, 0.01], [0.6, 0.4], [0.5, 0.5], [0.55, 0.45]])
    informative = np.array([1.0, 1.0, 1.0, 0.01])
    found = pool(posterior, np.array([3, 3, 3, 3]), ROW, informative, np.array([0.5, 0.5]))
    assert found.next(2).tolist() == [2, 1]
    assert found.next(10).tolist() == [2, 1, 0]
    assert found.unsettled(5).tolist() == [3]


def test_fewer_labels_come_first():
    found = pool(np.full((2, 2), 0.5), np.array([5, 1]), ROW, np.ones(2), np.array([0.5, 0.5]))
    assert found.next(1).tolist() == [1]


def test_a_settled_item_needs_nothing():
    found = pool(np.array([[1.0, 0.0]]), np.array([0]), ROW, np.ones(1), np.array([0.5, 0.5]))
    assert (found.gain[0], found.needed[0], found.score[0]) == (0, 0, 0)


def test_empty_pool():
    found = pool(np.zeros((0, 2)), np.zeros(0, int), ROW, np.zeros(0), np.array([0.5, 0.5]))
    assert len(found.next(3)) == len(found.unsettled(3)) == 0


@pytest.mark.parametrize(
    ("best", "labels", "draw", "expected"),
    [
        (0.6, 0, 0.5, True),
        (0.8, 0, 0.5, False),
        (0.6, 7, 0.5, False),
        (0.99, 2, 0.01, True),
        (0.99, 3, 0.01, False),
    ],
)
def test_stream_rule(best, labels, draw, expected):
    posterior = np.array([[best, 1 - best]])
    assert ask_more(posterior, np.array([labels]), np.array([draw])).tolist() == [expected]


def test_informative_and_unknown_workers_are_preferred():
    spammer, expert = np.full((2, 2), 0.5), np.array([[0.99, 0.01], [0.01, 0.99]])
    adversary = expert[::-1]
    value = worker_value(np.array([spammer, expert, adversary, expert]), np.array([0.5, 0.5]), np.array([9, 9, 9, 0]))
    assert value[0] < value[1] == value[2] < value[3]


def test_entropy_of_certainty_is_zero():
    assert entropy(np.array([0.0, 1.0, 0.0])) == 0


def test_a_pool_is_asked_by_doubt_and_by_lot():
    random = np.random.default_rng(0)
    best = random.random(400) / 2 + 0.5
    posterior, counts = np.stack([1 - best, best], axis=1), random.integers(0, 8, 400)
    found = list(ask_pool(posterior, counts, 40, seed=1))
    assert len({asked.item for asked in found}) == len(found) == 40
    assert all(counts[asked.item] < 7 for asked in found)
    score = np.where(counts < 7, (1 - best) / (1 + counts), -1)
    assert [asked.item for asked in found if asked.probability == 1] == np.argsort(-score, kind="stable")[:38].tolist()
    eligible = np.sum(counts < 7)
    assert {asked.probability for asked in found[38:]} == {2 / (eligible - 38)}
    assert all(asked.prediction == 2 and asked.importance == 1 / asked.probability for asked in found)


def test_chances_of_a_pool_are_what_they_say():
    posterior, counts = np.linspace([0.5, 0.5], [0.9, 0.1], 20), np.ones(20, int)
    rounds = [list(ask_pool(posterior, counts, 6, seed, random_share=0.5)) for seed in range(2000)]
    chances = np.bincount([asked.item for some in rounds for asked in some], minlength=20) / 2000
    assert chances[:3].tolist() == [1, 1, 1]
    assert chances[3:] == pytest.approx(np.full(17, 3 / 17), abs=0.04)


def test_an_early_pool_is_asked_by_lot_alone():
    posterior = np.linspace([0.5, 0.5], [0.9, 0.1], 20)
    assert {asked.probability for asked in ask_pool(posterior, np.zeros(20, int), 5, seed=0)} == {0.25}
    assert not list(ask_pool(np.zeros((0, 2)), np.zeros(0, int), 5, seed=0))
    assert not list(ask_pool(posterior, np.full(20, 7), 5, seed=0))


def test_only_workers_at_hand_are_asked():
    expert = np.array([[0.99, 0.01], [0.01, 0.99]])
    rows = np.array([np.full((2, 2), 0.5), expert, expert])
    assert best_worker(np.array([0, 2]), rows, np.array([0.5, 0.5]), np.array([9, 9, 9])) == 2
