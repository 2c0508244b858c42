import pytest

from hutch.core.errors import DataError
from hutch.crowd.mixed.model import matches
from hutch.crowd.read.kinds import reference_workers


@pytest.mark.parametrize("separator", ["\t", ","])
def test_kinds_declare_the_reference(tmp_path, separator):
    rows = ["task worker kind label", "t1 ann person x", "t1 gpt judge y", "t2 b[1] Human x", "t2 gpt judge x"]
    path = tmp_path / "labels"
    path.write_text("\n".join(row.replace(" ", separator) for row in rows))
    found = reference_workers(path)
    assert matches(["ann", "gpt", "b[1]", "b1"], found).tolist() == [True, False, True, False]


@pytest.mark.parametrize("text", ["", "\n", "worker\ttask\tlabel\nann\tt\tx\n", "ann\tkind\tx\n", "ann\tt\tx\n"])
def test_no_kinds(tmp_path, text):
    path = tmp_path / "labels.tsv"
    path.write_text(text)
    assert reference_workers(path) == ()
    assert reference_workers("-") == ()


@pytest.mark.parametrize(
    ("rows", "message"),
    [("a\tt\tx\tpersn\n", "did you mean 'person'"), ("a\tt\tx\tjudge\na\tu\tx\thuman\n", "got two kinds")],
)
def test_kinds_that_cannot_be(tmp_path, rows, message):
    path = tmp_path / "labels.tsv"
    path.write_text("worker\ttask\tlabel\tkind\n" + rows)
    with pytest.raises(DataError, match=message):
        reference_workers(path)
