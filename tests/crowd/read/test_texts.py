"""The texts of items: which columns of which files, and what is refused."""

import pytest

from hutch.core.errors import DataError
from hutch.crowd.read.texts import read_texts


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", 'id,text\nt1,"So, it is."\nt2,No.\n'),
        ("a.csv", 'text,id\n"So, it is.",t1\nNo.,t2\n'),
        ("a.tsv", "item\tlang\tcontent\nt1\ten\tSo, it is.\nt2\ten\tNo.\n"),
        ("a.tsv", "ticket\tmessage\nt1\tSo, it is.\nt2\tNo.\n"),
        ("a.tsv", "ticket\tstory\nt1\tSo, it is.\nt2\tNo.\n"),
        ("a.csv", 'worker,item,label,text\nann,t1,x,"So, it is."\nbob,t1,y,"So, it is."\nann,t2,x,No.\n'),
        ("a.csv", 'id,title,text\nt1,A,"So, it is."\nt2,B,No.\n'),
        ("a.jsonl", '{"id": "t1", "text": "So, it is."}\n{"id": "t2", "text": "No."}\n'),
    ],
)
def test_columns_are_found(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    assert read_texts(tmp_path / name, ["t2", "t1"]) == ({"t1": "So, it is.", "t2": "No."}, "")


def test_numbers_are_names(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": 7, "text": "Seven."}\n')
    assert read_texts(tmp_path / "a.jsonl", ["7"]) == ({"7": "Seven."}, "")


def test_items_without_a_text_are_counted(tmp_path):
    (tmp_path / "a.csv").write_text("id,text\nt1,Yes.\nt2,\nt9,Other.\n")
    found, said = read_texts(tmp_path / "a.csv", ["t1", "t2", "t3"])
    assert found == {"t1": "Yes."}
    assert said.endswith("a.csv: no text of 2 items")


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ("id,text\nx1,Yes.\n", "got no text of any item: its first id is 'x1', the first item 't1'"),
        ("id,text\nt1,Yes.\nt1,No.\n", r"a.csv:3: item 't1': got two different texts, wanted one"),
        ("id,a,b\nt1,Yes.,No.\n", r"a.csv:1:1: got the columns id, a, b, wanted a header with an id and a text"),
        ("a,b,text\nt1,Yes.,No.\n", r"a.csv:1:1: got the columns a, b, text, wanted one of ids"),
        ("text\nYes.\n", "wanted a header with an id and a text"),
    ],
)
def test_what_gives_no_texts_is_refused(tmp_path, content, wanted):
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(DataError, match=wanted):
        read_texts(tmp_path / "a.csv", ["t1"])
