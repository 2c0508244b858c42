"""Lines read a block at a time, in columns, against each line read by itself, byte by byte."""

import random
from dataclasses import fields, replace

import numpy as np
import pytest

from hutch.core.batch import Batch
from hutch.core.text.parser import LabelKind, ParserOptions, TextParser

MARK = b"\xef\xbb\xbf"
"""A byte order mark at a line's beginning does not count, but leaves the line to the slow parser."""

ODD = ["a:x", "b:", ":", "::", "c: 3", "d:1:2", "e:nan", "f:1e40", "g:-", "h|", "i\x01j", "\r", "k:0x10", "l:.", "m:+1"]
LABELS = ["1 ", "-1 ", "", "0.5 2 ", "1 1 0.5 'tag", "'x", "2 ", "inf ", "x ", "1 2 3 4 ", "7", "\t1 ", "1:0.5 2:1 "]


def word(random: random.Random) -> str:
    if random.random() < 0.3:
        return str(random.randrange(10 ** random.randint(1, 18)))
    return "".join(random.choice("abcxyz_09é^-") for _ in range(random.randint(1, random.choice((6, 12, 30)))))


def value(random: random.Random) -> str:
    kind = random.random()
    if kind < 0.15:
        return random.choice(("0", "-0", "0.0", "1", "1.", ".5", "1e-3", "2E1", "16777216", "0.000000000123", "1e-46"))
    digits = f"{random.random() * 10 ** random.randint(0, 6):.{random.randint(0, 10)}f}"
    return ("-" if kind < 0.4 else "") + digits


def feature(random: random.Random, odd: float) -> str:
    if random.random() < odd:
        return random.choice(ODD)
    name = "" if random.random() < 0.05 else word(random)
    return f"{name}:{value(random)}" if not name or random.random() < 0.6 else name


def line(random: random.Random, odd: float) -> str:
    kind = random.random()
    if kind < 0.03:
        return random.choice(("", "", " ", "1", "\t", "\r", "|", "|a", "1 |a|b"))
    parts = [random.choice(LABELS[:4] if random.random() < 0.8 else LABELS)]
    for _ in range(random.choice((1, 1, 2, 4, 20 if kind > 0.99 else 3))):
        weight = random.choice((":2", ":0.25", ":0", ":-1.5", ":1", ":x")) if random.random() < 0.1 else ""
        parts.append("|" + random.choice(("", "a", "b", "user", "item", "long_name_of_a_namespace", "12")) + weight)
        most = random.choice((0, 3, 9, 30, 400 if kind > 0.995 else 10))
        parts += [feature(random, odd) for _ in range(random.randint(0, most))]
    text = parts[0] + random.choice((" ", " ", " ", "  ", "\t")).join(parts[1:])
    return text + random.choice(("", "", "", " ", "\r", " \r", "\t"))


def same(found: Batch, wanted: Batch) -> bool:
    """Whether two batches hold the same bits."""
    return all(
        np.array_equal(getattr(found, each.name).view(np.uint8), getattr(wanted, each.name).view(np.uint8))
        for each in fields(Batch)
    )


@pytest.mark.parametrize("odd", [0.0, 0.001, 0.1])
@pytest.mark.parametrize(
    "options",
    [
        ParserOptions(),
        ParserOptions(bits=24, namespaces="letter", hash="all", hash_seed=5, constant=False),
        ParserOptions(label="multiclass", zeros=True),
        ParserOptions(label="cost_sensitive", bits=32),
    ],
)
def test_blocks_are_read_as_their_lines_are(options: ParserOptions, odd: float) -> None:
    generator = random.Random(repr((options, odd)))
    lines = [line(generator, odd).encode() for _ in range(1500)]
    at_once, by_line = TextParser(options), TextParser(replace(options))
    found = at_once.parse(b"\n".join(lines) + b"\n")
    wanted = by_line.parse(b"".join((MARK if each.strip(b"\r") else b"") + each + b"\n" for each in lines))
    assert same(found, wanted)
    assert list(map(str, at_once.problems)) == list(map(str, by_line.problems))
    assert np.array_equal(at_once.problems.counts, by_line.problems.counts)


@pytest.mark.parametrize("label", ["simple", "none"])
def test_a_malformed_value_costs_its_line_alone(label: LabelKind) -> None:
    lines = [b"1 |f a:0.5 b c:%d" % k for k in range(1, 3000)]
    lines[1234] = b"1 |f a:0.5 b:0.5x c"
    parser = TextParser(ParserOptions(label=label))
    batch = parser.parse(b"\n".join(lines))
    assert np.diff(batch.row_ptr).tolist() == [3 if k == 1234 else 4 for k in range(len(lines))]
    assert [problem.line for problem in parser.problems] == [1235]


@pytest.mark.parametrize(
    "text", [b"\n" * 50_000, b"|" * 50_000, b"|a " * 20_000, b" \n" * 30_000, b"1 | " + b"a " * 40_000]
)
def test_texts_of_delimiters_have_room(text: bytes) -> None:
    batch, wanted = (
        TextParser().parse(text),
        TextParser().parse(b"".join(MARK + part for part in text.splitlines(True))),
    )
    assert same(batch, wanted) or text.startswith(b"\n")
    assert len(batch) == (0 if text.startswith(b"\n") else max(1, text.count(b"\n")))
