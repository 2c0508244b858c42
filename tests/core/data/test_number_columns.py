"""Columns of numbers, many rows at a time, beside words, dates, truth values and missing cells."""

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from hutch import Chain  # noqa: E402
from hutch.core.data import number_columns  # noqa: E402
from hutch.core.errors import DataError  # noqa: E402


def table(rows, wide=40):
    random = np.random.default_rng(0)
    cells = {f"n{k}": random.normal(size=rows) for k in range(wide)}
    found = {name: pa.array(values, mask=random.random(rows) < 0.2) for name, values in cells.items()}
    found["flag"] = pa.array((random.random(rows) < 0.5).tolist())
    found["word"] = pa.array([None if k % 5 == 0 else f"w{k % 3}" for k in range(rows)])
    found["whole"] = pa.array(random.integers(9, size=rows), pa.int16())
    found["text number"] = pa.array([f"{k % 4}" for k in range(rows)])
    return pa.table(found)


@pytest.mark.parametrize("together", [50, 1000, 1 << 22])
def test_batches_are_those_of_the_rows(together, monkeypatch):
    monkeypatch.setattr(number_columns, "_TOGETHER", together)
    monkeypatch.setattr("hutch.core.data.arrow.FEATURES_PER_BATCH", 500)
    row = {"covariance": "moments", "loss": "squared", "features": "named", "namespace": "", "dimension": 60}
    chain, rows = Chain.from_config({"chain": [{"bayesian_linear": row}]}), table(97)
    found = list(chain.batches(rows.slice(3)))
    assert len(found) > 5
    wanted = chain.batches([{"": {n: float(v) if isinstance(v, bool) else v for n, v in row.items() if v is not None}}
                            for row in rows.slice(3).to_pylist()])  # fmt: skip
    [whole] = wanted
    np.testing.assert_array_equal(np.concatenate([batch.indices for batch in found]), whole.indices)
    np.testing.assert_array_equal(np.concatenate([batch.values for batch in found]), whole.values)


def test_a_number_beyond_32_bits_is_refused_with_its_place():
    rows = table(30).append_column("big", pa.array([1.0] * 22 + [1e300] + [1.0] * 7))
    with pytest.raises(DataError, match="<table>:23: column 'big': got inf"):
        list(Chain.from_config({"chain": ["linear"]}).batches(rows))


def test_a_wide_frame_of_numbers_is_the_table_that_arrow_makes():
    pd = pytest.importorskip("pandas")
    from hutch.arrow_tables import table_of

    for kind in (np.float64, np.float32, np.int64):
        values = np.arange(6 * 200).reshape(6, 200).astype(kind)
        frame = pd.DataFrame(values, columns=[f"c{k}" for k in range(200)], index=[5, 4, 3, 2, 1, 0])
        if kind != np.int64:
            frame.iloc[2, 7] = np.nan
        ours, theirs = table_of(frame), pa.Table.from_pandas(frame, preserve_index=False)
        assert ours.schema.equals(theirs.schema)
        wide, narrow = (next(iter(Chain.from_config({"chain": ["linear"]}).batches(each))) for each in (ours, theirs))
        np.testing.assert_array_equal(wide.values, narrow.values)
        np.testing.assert_array_equal(wide.indices, narrow.indices)
