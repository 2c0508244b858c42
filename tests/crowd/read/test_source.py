"""Sources as text: unpacked, decoded, and Parquet as rows."""

import gzip
import io
import sys
import zipfile

import pytest
import zstandard

from hutch.core.errors import DataError
from hutch.crowd.label_stream import label_blocks
from hutch.crowd.read.kinds import reference_workers
from hutch.crowd.read.labels import read_labels
from hutch.crowd.read.source import pieces_of, read_source

TEXT = "worker,task,label\n" + "".join(f"{w},t{i},{'ab'[i % 2]}\n" for i in range(400) for w in ("ann", "béa"))


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
@pytest.mark.parametrize("name", ["labels.csv", "labels", "-"])
def test_compression_is_known_by_content(tmp_path, monkeypatch, pack, name):
    packed, path = pack(TEXT.encode()), tmp_path / name
    if name == "-":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(packed)))
        path = name
    else:
        path.write_bytes(packed)
    assert read_source(path).data.decode() == TEXT


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "cp1252", "shift_jis"])
@pytest.mark.parametrize("size", [64, 1 << 19])
def test_pieces_are_whole_lines_in_any_encoding(tmp_path, encoding, size):
    text = TEXT.replace("é", "e") if encoding == "shift_jis" else TEXT
    (tmp_path / "labels").write_bytes(text.encode(encoding))
    pieces = list(pieces_of(tmp_path / "labels", "" if encoding == "utf-16" else encoding, size))
    assert b"".join(piece.data for piece in pieces).decode() == text
    assert all(piece.data.endswith(b"\n") for piece in pieces if piece.data)
    assert [piece.line for piece in pieces if piece.data][-1] < 802


def test_utf_16_is_read_everywhere(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_bytes(TEXT.replace("label\n", "label,kind\n").replace("a\n", "a,human\n").replace("b\n", "b,human\n")
                     .encode("utf-16"))  # fmt: skip
    assert len(read_labels(path)) == 800 and len(reference_workers(path)) == 2
    assert sum(map(len, label_blocks(path, ["a", "b"], chunk_bytes=100))) == 800


def test_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {
        "worker": ["ann", "bob", None],
        "task": [1, 1, 2],
        "label": pa.array(["x", "y", "x"]).dictionary_encode(),
    }
    parquet.write_table(pa.table({**columns, "more": [[1], [], None]}), tmp_path / "labels")
    labels = read_labels(tmp_path / "labels")
    assert (labels.worker_names, list(labels.item_names), labels.classes) == (
        ["ann", "bob", ""],
        ["1", "2"],
        ["x", "y"],
    )
    (tmp_path / "cut").write_bytes((tmp_path / "labels").read_bytes()[:-9])
    with pytest.raises(DataError, match="cut: got a Parquet file that cannot be read"):
        read_labels(tmp_path / "cut")


@pytest.mark.parametrize("separator", ["|", " ", ";", "\t"])
@pytest.mark.parametrize("header", [True, False])
def test_separators(tmp_path, separator, header):
    text = TEXT if header else TEXT.partition("\n")[2]
    (tmp_path / "labels").write_text(text.replace(",", separator))
    assert len(read_labels(tmp_path / "labels")) == 800


def test_columns_aligned_by_blanks(tmp_path):
    (tmp_path / "labels").write_text(
        "worker   task  label\n ann     t1    yes \nbob      t1    no\n\nann      t2    yes\n"
    )
    labels = read_labels(tmp_path / "labels")
    assert (labels.worker_names, list(labels.item_names), len(labels)) == (["ann", "bob"], ["t1", "t2"], 3)


@pytest.mark.parametrize(("name", "inside"), [("labels.xlsx", "xl/workbook.xml"), ("labels.ods", "content.xml")])
def test_a_workbook_is_to_be_saved_as_text(tmp_path, name, inside):
    import zipfile

    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        archive.writestr(inside, "")
    with pytest.raises(DataError, match=f"{name}: got the workbook of a spreadsheet, wanted its sheet saved as CSV"):
        read_labels(tmp_path / name)


def test_lines_that_end_with_carriage_returns_alone_are_refused_at_once(tmp_path):
    (tmp_path / "mac.csv").write_bytes(b"worker,task,label\rann,t1,a\rbob,t1,b\r")
    with pytest.raises(
        DataError, match=r"mac.csv:1: got a carriage return within the first row, wanted lines that end"
    ):
        read_labels(tmp_path / "mac.csv")
    (tmp_path / "quoted.csv").write_bytes(b'worker,"task\r\nname",label\r\nann,t1,a\r\nbob,t1,b\r\n')
    assert len(read_labels(tmp_path / "quoted.csv", columns={"task": "task\r\nname"})) == 2


def test_an_archive_of_one_file_is_that_file(tmp_path):
    text = "worker,task,label\nann,1,a\nbob,1,b\n"
    for names in (["labels.csv"], ["labels.csv", "more.csv"]):
        path = tmp_path / f"{len(names)}.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("folder/", "")
            for name in names:
                archive.writestr(f"folder/{name}", text)
                archive.writestr(f"__MACOSX/folder/._{name}", "x")
        found = read_source(path).data
        assert found == (text.encode() if len(names) == 1 else path.read_bytes())
    (tmp_path / "cut.zip").write_bytes(b"PK\x03\x04")
    with pytest.raises(DataError, match="cut.zip: zip archive that cannot be read"):
        read_source(tmp_path / "cut.zip")
