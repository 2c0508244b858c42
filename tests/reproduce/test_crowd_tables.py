import json

from hutch.reproduce.crowd_tables import reproduce_priors


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
