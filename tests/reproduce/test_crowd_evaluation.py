import pytest

from hutch.crowd.simulate import simulate
from hutch.reproduce.crowd_evaluation import model_table, prior_trajectories, size_run, slots_curve


@pytest.mark.parametrize("decay", [0.5, 1.0])
def test_sparse_priors_follow_the_dense_ones_and_frozen_means_do_not(decay):
    found = prior_trajectories(decay)
    assert found.sparse_error < 1e-12
    assert found.frozen_error > 1e-3


def test_the_auxiliary_function_rises():
    lines = []
    found = size_run(lines.append, items=200, passes=5)
    assert found.last > found.first
    assert lines[-1].split()[2] == "1000"
    assert found.accuracy > 0.5


def test_tables_of_models_and_slots():
    crowd = simulate(500, 50, 3, 4, seed=5)
    table = {name: score for name, score, _ in model_table(crowd)}
    assert table["two_level"] > table["vote share"]
    points = slots_curve(crowd, (1, 64))
    assert points[1].two_level > points[0].two_level
