"""Pairs of columns are learned where they foretell clearly more than columns alone, and not elsewhere."""

import datetime
import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

from hutch.chain import Chain
from hutch.core.errors import ConfigError
from hutch.sklearn import HutchClassifier
from hutch.table_pairs import with_or_without_pairs


def eaters(rows: int = 4000, seed: int = 0) -> tuple[pa.Table, np.ndarray]:
    """Who eats what, by the kinds of both: neither name tells anything alone."""
    rng = np.random.default_rng(seed)
    animal, food, weight = rng.integers(0, 40, rows), rng.integers(0, 40, rows), rng.normal(300, 50, rows)
    eats = np.where((animal % 2 == food % 2) ^ (rng.random(rows) < 0.05), "yes", "no")
    table = {"animal": [f"a{i}" for i in animal], "food": [f"f{i}" for i in food], "weight": weight}
    return pa.table(table), eats


def sums(rows: int = 3000, seed: int = 0) -> tuple[pa.Table, np.ndarray]:
    """Columns that each add their own part."""
    rng = np.random.default_rng(seed)
    first, second, size = rng.integers(0, 8, rows), rng.integers(0, 5, rows), rng.normal(size=rows)
    score = rng.normal(size=8)[first] + rng.normal(size=5)[second] + size
    table = {"first": [f"a{i}" for i in first], "second": [f"b{i}" for i in second], "size": size}
    return pa.table(table), np.where(score + rng.logistic(size=rows) > 0, "in", "out")


def test_pairs_are_learned_where_they_tell() -> None:
    X, y = eaters()
    model = HutchClassifier().fit(X.slice(0, 3000), y[:3000])
    assert model.score(X.slice(3000), y[3000:]) > 0.9
    assert HutchClassifier(pairs=False).fit(X.slice(0, 3000), y[:3000]).score(X.slice(3000), y[3000:]) < 0.6
    assert model.pairs_.startswith("pairs of columns are learned: log-loss ")
    assert model.pairs_.endswith(" without, on 600 rows held back")


def test_where_columns_tell_alone_the_model_is_as_without_a_trial() -> None:
    X, y = sums()
    tried, plain = HutchClassifier().fit(X, y), HutchClassifier(pairs=False).fit(X, y)
    assert tried.pairs_.startswith("columns are learned alone: ") and plain.pairs_ is None
    np.testing.assert_array_equal(tried.predict_proba(X), plain.predict_proba(X))


def test_more_rows_are_learned_and_a_pickle_predicts_the_same() -> None:
    X, y = eaters()
    model = HutchClassifier().fit(X.slice(0, 2000), y[:2000])
    before = model.score(X.slice(3000), y[3000:])
    again = pickle.loads(pickle.dumps(model))
    for each in (model, again):
        each.partial_fit(X.slice(2000, 1000), y[2000:3000])
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    assert model.score(X.slice(3000), y[3000:]) >= before - 0.01
    assert np.abs(model.explain(X.slice(0, 50)))[:, :2].min() > 0


def test_three_classes() -> None:
    rng = np.random.default_rng(1)
    left, right = rng.integers(0, 30, (2, 6000))
    X, y = pa.table({"left": [f"l{i}" for i in left], "right": [f"r{i}" for i in right]}), (left + right) % 3
    model = HutchClassifier().fit(X.slice(0, 5000), y[:5000])
    assert model.score(X.slice(5000), y[5000:]) > 0.8 and "are learned" in model.pairs_
    np.testing.assert_allclose(model.predict_proba(X.slice(0, 9)).sum(axis=1), 1)


@pytest.mark.parametrize(
    ("settings", "frame"),
    [
        ({"layers": ["linear"]}, True),
        ({"loss": "hinge"}, True),
        ({"passes": 3}, True),
        ({"columns": {"text": ["animal"], "ignore": ["food"]}}, True),
        ({"columns": {"namespaces": {"a": ["animal"], "f": ["food", "weight"]}}}, True),
        ({}, False),
    ],
)
def test_what_is_set_is_not_changed(settings: dict[str, Any], frame: bool) -> None:
    X, y = eaters(900)
    rows: Any = X if frame else np.random.default_rng(0).normal(size=(900, 3))
    assert HutchClassifier(**settings).fit(rows, y).pairs_ is None
    with pytest.raises(ConfigError, match="pairs: got True, wanted a frame with two columns or more, one of words"):
        HutchClassifier(pairs=True, **settings).fit(rows, y)


def test_pairs_on_request_and_never_on_few_rows() -> None:
    X, y = eaters(400)
    asked, free = HutchClassifier(pairs=True).fit(X, y), HutchClassifier().fit(X, y)
    assert [layer.name for layer in asked.chain_.layers][-1] == "fields" and asked.pairs_ is None
    assert [layer.name for layer in free.chain_.layers][-1] != "fields" and free.pairs_ is None
    assert clone(asked).pairs is True


def test_it_is_said_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = eaters(1000)
    model = HutchClassifier(verbose=1).fit(X, y)
    assert capsys.readouterr().out.startswith(f"[HutchClassifier] {model.pairs_}\n")


def written(path: Any, X: pa.Table, y: np.ndarray, **more: Any) -> str:
    """A CSV file of a table, its labels, and further columns."""
    columns = {**X.to_pydict(), "label": y.tolist(), **more}
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return str(path)


def chain_of(*classes: str, loss: str = "logistic", **columns: Any) -> Chain:
    """The chain of `hutch train` for a table with names of classes, or numbers."""
    above = [{"one_against_all": {"classes": len(classes)}}] if classes else []
    given = {"label": "label", "classes": list(classes), **columns}
    return Chain.from_config({"input": {"columns": given}, "chain": [*above, {"linear": {"loss": loss}}]})


def test_files_are_tried_in_their_order(tmp_path: Any) -> None:
    path = written(tmp_path / "eaters.csv", *eaters())
    chain, said = with_or_without_pairs(chain_of("no", "yes"), [path], None)
    assert [layer.name for layer in chain.layers] == ["standardise", "one_against_all", "fields"]
    assert chain.config.input.columns.namespaces == {"animal": ("animal",), "food": ("food",), "": "*"}
    assert said.startswith("pairs of columns are learned, by `fields`: a loss of ") and "on 800 rows" in said
    assert not chain.statistics.examples
    other = written(tmp_path / "sums.csv", *sums())
    given = chain_of("in", "out")
    assert with_or_without_pairs(given, [other], None) == (given, "")


def test_numbers_are_labels_too(tmp_path: Any) -> None:
    X, y = eaters()
    path = written(tmp_path / "eaters.csv", X, np.where(y == "yes", 30.0, 10.0))
    chain, said = with_or_without_pairs(chain_of(loss="squared"), [path], None)
    assert chain.layers[-1].name == "fields" and chain.layers[-1].parameters.loss.name == "squared" and said


def test_dates_are_no_words(tmp_path: Any) -> None:
    X, y = eaters()
    days = [datetime.date(2026, 1 + i % 12, 1 + i % 28) for i in range(len(y))]
    path = tmp_path / "eaters.parquet"
    pq.write_table(X.append_column("day", pa.array(days)).append_column("label", pa.array(y)), path)
    chain, _ = with_or_without_pairs(chain_of("no", "yes"), [str(path)], None)
    assert list(chain.config.input.columns.namespaces) == ["animal", "food", ""]


@pytest.mark.parametrize(
    ("layers", "columns"),
    [
        ([{"linear": {"loss": "logistic", "l2": 1e-6}}], {}),
        ([{"linear": {"loss": "hinge"}}], {}),
        ([{"bootstrap": {"models": 2}}, {"linear": {"loss": "logistic"}}], {}),
        ([{"linear": {"loss": "logistic"}}], {"namespaces": {"a": "*"}}),
        ([{"linear": {"loss": "logistic"}}], {"text": ["animal"]}),
    ],
)
def test_chains_of_ones_own_stay(tmp_path: Any, layers: list[Any], columns: dict[str, Any]) -> None:
    X, y = eaters(800)
    path = written(tmp_path / "eaters.csv", X, np.where(y == "yes", 1, -1))
    chain = Chain.from_config({"input": {"columns": {"label": "label", **columns}}, "chain": layers})
    assert with_or_without_pairs(chain, [path], None) == (chain, "")


@pytest.mark.parametrize("text", ["animal,label\n", "animal,label\na1,yes\n"])
def test_small_files_stay(tmp_path: Any, text: str) -> None:
    path = tmp_path / "small.csv"
    path.write_text(text)
    chain = chain_of("no", "yes")
    assert with_or_without_pairs(chain, [str(path)], None) == (chain, "")


def test_lines_and_pipes_are_not_tried(tmp_path: Any) -> None:
    path = tmp_path / "lines.vw"
    path.write_text("1 |a b\n" * 600)
    chain = chain_of()
    for data in ([str(path)], [], [str(tmp_path / "no.csv")]):
        assert with_or_without_pairs(chain, data, None) == (chain, "")
