"""Names in one buffer behave as the list of them."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hutch.crowd.data import names as module
from hutch.crowd.data.names import Names
from hutch.crowd.read.labels import read_labels

TEXTS = st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=5), max_size=20)


@given(TEXTS, st.integers(-25, 25), st.integers(-25, 25), st.sampled_from([None, 1, 2, -1]), st.integers(1, 8))
def test_names_are_their_list(texts, a, b, step, block):
    before, module._BLOCK = module._BLOCK, block
    try:
        names = Names.of(iter(texts))
        assert list(names) == texts == names and names == texts and len(names) == len(texts)
        assert names[a:b:step] == texts[a:b:step] and list(names[a:b:step]) == texts[a:b:step]
        assert list(names[1:][a:b]) == texts[1:][a:b] and names[1:] == Names.of(texts[1:])
        for place in (a, np.int32(b)):
            if -len(texts) <= place < len(texts):
                assert names[place] == texts[place] and names.index(texts[place]) == texts.index(texts[place])
            else:
                with pytest.raises(IndexError):
                    names[place]
        assert pickle.loads(pickle.dumps(names[a:b])) == texts[a:b] and "no such" not in names
        assert names != [*texts, "more"] and names != "text" and eval(repr(names)) == names
        assert names.broken() is None and names[a:b].broken() is None
    finally:
        module._BLOCK = before


def test_a_part_of_a_large_table_is_small_where_it_is_sent():
    names = Names.of(f"name{i}" for i in range(10_000))
    assert len(pickle.dumps(names[:10])) < 500 < len(pickle.dumps(names)) / 100


@pytest.mark.parametrize("block", [1, 2, 16])
@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        ([b"a", "é".encode()], None),
        ([b"a", b"\xff", b"\xfe"], 1),
        ([b"a", b"b", "é".encode()[:1], "é".encode()[1:]], 2),  # together they are a character
        ([b"", b"", b"\xa9"], 2),
    ],
)
def test_bytes_that_are_no_characters_are_found(names, wanted, block, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", block)
    offsets = np.cumsum([0, *map(len, names)])
    assert Names(offsets, np.frombuffer(b"".join(names), np.uint8)).broken() == wanted


def test_tasks_of_a_file_are_names_whatever_their_quotes(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text('worker,task,label\nann,"a ""b""",x\nbob,t2,y\nann,é,x\nbob,"a ""b""",y\n')
    labels = read_labels(path, gold={"é": "y", "none": "x"})
    assert isinstance(labels.item_names, Names) and labels.item_names == ['a "b"', "t2", "é"]
    assert labels.gold.tolist() == [-1, -1, 1] and labels.unmatched_gold == 1
    path.write_text("worker,task,label\nann,t1,x\nbob,t2,y\n")
    assert isinstance(read_labels(path).item_names, Names)
