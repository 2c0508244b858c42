import numpy as np
import pytest

from hutch.reproduce.simulate import simulate_ratings


def test_a_task_is_rated_by_different_raters() -> None:
    ratings = simulate_ratings(tasks=500, per_task=5, raters=20, seed=1)
    assert len(ratings) == 2500
    assert len({(task, rater) for task, rater in zip(ratings.tasks, ratings.raters, strict=True)}) == 2500
    assert np.bincount(ratings.tasks).tolist() == [5] * 500


def test_everyone_rates_everything_if_there_is_no_choice() -> None:
    ratings = simulate_ratings(tasks=4, per_task=3, raters=3)
    assert np.bincount(ratings.raters).tolist() == [4, 4, 4]
    with pytest.raises(ValueError, match="got 4 raters per task, wanted at most 3"):
        simulate_ratings(tasks=1, per_task=4, raters=3)


def test_the_seed_settles_everything() -> None:
    first, second, other = (simulate_ratings(tasks=50, seed=seed) for seed in (7, 7, 8))
    assert first.examples() == second.examples() != other.examples()


def test_the_size_and_the_difficulty_of_the_defaults() -> None:
    ratings = simulate_ratings()
    assert len(ratings) == 50_000 and set(ratings.labels.tolist()) == {1, 2, 3, 4, 5}
    assert 1 - np.bincount(ratings.labels).max() / len(ratings) == pytest.approx(0.70, abs=0.02)
    assert np.mean(ratings.labels != ratings.truth[ratings.tasks]) == pytest.approx(0.16, abs=0.02)


def test_good_raters_are_right_more_often() -> None:
    ratings = simulate_ratings(tasks=4000, per_task=5, raters=20, seed=2)
    right = ratings.labels == ratings.truth[ratings.tasks]
    accuracy = np.bincount(ratings.raters, right) / np.bincount(ratings.raters)
    assert accuracy.max() - accuracy.min() > 0.15


def test_text_of_a_part() -> None:
    part = simulate_ratings(tasks=3, per_task=2, raters=5)[:2]
    lines, table = part.examples().decode().splitlines(), part.table().decode().splitlines()
    for i in range(2):
        assert lines[i] == f"{part.labels[i]} |rater r{part.raters[i]} |task t{part.tasks[i]}"
        assert table[i] == f"r{part.raters[i]}\tt{part.tasks[i]}\t{part.labels[i]}"
