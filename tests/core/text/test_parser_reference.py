"""The kernels against the plain reference parser, on texts made of everything the grammar knows and does not know."""

import importlib.util
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hutch.core.batch import CONSTANT_NAMESPACE, Batch
from hutch.core.text.parser import ParserOptions, TextParser

_spec = importlib.util.spec_from_file_location("reference_parser", Path(__file__).with_name("reference_parser.py"))
assert _spec and _spec.loader
reference = importlib.util.module_from_spec(_spec)
__import__("sys").modules["reference_parser"] = reference
_spec.loader.exec_module(reference)

CONFIGURATIONS = [
    ParserOptions(),
    ParserOptions(namespaces="letter", bits=10),
    ParserOptions(hash="all", hash_seed=7, namespaces="letter"),
    ParserOptions(hash_seed=4294967295, bits=32, constant=False),
    ParserOptions(label="multiclass", namespaces="letter"),
    ParserOptions(label="cost_sensitive"),
    ParserOptions(label="none", hash="all"),
    ParserOptions(words=True),
]

labels = st.sampled_from(
    [b"", b"1 ", b"-1 ", b"0.779 2 ", b"1 2 0.5 ", b"3 1.5 'tag", b"1", b"7 tag", b"x ", b"1 2 3 4 ", b"1 -2 ", b"nan "]
    + [b"' ", b"''q", b"1:0.5 2:3 3 ", b"4:x ", b"+2 ", b"16777217 ", b"t\t1 ", b"1  ", b" ", b"e ", b"inf ", b"1e2 "]
)
names = st.sampled_from(
    [b"a", b"ab", b"12", b"012", b"00000000", b"12345678", b"123456789", b"abcdefgh", b"abcdefghi", b"0123456789abcdef"]
    + [b"99999999999999999999", b"n" * 17, b"-5", b"1.5", b"\xc3\xa9", b"", b"\x01", b"a\x00b", b"9" * 16]
)
values = st.sampled_from(
    [b"1", b"0.5", b"-0.25", b"0", b"-0", b"1e-3", b"1E2", b".5e1", b"5.", b"0.1483", b"12345678", b"16777215.5", b"x"]
    + [
        b"nan",
        b"inf",
        b"0x10",
        b"+3",
        b"1e+2",
        b"1x",
        b"",
        b" 3",
        b"e",
        b"-",
        b"1e-",
        b".",
        b"1e39",
        b"1e-45",
        b"1:2",
        b":3",
    ]
    + [
        b"0.123456789012345678",
        b"1_0",
        b"1e200",
        b"3|",
        b"\r4",
        b"infinity",
        b"nan(1)",
        b"..",
        b"1.2.3",
        b"--1",
        b"\x00",
    ]
)
features = st.one_of(names, st.builds(lambda n, v: n + b":" + v, names, values))
blanks = st.sampled_from([b" ", b" ", b" ", b"  ", b"\t", b" \t "])
heads = st.sampled_from(
    [b"f", b"f", b"foo", b"g", b"", b"12", b"h:2", b"f:0.5", b"g:x", b":", b"f:nan", b"f:0", b"f:1e40"]
)


usual_names = st.sampled_from([b"a", b"12", b"abcdefg", b"12345678", b"feature10"])
usual_values = st.sampled_from([b"", b":1", b":0.5", b":-0.25", b":0.123456"])


@st.composite
def namespaces(draw: st.DrawFn) -> bytes:
    parts = draw(st.lists(st.tuples(blanks, features), max_size=4))
    if draw(st.booleans()):  # written alike, as kernels read eight at a time
        parts += draw(st.integers(6, 20)) * [(b" ", draw(usual_names) + draw(usual_values))]
        parts += draw(st.lists(st.tuples(blanks, features), max_size=2))
    return (
        b"|" + draw(heads) + b"".join(blank + feature for blank, feature in parts) + draw(st.sampled_from([b"", b" "]))
    )


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    """Lines by the grammar, some of which are then damaged."""
    line = st.builds(lambda label, rest: label + b"".join(rest), labels, st.lists(namespaces(), max_size=4))
    odd = st.sampled_from([b"", b"\r", b" ", b"\xef\xbb\xbf", b"\xef\xbb\xbf1 |f a", b"# c |f a", b"|", b"||", b"\r\r"])
    ends = st.sampled_from([b"\n", b"\n", b"\r\n"])
    lines = draw(st.lists(st.tuples(st.one_of(line, line, odd, st.binary(max_size=12)), ends), max_size=8))
    text = b"".join(part for pair in lines for part in pair)
    return text if draw(st.booleans()) else text.removesuffix(b"\n")


def rows(batch: Batch) -> list[dict[str, object]]:
    return [
        {
            "label": batch.labels[i],
            "importance": batch.importance[i],
            "base": batch.base[i],
            "tag": batch.tag(i),
            "group": batch.group[i],
            "namespaces": [
                (key, list(zip(indices.tolist(), values.tolist(), strict=True)))
                for key, indices, values in batch.row(i)
            ],
            "costs": list(
                zip(
                    batch.cost_classes[slice(*batch.cost_ptr[i : i + 2])].tolist(),
                    batch.costs[slice(*batch.cost_ptr[i : i + 2])].tolist(),
                    strict=True,
                )
            )
            if len(batch.cost_ptr)
            else [],
        }
        for i in range(len(batch))
    ]


def expected(found: list[object]) -> list[dict[str, object]]:
    result = [dict(vars(row)) for row in found]
    for row in result:
        row["namespaces"] = [
            (CONSTANT_NAMESPACE if key == -1 else key, features) for key, features in row["namespaces"].items()
        ]
    return result


@pytest.mark.parametrize("options", CONFIGURATIONS, ids=str)
@settings(max_examples=25, deadline=None)
@given(text=texts())
def test_kernels_agree_with_the_reference(options: ParserOptions, text: bytes) -> None:
    parser, plain = TextParser(options), reference.ReferenceParser(options)
    assert rows(parser.parse(text)) == expected(plain.parse(text))
    assert parser.line == plain.line
    assert dict(enumerate(parser.problems.counts)) == {k: 0 for k in range(len(parser.problems.counts))} | Counter(
        kind for kind, _ in plain.problems
    )
    lines_by_kind = {kind: [line for k, line in plain.problems if k == kind][:5] for kind, _ in plain.problems}
    assert {k: [p.line for p in parser.problems if p.kind == k] for k in lines_by_kind} == lines_by_kind


@settings(max_examples=50, deadline=None)
@given(text=texts(), cuts=st.lists(st.integers(0, 400), max_size=4))
def test_splitting_at_line_ends_changes_nothing(text: bytes, cuts: list[int]) -> None:
    whole, split = TextParser(), TextParser()
    ends = sorted({0, len(text)} | {text.rfind(b"\n", 0, cut) + 1 for cut in cuts})
    pieces = [text[a:b] for a, b in zip(ends, ends[1:], strict=False)]
    assert rows(whole.parse(text)) == [row for piece in pieces for row in rows(split.parse(piece))]
    assert [str(p) for p in whole.problems] == [str(p) for p in split.problems]
    assert np.array_equal(whole.problems.counts, split.problems.counts)
