from pathlib import Path

import numpy as np
import pytest

from hutch.core.errors import DataError, UsageError
from hutch.em.rows import read_rows


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_npy_and_npz(tmp_path: Path) -> None:
    rows = np.arange(6.0, dtype=np.float32).reshape(3, 2)
    np.save(tmp_path / "a.npy", rows)
    np.savez(tmp_path / "one.npz", rows=rows, y=[1, 1, 2])
    np.savez(tmp_path / "many.npz", X=rows, other=rows.T)
    np.testing.assert_array_equal(read_rows(tmp_path / "a.npy").rows, rows)
    table = read_rows(tmp_path / "one.npz", "y")
    np.testing.assert_array_equal(table.rows, rows)
    np.testing.assert_array_equal(table.classes, [1, 1, 2])
    np.testing.assert_array_equal(read_rows(tmp_path / "many.npz").rows, rows)


@pytest.mark.parametrize(
    ("text", "classes", "rows", "labels"),
    [
        ("1,2\n3,4\n", None, [[1, 2], [3, 4]], None),
        ("a,b\n1,2\n3,4\n", None, [[1, 2], [3, 4]], None),
        ("a,kind,b\n1,cat,2\n3,dog,4\n", "kind", [[1, 2], [3, 4]], ["cat", "dog"]),
        ("1,7,2\n3,8,4\n", "2", [[1, 2], [3, 4]], ["7", "8"]),
        ('\ufeffa,b\n"1","2"\n', None, [[1, 2]], None),
        ("a,b\n1,\nNA,4\n", None, [[1, np.nan], [np.nan, 4]], None),
        ('a,kind\n1,"x, y"\n,z\n', "kind", [[1], [np.nan]], ["x, y", "z"]),
    ],
)
def test_csv(tmp_path: Path, text: str, classes: str | None, rows: list[list[float]], labels: list[str] | None) -> None:
    table = read_rows(write(tmp_path, "a.csv", text), classes, missing=True)
    np.testing.assert_array_equal(table.rows, rows)
    assert (table.classes is None) if labels is None else (list(table.classes) == labels)


@pytest.mark.parametrize(
    ("name", "text", "classes", "message"),
    [
        ("a.csv", "a,b\n1,2\n3,x\n", None, r"a\.csv:3:2: got 'x', wanted a number"),
        ("a.csv", "a,b\n1,2\n3\n", None, r"a\.csv:3:1: got 1 field, wanted 2"),
        ("a.csv", "a,b\n1,2\n3,\n", None, r"a\.csv:3:2: got '', wanted a number; --missing, in Python"),
        ("a.csv", "a,b\n", None, r"a\.csv: got no rows"),
        ("a.csv", "", None, r"a\.csv"),
        ("a.npy", "nothing", None, r"a\.npy"),
        ("a.npz", "nothing", None, r"a\.npz"),
    ],
)
def test_bad_data_is_refused_with_its_place(
    tmp_path: Path, name: str, text: str, classes: str | None, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read_rows(write(tmp_path, name, text), classes)


@pytest.mark.parametrize(
    ("name", "classes", "message"),
    [
        ("a.txt", None, r"wanted one of \.csv, \.npy, \.npz"),
        ("a.csv", "knd", "no column 'knd'; did you mean 'kind'"),
        ("a.csv", "9", "no column '9'"),
        ("a.npy", "y", "a .npy file has no column"),
    ],
)
def test_wrong_requests_are_refused(tmp_path: Path, name: str, classes: str | None, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_rows(write(tmp_path, name, "kind,b\nc,2\n"), classes)


def test_arrays_that_do_not_fit(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=np.eye(3), y=[1, 2])
    np.savez(tmp_path / "b.npz", a=np.eye(3), b=np.eye(3))
    np.save(tmp_path / "c.npy", np.array([["a", "b"]]))
    with pytest.raises(DataError, match=r"y: got shape \(2,\), wanted \(3,\)"):
        read_rows(tmp_path / "a.npz", "y")
    with pytest.raises(UsageError, match="did you mean 'y'"):
        read_rows(tmp_path / "a.npz", "yy")
    with pytest.raises(DataError, match="got 2 arrays of two dimensions"):
        read_rows(tmp_path / "b.npz")
    with pytest.raises(DataError, match=r"c\.npy: rows: .* wanted an array of numbers"):
        read_rows(tmp_path / "c.npy")
    with pytest.raises(DataError, match="cannot be read: No such file"):
        read_rows(tmp_path / "none.npy")
