"""Frames of pandas as Arrow tables: types of pandas' own are words, and the same words for one row."""

import uuid
from typing import Any

import numpy as np
import pytest

from hutch.arrow_tables import table_of
from hutch.sklearn import HutchRegressor

pd = pytest.importorskip("pandas")


def columns() -> dict[str, Any]:
    return {
        "intervals of cut": pd.cut(np.arange(8) % 4 + 0.5, [0, 1, 2, 3]),  # the last of four is none of them
        "intervals": pd.Series(pd.interval_range(0, 4)).repeat(2).reset_index(drop=True),
        "periods": pd.Series(pd.period_range("2026-01", periods=4, freq="M")).repeat(2).reset_index(drop=True),
        "uuids": pd.Series([uuid.UUID(int=k % 4) for k in range(8)]),
    }


@pytest.mark.parametrize("name", columns())
def test_types_of_pandas_own_are_words(name: str) -> None:
    frame = pd.DataFrame({"c": columns()[name], "x": np.arange(8.0)})
    found = table_of(frame)
    assert [None if pd.isna(value) else str(value) for value in frame.c] == found.column("c").to_pylist()
    assert found.column("x").to_pylist() == list(range(8))


@pytest.mark.parametrize("name", columns())
def test_estimators_learn_them_and_read_one_row_as_many(name: str) -> None:
    frame = pd.DataFrame({"c": columns()[name], "x": np.arange(8.0) % 3})
    frame = pd.concat([frame] * 20, ignore_index=True)
    y = pd.factorize(frame.c)[0] * 1.0
    model = HutchRegressor().fit(frame, y)
    found = model.predict(frame)
    assert np.abs(found - y).max() < 0.1
    assert model.predict(frame.iloc[[3]]) == pytest.approx(found[3:4], rel=1e-6)
