import json

import numpy as np
import pytest

from hutch.crowd.simulate import simulate
from hutch.reproduce.crowd import model_table, prior_trajectories, reproduce_priors, size_run, slots_curve


@pytest.mark.parametrize("decay", [0.5, 1.0])
def test_sparse_priors_follow_the_dense_ones_and_frozen_means_do_not(decay):
    found = prior_trajectories(decay)
    np.testing.assert_allclose(found["sparse"], found["dense"], atol=1e-12)
    assert np.abs(found["mean frozen"] - found["dense"]).max() > 1e-3


def test_the_auxiliary_function_rises():
    lines = []
    found = size_run(lines.append, items=200, passes=5)
    assert found["last"] > found["first"]
    assert lines[-1].split()[2] == "1000"
    assert found["accuracy"] > 0.5


def test_tables_of_models_and_slots():
    crowd = simulate(500, 50, 3, 4, seed=5)
    table = {name: score for name, score, _ in model_table(crowd)}
    assert table["two_level"] > table["vote share"]
    points = slots_curve(crowd, (1, 64))
    assert points[1]["two_level"] > points[0]["two_level"]


def test_priors_as_table_and_json(capsys):
    reproduce_priors(None, json=False)
    assert "largest distance from dense: sparse" in capsys.readouterr().out
    reproduce_priors(None, json=True)
    rows = json.loads(capsys.readouterr().out)["priors"]
    assert [row["decay"] for row in rows] == [0.5, 0.8, 1.0]
    assert all(row["sparse_error"] < 1e-12 < row["frozen_error"] for row in rows)


def test_priors_are_drawn(tmp_path, capsys):
    reproduce_priors(tmp_path / "new" / "plots", json=True)
    capsys.readouterr()
    assert {path.name for path in (tmp_path / "new" / "plots").iterdir()} == {
        f"priors-{d}.png" for d in (0.5, 0.8, 1.0)
    }
