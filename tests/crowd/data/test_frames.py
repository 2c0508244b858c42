import numpy as np
import pyarrow as pa
import pytest

from hutch.core.errors import DataError
from hutch.crowd.aggregate import aggregate
from hutch.crowd.data.labels import from_triples
from hutch.sklearn import CrowdAggregator

WORKERS = ["ann", "bob", "cy", "ann", "bob", "cy"]
TASKS, LABELS = [1, 1, 1, 2, 2, 2], [10, 10, 20, 20, 20, 20]
VOTES = list(zip(WORKERS, map(str, TASKS), map(str, LABELS), strict=True))


@pytest.fixture(params=["pyarrow", "pandas", "polars"])
def frame(request):
    table = pa.table({"text": list("abcdef"), "task": TASKS, "worker": WORKERS, "label": LABELS})
    if request.param == "pandas":
        pytest.importorskip("pandas")
        return table.to_pandas().set_index(np.arange(6) * 7 % 11)
    if request.param == "polars":
        return pytest.importorskip("polars").from_arrow(table)
    return table


def column(frame, name):
    if hasattr(frame, "iloc"):
        frame = frame.reset_index()
    values = frame[name]
    return values.to_pylist() if hasattr(values, "to_pylist") else values.to_list()


def test_aggregate_takes_frames_and_gives_them_back(frame):
    found = aggregate(frame)
    tasks, workers = found.tasks(), found.workers()
    assert type(tasks) is type(frame) and type(workers) is type(frame)
    assert (column(tasks, "task"), column(tasks, "label"), column(tasks, "ratings")) == ([1, 2], [10, 20], [3, 3])
    assert column(workers, "worker") == ["ann", "bob", "cy"]
    plain = aggregate(from_triples(VOTES))
    np.testing.assert_array_equal(column(tasks, "q:10"), plain.probability[:, 0])
    assert all(low <= high for low, high in zip(column(workers, "low"), column(workers, "high"), strict=True))
    assert plain.tasks()["task"].to_pylist() == ["1", "2"]


def test_the_estimator_takes_frames_and_gives_them_back(frame):
    crowd = CrowdAggregator()
    labels, rows = crowd.fit_predict(frame), CrowdAggregator().fit(VOTES)
    np.testing.assert_array_equal(crowd.probability_, rows.probability_)
    assert crowd.classes_.tolist() == [10, 20] and crowd.predict([2, 1, 3]).tolist()[:2] == [20, 10]
    if hasattr(frame, "iloc"):
        assert labels.loc[2] == 20 and labels.name == "agg_label"
        assert crowd.probas_.loc[1, 10] == crowd.probability_[0, 0]
    else:
        assert column(labels, "agg_label") == [10, 20]
        assert column(crowd.fit_predict_proba(frame), "20") == crowd.probability_[:, 1].tolist()
    twice = CrowdAggregator().partial_fit(frame[:3]).partial_fit(frame[3:])
    np.testing.assert_array_equal(twice.probability_, crowd.probability_)


def test_rows_give_arrays():
    crowd = CrowdAggregator()
    assert crowd.fit_predict(VOTES).tolist() == ["10", "20"]
    assert crowd.fit_predict_proba(VOTES) is crowd.probability_


def test_what_is_missing_is_said():
    table = pa.table({"task": [1, 1, 2], "worker": ["a", None, "c"], "label": ["x", None, "y"]})
    with pytest.warns(UserWarning, match=r"X: left out: 1 without a label \(first: row 1\)"):
        assert CrowdAggregator().fit(table).tasks_.tolist() == [1, 2]
    with pytest.warns(UserWarning, match="X: 1 label without a worker: all are taken as one person's"):
        aggregate(pa.table({"task": [1, 1], "worker": ["a", None], "label": ["x", "x"]}))
    with pytest.raises(DataError, match="no column 'worker'; did you mean 'workers'"):
        aggregate(table.rename_columns(["task", "workers", "label"]))
    with pytest.raises(DataError, match="row 0: the task is empty"):
        aggregate(pa.table({"task": [None], "worker": ["a"], "label": ["x"]}))
