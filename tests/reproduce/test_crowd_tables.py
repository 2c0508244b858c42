import json
import sys

import pytest

from hutch.core.errors import UsageError
from hutch.reproduce.crowd_tables import reproduce_priors


def test_priors_as_table_and_json(capsys):
    reproduce_priors(None, json=False)
    assert "largest distance from dense: sparse" in capsys.readouterr().out
    reproduce_priors(None, json=True)
    rows = json.loads(capsys.readouterr().out)["priors"]
    assert [row["decay"] for row in rows] == [0.5, 0.8, 1.0]
    assert all(row["sparse_error"] < 1e-12 < row["frozen_error"] for row in rows)


def test_plots_without_matplotlib_is_a_usage_error(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match="needs matplotlib"):
        reproduce_priors(tmp_path, json=True)
