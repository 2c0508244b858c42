import numpy as np
import pyarrow as pa
import pytest

from hutch.core.errors import DataError
from hutch.crowd.aggregate import Options, aggregate
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


def test_categories_that_no_row_has_are_classes():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"task": TASKS, "worker": WORKERS, "label": pd.Categorical(LABELS, categories=[5, 20, 10])})
    found = aggregate(frame)
    assert found.labels.classes == ["5", "10", "20"] and found.scale is not None  # whole numbers
    assert found.tasks().filter(like="q:").columns.tolist() == ["q:5", "q:10", "q:20"]
    np.testing.assert_array_equal(found.probability, aggregate(from_triples(VOTES, ["5", "10", "20"])).probability)
    crowd = CrowdAggregator().fit(frame)
    assert crowd.classes_.tolist() == [5, 10, 20] and crowd.probas_.columns.tolist() == [5, 10, 20]
    both = CrowdAggregator().partial_fit(frame[:3]).partial_fit(frame[3:].assign(label=[30, 20, 20]))
    assert both.classes_.tolist() == [5, 10, 20, 30]


def test_ordered_categories_are_ordered_classes():
    pd = pytest.importorskip("pandas")
    grades = pd.CategoricalDtype(["poor", "fair", "good"], ordered=True)
    labels = pd.Series(["good", "good", "poor", "poor", "poor", "good"]).astype(grades)
    frame = pd.DataFrame({"task": TASKS, "worker": WORKERS, "label": labels})
    found = aggregate(frame)
    assert found.labels.classes == ["poor", "fair", "good"] and found.scale.tolist() == [1, 2, 3]
    triples = [*zip(WORKERS, map(str, TASKS), labels, strict=True)]
    same = aggregate(from_triples(triples, grades.categories), options=Options(ordered=True))
    np.testing.assert_array_equal(found.probability, same.probability)
    np.testing.assert_array_equal(CrowdAggregator().fit(frame).probability_, same.probability)
    assert aggregate(frame, options=Options(ordered=False)).scale is None


def test_an_enum_of_polars_declares_classes():
    pl = pytest.importorskip("polars")
    kind = pl.Enum(["no", "unsure", "yes"])
    frame = pl.DataFrame({"task": [1, 1, 2], "worker": ["a", "b", "a"], "label": ["no", "no", "yes"]})
    assert aggregate(frame.with_columns(pl.col("label").cast(kind))).labels.classes == ["no", "unsure", "yes"]
    assert aggregate(frame.with_columns(pl.col("label").cast(pl.Categorical))).labels.classes == ["no", "yes"]
