"""The columns of the tables that a chain has learned from, and tables that have others."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from hutch.chain import Chain
from hutch.cli.dispatch import run
from hutch.core.data.watch import Watch
from hutch.core.errors import DataError

ROWS = [(1, "Oslo", 5), (-1, "Rome", 7), (1, "Oslo", 6)]


def written(folder: Path, name: str, columns: list[str], rows: list[Any] = ROWS) -> Path:
    """A file whose name's ending says of which kind."""
    path, named = folder / name, [dict(zip(columns, row, strict=False)) for row in rows]
    if name.endswith(".csv"):
        path.write_text("\n".join([",".join(columns), *(",".join(map(str, row.values())) for row in named)]) + "\n")
    elif name.endswith(".jsonl"):
        path.write_text("".join(json.dumps(row) + "\n" for row in named))
    else:
        pyarrow.parquet.write_table(pa.Table.from_pylist(named), path)
    return path


def learned(path: Path) -> Chain:
    chain = Chain.from_config({"weights": {"bits": 10}, "chain": ["linear"]})
    chain.learn(path)
    return chain


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_table_with_other_columns_is_not_predicted(tmp_path: Path, kind: str, capfd: Any) -> None:
    model = str(tmp_path / "a.model")
    assert run(["train", str(written(tmp_path, f"a.{kind}", ["label", "city", "size"])), "-f", model, "--quiet"]) == 0
    for columns, wanted in (
        (["label", "town", "size"], "no column 'city', new column 'town'; rename it, or add a column 'city' of empty"),
        (["label", "size"], "no column 'city'; add a column 'city' of empty cells"),
    ):
        path = written(tmp_path, f"b.{kind}", columns)
        assert run(["predict", str(path), "-i", model, "--quiet"]) == 1
        out, err = capfd.readouterr()
        assert not out and err.startswith(f"{path}: {wanted}")
    path = written(tmp_path, f"c.{kind}", ["label", "city", "size", "id"], [(*row, "x") for row in ROWS])
    with pytest.warns(UserWarning, match=f"{path}: new column 'id'; the model has not learned it"):
        assert run(["predict", str(path), "-i", model, "--quiet"]) == 0
    assert len(capfd.readouterr().out.splitlines()) == 3
    path = written(tmp_path, f"d.{kind}", ["city", "size"], [row[1:] for row in ROWS])  # in another order, unlabelled
    assert run(["predict", str(path), "-i", model, "--quiet"]) == 0
    assert capfd.readouterr().err == ""


def test_rows_of_json_may_lack_keys_but_new_ones_are_said(tmp_path: Path) -> None:
    chain = learned(written(tmp_path, "a.jsonl", ["label", "city", "size"]))
    chain.predict(written(tmp_path, "b.jsonl", ["label", "city"]))
    with pytest.warns(UserWarning, match=r"c.jsonl: no column 'city', new column 'town'; the model has not learned it"):
        chain.predict(written(tmp_path, "c.jsonl", ["label", "town", "size"]))


def test_frames_are_compared_too() -> None:
    chain = Chain.from_config({"weights": {"bits": 10}, "chain": ["linear"]})
    chain.learn(pa.table({"label": [1.0, -1.0], "city": ["Oslo", "Rome"]}))
    with pytest.raises(DataError, match="<table>: no column 'city', new column 'town'"):
        chain.predict(pa.table({"town": ["Oslo"]}))
    assert len(chain.predict(pa.table({"city": ["Oslo"]}))) == 1


def test_the_model_keeps_the_names_and_learns_more(tmp_path: Path) -> None:
    chain = learned(written(tmp_path, "a.csv", ["label", "city", "size"]))
    chain.save(tmp_path / "a.model")
    again = Chain.load(tmp_path / "a.model")
    assert again.watch.known == {"city": True, "size": True}
    with pytest.warns(UserWarning, match="no column 'city', new column 'town'; the model learned from other columns"):
        again.learn(written(tmp_path, "b.csv", ["label", "town", "size"]))
    assert again.watch.known == {"city": False, "town": False, "size": True}
    again.predict(tmp_path / "a.csv")
    again.predict(tmp_path / "b.csv")
    with pytest.raises(DataError, match="no column 'size'"):
        again.predict(written(tmp_path, "c.csv", ["label", "town"]))


def test_models_without_names_and_of_lines_say_nothing(tmp_path: Path) -> None:
    chain = Chain.from_config({"weights": {"bits": 10}, "chain": ["linear"]})
    chain.learn("1 | city:3\n")
    assert "columns" not in chain.metadata()
    chain.save(tmp_path / "a.model")
    Chain.load(tmp_path / "a.model").predict(written(tmp_path, "a.csv", ["label", "town", "size"]))


def test_damaged_names_are_no_names(tmp_path: Path) -> None:
    chain = learned(written(tmp_path, "a.csv", ["label", "city", "size"]))
    metadata = {**chain.metadata(), "columns": ["city"]}
    assert Chain.from_arrays(chain.arrays(), metadata, "a").watch.known == {}


def test_many_columns_are_counted() -> None:
    watch = Watch(dict.fromkeys([f"c{k}" for k in range(9)], True))
    with pytest.raises(DataError, match="no columns 'c0', 'c1', 'c2', 'c3', 'c4' and 4 more; add a column 'c0' of"):
        watch.table("a.csv", [], learns=False)
