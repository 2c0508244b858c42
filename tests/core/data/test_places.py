"""Globs and addresses, read like files; another machine is a folder here."""

from pathlib import Path

import pytest

from hutch import Chain
from hutch.core.data import places
from hutch.core.data.chunks import Chunks
from hutch.core.data.files import check_sources
from hutch.core.data.places import expanded, is_remote, located, only_file
from hutch.core.errors import DataError
from hutch.crowd.read.labels import read_labels

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is at `s3://bucket`."""
    from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

    folder = tmp_path / "remote" / "bucket"
    folder.mkdir(parents=True)
    system = SubTreeFileSystem(str(folder.parent), LocalFileSystem())
    monkeypatch.setattr(places, "_system", lambda source: (system, source.removeprefix("s3://")))
    return folder


def write(folder: Path, *names: str) -> None:
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(f"{number} |f a\n")


def labels(chain: Chain, *sources: str) -> list[float]:
    return [float(label) for batch in chain.files(list(sources)) for label in batch.labels]


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("a.vw", "a.vw"),
        ("file:///data/a%20b.vw", "/data/a b.vw"),
        ("file://localhost/data/a.vw", "/data/a.vw"),
        ("s3://bucket/a.vw", "s3://bucket/a.vw"),
        (Path("s3://bucket/a.vw"), "s3://bucket/a.vw"),
        ("hdfs:///a.vw", "hdfs:///a.vw"),
        ("-", "-"),
        ("c:/data/a.vw", "c:/data/a.vw"),
    ],
)
def test_addresses_as_they_are_read(source: str | Path, wanted: str) -> None:
    assert located(source) == wanted
    assert is_remote(wanted) == (wanted[:3] in ("s3:", "hdf"))


def test_globs_are_read_in_the_order_of_names(tmp_path: Path) -> None:
    write(tmp_path, "b.vw", "a.vw", "c/d.vw", "other.txt", "odd[1].vw")
    chain = Chain.from_config({"chain": ["linear"]})
    assert labels(chain, f"{tmp_path}/[ab].vw") == [1, 0]
    assert labels(chain, f"{tmp_path}/**/?.vw") == [1, 0, 2]
    assert labels(chain, f"{tmp_path}/odd[1].vw") == [4]  # it is there under this very name
    assert labels(chain, f"file://{tmp_path}/*.txt") == [3]
    for wrong in (lambda: expanded([f"{tmp_path}/*.csv"]), lambda: check_sources([f"{tmp_path}/*.csv"])):
        with pytest.raises(DataError, match=r"\*\.csv: matches no file"):
            wrong()
    with pytest.raises(DataError, match="matches 3 files, wanted one"):
        only_file(f"{tmp_path}/*.vw")


def test_files_on_another_machine(bucket: Path) -> None:
    import gzip

    import pyarrow.parquet as pq

    write(bucket, "b.vw", "a.vw", "deep/er/c.vw")
    (bucket / "d.vw.gz").write_bytes(gzip.compress(b"7 |f a\n"))
    pq.write_table(pa.table({"label": [1.0, 2.0], "x": [0.5, 1.5]}), bucket / "t.parquet")
    chain = Chain.from_config({"chain": ["linear"]})
    assert labels(chain, "s3://bucket/a.vw") == [1]
    assert labels(chain, "s3://bucket/*.vw", "s3://bucket/d.vw.gz") == [1, 0, 7]
    assert labels(chain, "s3://bucket/**/*.vw") == [1, 0, 2]
    assert labels(chain, "s3://bucket/deep/*/c.vw") == [2]
    assert labels(chain, "s3://bucket/t.parquet") == [1, 2]
    assert len(chain.learn(Path("s3://bucket/a.vw"))) == 1
    check_sources(["s3://bucket/a.vw", "s3://bucket/*.parquet"])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("s3://bucket/none.vw", "s3://bucket/none.vw: no such file"),
        ("s3://bucket/deep", "s3://bucket/deep: is a directory"),
        ("s3://bucket/*.csv", "matches no file"),
        ("http://host/a.vw", "no such file; addresses begin with s3, gs"),
    ],
)
def test_what_is_not_there_is_told(source: str, message: str, bucket: Path) -> None:
    write(bucket, "deep/c.vw")
    with pytest.raises(DataError, match=message):
        check_sources([source])
    if source.endswith("none.vw"):
        with pytest.raises(DataError, match="no such file"):
            list(Chunks([source]))


def test_one_table_is_one_file(bucket: Path, tmp_path: Path) -> None:
    for name in ("a.tsv", "b.tsv"):
        (bucket / name).write_text("ann\tt1\tcat\n")
    assert len(read_labels("s3://bucket/a.tsv")) == 1
    with pytest.raises(DataError, match="matches 2 files, wanted one"):
        read_labels("s3://bucket/*.tsv")


def test_without_pyarrow_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from hutch.core.errors import HutchError

    monkeypatch.setitem(sys.modules, "pyarrow.fs", None)
    with pytest.raises(HutchError, match=r"s3:// is read by pyarrow: pip install 'hutch\[arrow\]'"):
        list(Chunks(["s3://bucket/a.vw"]))
