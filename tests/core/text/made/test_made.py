"""Features made of names: indices that Vowpal Wabbit 9.11.9 shows, a twin on random lines, and what is refused."""

import random

import numpy as np
import pytest

from hutch.chain import Chain
from hutch.core.errors import ConfigError, DataError
from hutch.core.text.names import feature_names
from hutch.core.text.parser import TextParser

LINES = """1 |a hello world:2 12345 :3 name:wörd |b hello Hi-5.x
-1 |b 77 zz |a foo:0 foo |a bar
0 | anon x:-1 |c hello
"""
WORDS = """hello f:1 g:2
foo |z q
x y:3 w
hello no:1
bar p p 12:4 |u y | k
"""
AFFIXES = [
    {"namespace": "a", "suffix": 3},
    {"namespace": "a", "prefix": 2},
    {"namespace": "b", "suffix": 2},
    {"namespace": "b", "prefix": 1},
    {"prefix": 3},
]


def chain(namespaces="letter", bits=20, **made):
    made = {"namespaces": namespaces} | made
    return Chain.from_config({"weights": {"bits": bits}, "input": made, "chain": ["linear"]})


def rows(found, text):
    batch = TextParser(found.parser).parse(text.encode())
    return [[(name, i.tolist(), v.tolist()) for name, i, v in batch.row(row)] for row in range(len(batch))]


def test_indices_of_vw(tmp_path):
    """`--affix +2a,-3a,+1b,-2b,+3 --spelling a --spelling _ --dictionary a:words --dictionary words --audit`."""
    (tmp_path / "words").write_text(WORDS)
    words = str(tmp_path / "words")
    dictionaries = [{"namespace": "a", "file": words}, {"file": words}]
    found = rows(chain(affixes=AFFIXES, shapes=["a", ""], dictionaries=dictionaries), LINES)
    assert found[0][:3] == [
        (
            132,
            [847726, 13212, 302406, 411364, 439777, 440308, 315240, 477548, 218931, 192820, 609416, 587852],
            [1, 1, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1],
        ),
        (133, [69798, 69798, 354738, 354738, 784610], [1, 2, 1, 3, 1]),
        (135, [297019, 713750], [1, 2]),
    ]
    assert [name for name, _, _ in found[1]] == [132, 98, 133, 97, 135, 128]
    assert found[1][4] == (135, [1040282, 1040282, 12, 894417], [1, 1, 4, 1])
    assert found[2] == [
        (132, [991232, 960448], [1, -1]),
        (133, [973191, 354738], [1, -1]),
        (135, [889366, 236831], [3, 1]),
        (32, [407881, 695067], [1, -1]),
        (99, [529773], [1]),
        (128, [116060], [1]),
    ]


@pytest.mark.parametrize("namespaces", ["letter", "name"])
def test_names_have_the_indices_of_their_features(namespaces, tmp_path):
    """The twin in Python, which reports names, and the kernels agree on random lines."""
    draw = random.Random(7)
    (tmp_path / "words").write_text("".join(f"w{k} x:{k + 1} y{k % 3}\n" for k in range(40)))
    made = {
        "affixes": [{"namespace": "f", "prefix": 2}, {"namespace": "g", "suffix": 1}, {"prefix": 7}],
        "shapes": ["g", "new"],
        "dictionaries": [{"namespace": "f", "file": str(tmp_path / "words")}],
        "renamed": {"new": ["old", "f2"]} if namespaces == "name" else {"g": ["o"]},
    }
    found = chain(namespaces, bits=14, **made)
    for _ in range(300):
        spaces = [draw.choice(["f", "g", "old", "f2", "", "other"]) for _ in range(draw.randint(1, 5))]
        line = "1 " + "".join(
            f"|{space}{draw.choice(['', ':2']) if space else ''} "
            + "".join(f"{draw.choice(['w', 'Ü.', '9', ''])}{draw.randrange(60)}{draw.choice(['', ':0.5', ':v'])} "
                      for _ in range(draw.randint(0, 4)))
            for space in spaces
        )  # fmt: skip
        [row] = rows(found, line)
        told = sorted(one.index for one in feature_names(line, found.parser))
        assert sorted(index for _, indices, _ in row for index in indices) == told, line
        assert len({name for name, _, _ in row}) == len(row)


def test_chunks_and_single_lines_agree(tmp_path):
    (tmp_path / "data.vw").write_text(LINES * 50)
    ways = [chain(affixes=AFFIXES, shapes=["a"], renamed={"a": ["c"]}) for _ in range(3)]
    whole = ways[0].learn(LINES * 50)
    single = np.concatenate([ways[1].learn([line]) for line in (LINES * 50).splitlines()])
    file = ways[2].learn(tmp_path / "data.vw")
    assert whole.tolist() == single.tolist() == file.tolist()
    assert len({bytes(each.weights.data) for each in ways}) == 1


def test_zero_and_empty():
    found = chain(affixes=[{"namespace": "a", "prefix": 1}], shapes=["a"])
    assert rows(found, "1 |a x:0 |b y\n\n|a\n") == [[(98, *rows(chain(), "|b y")[0][0][1:]), (128, [116060], [1])],
                                                    [(128, [116060], [1])]]  # fmt: skip


def test_renamed_namespaces_become_one():
    found = chain("name", renamed={"words": ["title", "body"]})
    plain = rows(chain("name"), "|title a |x b |body c |words d")[0]
    [words, other, constant] = rows(found, "|title a |x b |body c |words d")[0]
    assert words[1] == [plain[0][1][0], plain[2][1][0], plain[3][1][0]]
    assert other == plain[1] and constant == plain[4]


def test_a_dictionary_with_a_mistake_is_refused_with_its_place(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("good x:1\nbad y:nan\n")
    with pytest.raises(DataError, match=r"words.txt:2:5"):
        chain(dictionaries=[{"file": str(path)}])
    with pytest.raises(DataError, match="no such file"):
        chain(dictionaries=[{"file": str(tmp_path / "none.txt")}])


def test_a_packed_dictionary(tmp_path):
    import gzip

    (tmp_path / "words.gz").write_bytes(gzip.compress(b"x y:3"))
    (tmp_path / "words").write_bytes(b"\n  x\ty:3\r\nz\n")
    ways = [rows(chain(dictionaries=[{"file": str(tmp_path / name)}]), "| x") for name in ("words", "words.gz")]
    assert ways[0] == ways[1]
    assert ways[0][0][0] == (135, [889366], [3])


@pytest.mark.parametrize("examples", [{"label": 1, "a": ["x"]}, np.ones((2, 2)), [{"label": 1, "a": ["x"]}]])
def test_only_text(examples):
    found = chain("name", shapes=["a"])
    with pytest.raises(DataError, match="only names in text become features"):
        found.learn(examples)


@pytest.mark.parametrize("affix", [{}, {"prefix": 1, "suffix": 2}, {"prefix": 8}, {"suffix": 0}])
def test_affixes_that_are_none(affix):
    with pytest.raises(ConfigError, match=r"input\.affixes"):
        chain(affixes=[affix])


def test_a_cache_is_not_used_for_other_features(tmp_path):
    (tmp_path / "data.vw").write_text(LINES)
    (tmp_path / "words").write_text("hello a\n")
    made = {"dictionaries": [{"file": str(tmp_path / "words"), "namespace": "a"}]}

    def count():
        found = chain(**made)
        files = found.files([str(tmp_path / "data.vw")], cache=str(tmp_path / "cache"))
        return sum(len(batch.indices) for batch in files)

    first = count()
    assert count() == first
    (tmp_path / "words").write_text("hello a b c\n")
    assert count() == first + 2
