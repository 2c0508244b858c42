import numpy as np
import pytest

from hutch.crowd.requests import best_worker, entropy, pool, worker_value

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


def test_informative_and_unknown_workers_are_preferred():
    spammer, expert = np.full((2, 2), 0.5), np.array([[0.99, 0.01], [0.01, 0.99]])
    adversary = expert[::-1]
    value = worker_value(np.array([spammer, expert, adversary, expert]), np.array([0.5, 0.5]), np.array([9, 9, 9, 0]))
    assert value[0] < value[1] == value[2] < value[3]


def test_entropy_of_certainty_is_zero():
    assert entropy(np.array([0.0, 1.0, 0.0])) == 0


def test_only_workers_at_hand_are_asked():
    expert = np.array([[0.99, 0.01], [0.01, 0.99]])
    rows = np.array([np.full((2, 2), 0.5), expert, expert])
    assert best_worker(np.array([0, 2]), rows, np.array([0.5, 0.5]), np.array([9, 9, 9])) == 2
