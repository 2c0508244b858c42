"""Training files, crowd labels and rows of numbers agree on every cell of a separated text, and on every mistake."""

import csv
import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hutch.core.data import cells as module
from hutch.core.data.cells import read_records
from hutch.core.data.csv import read_csv
from hutch.core.errors import DataError, Problem, reading
from hutch.core.text.parser import ParserOptions
from hutch.crowd.read.labels import read_labels
from hutch.em.rows import read_rows


def by_train(path: Path) -> list[str]:
    columns = {"tag": "worker", "ignore": ["task", "label"]}
    return [batch.tag(i).decode() for batch in read_csv(str(path), ParserOptions(), columns) for i in range(len(batch))]


def by_crowd(path: Path) -> list[str]:
    labels = read_labels(path)
    return [labels.worker_names[code] for code in labels.workers]


def by_em(path: Path) -> list[str]:
    found = read_rows(path, "worker").classes
    assert found is not None
    return list(found)


READERS = [by_train, by_crowd, by_em]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    ("cell", "wanted"),
    [
        ("ann", "ann"),
        ('"ann"', "ann"),
        ('"a,b"', "a,b"),
        ('"a""b"', 'a"b'),
        ('"""ann"""', '"ann"'),
        ('a"b"', 'a"b"'),
        ('a""b', 'a""b'),
        ('"a\nb"', "a\nb"),
        ('"a\r\nb"', "a\r\nb"),
        ("a\rb", "a\rb"),
        (' "a"', ' "a"'),
        ("é", "é"),
    ],
)
def test_a_cell_is_the_same_to_every_reader(tmp_path: Path, read: Any, cell: str, wanted: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(f"worker,task,label\r\n{cell},1,2\r\n\r\nbob,2,3".encode())
    assert read(path) == [wanted, "bob"]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    ("line", "place", "problem"),
    [
        ('"a"b,1,2', "2:4", "got text after a closing quote"),
        ('ann,"1" ,2', "2:8", "got text after a closing quote"),
        ('ann,1,"2', "2:7", "got a quote that is never closed"),
        ("a\0b,1,2", "2:2", "got a NUL byte"),
    ],
)
def test_a_mistake_is_the_same_to_every_reader(tmp_path: Path, read: Any, line: str, place: str, problem: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"worker,task,label\n{line}\nbob,2,3\n")
    with pytest.raises(DataError, match=f"a.csv:{place}: {problem}"):
        read(path)


def test_names_that_differ_only_by_how_they_are_quoted(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('worker,task,label\na"b,1,x\n"a""b",1,y\na""b,1,x\n')
    labels = read_labels(path)
    assert labels.worker_names == ['a"b', 'a""b']
    assert labels.workers.tolist() == [0, 0, 1] and labels.contradictions == 1


cells = st.text('ab,"\n\r |:é', max_size=5)


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.lists(cells, min_size=2, max_size=2), min_size=1, max_size=6), end=st.sampled_from("\n\r"))
def test_what_python_writes_comes_back(tmp_path_factory: Any, rows: list[list[str]], end: str) -> None:
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator=end.replace("\r", "\r\n"), quoting=csv.QUOTE_ALL).writerows(rows)
    path = tmp_path_factory.mktemp("cells") / "a.csv"
    path.write_bytes(file.getvalue().encode())
    [records] = read_records(str(path))
    assert list(records.rows()) == rows


def test_records_that_chunks_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("".join(f'{i},"{i}\n{"x" * 50}"\n' for i in range(80_000)))
    pieces = list(read_records(str(path)))
    assert len(pieces) > 1
    lines = np.concatenate([piece.lines for piece in pieces])
    np.testing.assert_array_equal(lines, 1 + 2 * np.arange(80_000))
    assert [piece.column(0)[0] for piece in pieces] == [b"%d" % (piece.lines[0] // 2) for piece in pieces]


def test_a_problem_lies_in_the_innermost_source_that_has_a_name() -> None:
    with pytest.raises(DataError, match=r"^labels\.zip/a\.json:2:5: wrong$"), reading("labels.zip"):
        with reading("labels.zip/a.json"):
            raise Problem("wrong", 2, 5)
    with pytest.raises(DataError, match=r"^a\.csv: wrong$"), reading("a.csv"), reading(""):
        raise Problem("wrong")
    assert str(pickle.loads(pickle.dumps(Problem("wrong", 3)))) == "3: wrong"


def test_lines_and_bytes_are_counted_through_blank_lines_and_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK_BYTES", 40)
    text = b'"a\r\nb",c\r\n\r\n\n' + b"".join(b'%d,"x\ny"\r\n\r\n' % k for k in range(30))
    pieces = list(module.records_in(text, ","))
    assert len(pieces) > 3 and module.names_of(pieces[0]) == ["a\r\nb", "c"]
    begins = [text.index(b'%d,"x' % k) for k in range(30)]
    wanted = [(0, 1), *((at, text.count(b"\n", 0, at) + 1) for at in begins)]
    found = [
        (piece.start + int(at) - (k == 0 == number), int(line))
        for k, piece in enumerate(pieces)
        for number, (at, line) in enumerate(zip(piece.bounds(0)[0], piece.lines, strict=True))
    ]
    assert found == wanted
