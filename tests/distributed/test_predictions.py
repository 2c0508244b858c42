"""Predictions of many files: one result each, the bits of one process, nothing made twice."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import DataError, UsageError
from hutch.distributed import predictions
from hutch.distributed.predictions import Result, predict
from hutch.jobs.engine import Engine, Here
from hutch.jobs.processes import Processes

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    with Processes(2) as engine:
        yield engine


@pytest.fixture(params=["here", "processes"])
def engine(request: pytest.FixtureRequest, processes: Processes) -> Engine:
    return processes if request.param == "processes" else Here()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    chain = Chain.from_config({"chain": [{"linear": {"loss": "logistic"}}], "weights": {"bits": 10}})
    chain.learn([f"{i % 2 * 2 - 1} |f a{i % 2} b{i % 7}" for i in range(200)])
    chain.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def sources(tmp_path: Path) -> list[Path]:
    for k in range(3):
        text = "".join(f"{i % 2} 't{i}|f a{i % 2} b{(i + k) % 7}\n" for i in range(300 * k))
        (tmp_path / f"{k}.vw").write_text(text)
    pq.write_table(pa.table({"a": [0.5, 1.5]}), tmp_path / "3.parquet")
    return [tmp_path / name for name in ("0.vw", "1.vw", "2.vw", "3.parquet")]


def test_every_file_has_its_predictions(engine: Engine, model: Path, sources: list[Path], tmp_path: Path) -> None:
    seen: list[Result] = []
    found = predict(sources, model, tmp_path / "out", engine=engine, on_result=seen.append)
    assert sorted(seen, key=lambda each: each.source) == sorted(found, key=lambda each: each.source)
    assert [each.examples for each in found] == [0, 300, 600, 2] and not any(each.done_before for each in found)
    chain = Chain.load(model)
    for source, each in zip(sources, found, strict=True):
        table = pq.read_table(each.path)
        assert each.path == str(tmp_path / "out" / f"{source.name}.parquet")
        assert np.array_equal(table["prediction"].to_numpy(), chain.predict(source))
    assert pq.read_table(found[1].path)["tag"].to_pylist()[:2] == ["t0", "t1"]


def test_a_run_goes_on_where_it_was(model: Path, sources: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"

    def made() -> list[str]:
        return [Path(each.source).name for each in predict(sources, model, out) if not each.done_before]

    predict(sources[:2], model, out)
    assert made() == ["2.vw", "3.parquet"]
    assert made() == []
    (out / "1.vw.parquet").write_bytes((out / "1.vw.parquet").read_bytes()[:100])  # damaged
    with sources[2].open("a") as file:
        file.write("1 |f a1\n")
    assert made() == ["1.vw", "2.vw"]
    before = sources[1].stat()
    sources[1].write_bytes(sources[1].read_bytes().replace(b"a1", b"a0"))
    os.utime(sources[1], ns=(before.st_atime_ns, before.st_mtime_ns + 10**9))
    assert sources[1].stat().st_size == before.st_size and made() == ["1.vw"]
    chain = Chain.load(model)
    chain.learn(["1 |f a0"])
    chain.save(model)
    assert len(made()) == 4


def test_classes_are_whole_numbers(tmp_path: Path) -> None:
    chain = Chain.from_config({"chain": [{"one_against_all": {"classes": 3}}, "linear"], "weights": {"bits": 10}})
    chain.learn([f"{i % 3 + 1} |f a{i % 3}" for i in range(90)])
    chain.save(tmp_path / "model")
    (tmp_path / "x.vw").write_text("|f a0\n|f a2\n")
    [found] = predict([tmp_path / "x.vw"], tmp_path / "model", tmp_path / "out")
    table = pq.read_table(found.path)
    assert table["prediction"].to_pylist() == [1, 3] and str(table.schema.field("prediction").type) == "uint32"
    assert table["tag"].to_pylist() == [None, None]


def test_results_are_written_piece_by_piece(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predictions, "_ROWS", 1)
    words = " ".join(f"c{i}" for i in range(1000))
    (tmp_path / "x.vw").write_text("".join(f"'t{i} |f a{i % 2} b{i % 7} {words}\n" for i in range(1000)))
    [found] = predict([tmp_path / "x.vw"], model, tmp_path / "out")
    table, chain = pq.read_table(found.path), Chain.load(model)
    assert pq.ParquetFile(found.path).num_row_groups > 2  # a chunk of the file each, and what is left
    assert np.array_equal(table["prediction"].to_numpy(), chain.predict(tmp_path / "x.vw"))
    assert table["tag"].to_pylist() == [f"t{i}" for i in range(1000)] and found.examples == 1000


def test_a_wrong_file_is_named_and_the_others_are_predicted(
    engine: Engine, model: Path, sources: list[Path], tmp_path: Path
) -> None:
    (tmp_path / "9.vw").write_bytes(b"\0" * 100)
    with pytest.raises(DataError, match=r"9\.vw.*NUL"):
        predict([tmp_path / "9.vw", *sources], model, tmp_path / "out", engine=engine)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(f"{s.name}.parquet" for s in sources)


def test_what_makes_no_sense_is_refused(model: Path, sources: list[Path], tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "1.vw").write_text("|f a\n")
    with pytest.raises(UsageError, match="wanted different names"):
        predict([*sources, tmp_path / "more" / "1.vw"], model, tmp_path / "out")
    with pytest.raises(UsageError, match="got standard input"):
        predict(["-"], model, tmp_path / "out")
