"""The text parser: grammar, labels, numbers, problems, buffers; indices and values as VW prints them."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hutch.core.batch import Batch
from hutch.core.errors import ConfigError, DataError
from hutch.core.kernel.abi import UNLABELED
from hutch.core.text import problems as kinds
from hutch.core.text.hashing import hash_feature, namespace_id
from hutch.core.text.parser import ParserOptions, TextParser

shared = Path(__file__).parents[3].parent / "shared"
LETTER = ParserOptions(namespaces="letter", constant=False)
FULL = {"a": 14355, "b": 146788, "c": 253856, "d": 166545, "e": 127882, "": 34875}


def parse(text: bytes | str, **options: Any) -> Batch:
    wanted = {"namespaces": "letter", "constant": False} | options
    return TextParser(ParserOptions(**wanted)).parse(text.encode() if isinstance(text, str) else text)


def features(batch: Batch, i: int = 0) -> list[tuple[int, float]]:
    piece = slice(batch.row_ptr[i], batch.row_ptr[i + 1])
    return list(zip(batch.indices[piece].tolist(), batch.values[piece].tolist(), strict=True))


@pytest.mark.parametrize(
    ("line", "label", "importance", "base", "tag"),
    [
        ("1|f a", None, 1, 0, b"1"),
        ("1 |f a", 1, 1, 0, b""),
        ("1 2|f a", 1, 1, 0, b"2"),
        ("1 2 |f a", 1, 2, 0, b""),
        ("1 2 0.5|f a", 1, 2, 0, b"0.5"),
        ("1 2 0.5 |f a", 1, 2, 0.5, b""),
        ("1 2 0.5 tag|f a", 1, 2, 0.5, b"tag"),
        ("1 2 0.5 'tag |f a", 1, 2, 0.5, b"tag"),
        ("1 'tag|f a", 1, 1, 0, b"tag"),
        ("'tag |f a", None, 1, 0, b"tag"),
        ("''q|f a", None, 1, 0, b"'q"),
        ("'|f a", None, 1, 0, b""),
        (" 1 |f a", 1, 1, 0, b""),
        ("|f a", None, 1, 0, b""),
        ("1", None, 1, 0, b"1"),
        ("1 f a", 1, 0, 0, b"a"),
        ("foo\t1 |f a", 1, 1, 0, b""),
        ("1\t|f a", None, 1, 0, b""),
        ("1 2\t0.5 |f a", 0.5, 1, 0, b""),
        ("-0.5 0.25 0.125 'x/y:z |f a", -0.5, 0.25, 0.125, b"x/y:z"),
        ("x |f a", 0, 1, 0, b""),
        ("1 1 1 1 't |f a", None, 1, 0, b"t"),
        ("1 -1 |f a", 1, 0, 0, b""),
    ],
)
def test_simple_labels(line: str, label: float | None, importance: float, base: float, tag: bytes) -> None:
    batch = parse(line)
    assert batch.labels.tolist() == [UNLABELED if label is None else label]
    assert (batch.importance[0], batch.base[0]) == pytest.approx((importance, base), rel=2e-7)
    assert batch.tag(0) == tag


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("|f a b a a:2", [("a", 1), ("b", 1), ("a", 1), ("a", 2)]),
        ("|f:2 a:3 b", [("a", 6), ("b", 2)]),
        ("|f:0 a b", []),
        ("|f a:0 b:0.0 c:-0", []),
        ("|f  a \t b  ", [("a", 1), ("b", 1)]),
        ("|f a:1e-3 b:1E2 c:-.5 d:.5e1 e:5.", [("a", 0.001), ("b", 100), ("c", -0.5), ("d", 5), ("e", 5)]),
        ("|f a:3:4 b", [("a", 3)]),
        ("|f a: 3", [("a", 3)]),
        ("|f a:", [("a", 1)]),
        ("|f:x a b", []),
        ("|f:nan a b", [("a", 1), ("b", 1)]),
        ("|: a", []),
        ("|f a:nan b", [("b", 1)]),
        ("|f a:0x10 b:+3 c:1e+2", [("a", 16), ("b", 3), ("c", 100)]),
        ("|f a:1e-45 b", [("b", 1)]),
        ("|f a:e b", [("b", 1)]),
        ("|f a\rb c", [("a", 1)]),
        ("|f a |f b", [("a", 1), ("b", 1)]),
    ],
)
def test_features(rest: str, expected: list[tuple[str, float]]) -> None:
    found = features(parse("1 " + rest))
    assert [index for index, _ in found] == [FULL[name] for name, _ in expected]
    assert [value for _, value in found] == pytest.approx([value for _, value in expected], rel=2e-7)


def test_nameless_features_are_numbered_within_their_namespace() -> None:
    assert features(parse("1 |f :3 :4 :0 :5 |f :6")) == [(34875, 3.0), (34876, 4.0), (34878, 5.0), (34875, 6.0)]


@pytest.mark.parametrize(
    ("rest", "index"),
    [("a:x", 187176), ("b:y", 28749), ("a::3", 27530), (":v", 132589), ("b:x12", 190856), ("a: b", 229422)],
)
def test_string_values_are_chained_and_worth_one(rest: str, index: int) -> None:
    assert features(parse(f"1 |f:3 {rest}")) == [(index, 1.0)]


@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_line_ends_and_byte_order_marks(end: str) -> None:
    text = f"\ufeff1 |f a{end}" if not end else f"\ufeff1 |f a{end}\ufeff-1 |f b{end}"
    batch = parse(text)
    assert features(batch, 0) == [(FULL["a"], 1.0)]
    assert batch.labels.tolist() == ([1, -1] if end else [1])


def test_empty_lines_end_groups_and_blank_lines_are_examples() -> None:
    batch = parse("1 |f a\n2 |f b\n\n3 |f c\n \n\r\n\n4 |f d\n", constant=True)
    assert batch.group.tolist() == [0, 0, 1, 1, 3]
    assert batch.labels.tolist() == [1, 2, 3, UNLABELED, 4]
    assert features(batch, 3) == [(116060, 1.0)]


def test_constant_is_last_and_has_its_namespace() -> None:
    batch = parse("1 |g a |f b", constant=True, bits=24)
    assert [key for key, _, _ in batch.row(0)] == [ord("g"), ord("f"), 128]
    assert features(batch)[-1] == (11650396, 1.0)


def test_namespaces_by_letter_and_by_name() -> None:
    text = "1 |foo a |bar b |fab c |foo d | e |empty |foo"
    by_letter = [(chr(key), len(indices)) for key, indices, _ in parse(text).row(0)]
    assert by_letter == [("f", 3), ("b", 1), (" ", 1)]
    by_name = [(key, len(indices)) for key, indices, _ in parse(text, namespaces="name").row(0)]
    names = ("foo", "bar", "fab", "")
    assert by_name == [(namespace_id(name), 2 if name == "foo" else 1) for name in names]
    expected = [("foo", "a"), ("foo", "d"), ("bar", "b"), ("fab", "c"), ("", "e")]
    assert [index for index, _ in features(parse(text, namespaces="name"))] == [
        hash_feature(namespace, name) & (2**18 - 1) for namespace, name in expected
    ]


def test_multiclass_labels() -> None:
    lines = ("3 |f a", "+12 0.5 'x |f a", "0 |f a", "1.0 |f a", "-1 |f a", "3 1 1 |f a", "7|f a", "5 -1 |f a")
    batch = parse("\n".join(lines), label="multiclass")
    unlabeled = float(UNLABELED)
    assert batch.labels.tolist() == [3, 12, 0, unlabeled, unlabeled, unlabeled, unlabeled, 5]
    assert batch.importance.tolist() == [1, 0.5, 1, 1, 1, 1, 1, 0]


def test_cost_sensitive_labels() -> None:
    parser = TextParser(ParserOptions(label="cost_sensitive"))
    batch = parser.parse(b"1:0.5 2:0.25 3 'tag |f a\n|f b\n4 5 |f c\nx:1 6:y 7: 8:nan 9:-1 2:1x |f d\n")
    assert batch.cost_ptr.tolist() == [0, 3, 3, 5, 6]
    assert batch.cost_classes.tolist() == [1, 2, 3, 4, 5, 9]
    assert batch.costs.tolist() == [0.5, 0.25, UNLABELED, UNLABELED, UNLABELED, -1]
    assert batch.labels.tolist() == [2, UNLABELED, UNLABELED, 9]
    assert batch.tag(0) == b"tag"
    assert parser.problems.counts[kinds.BAD_COST] == parser.problems.errors == 5


@pytest.mark.parametrize("zeros", [33, 34, 35, 36, 60])
def test_decimals_beyond_what_a_float32_holds_change_nothing(zeros: int) -> None:
    assert features(parse(f"1 |f a:0.25{'0' * zeros}"))[0][1] == pytest.approx(0.25, rel=1e-5)


def test_no_labels() -> None:
    parser = TextParser(ParserOptions(label="none"))
    batch = parser.parse(b"x y 'tag |f a\n3|f b\n")
    assert batch.labels.tolist() == [UNLABELED, UNLABELED]
    assert [batch.tag(0), batch.tag(1)] == [b"tag", b"3"]
    assert not parser.problems.counts.any()


@pytest.mark.parametrize(
    ("text", "units"),
    [("0.779", -1), ("1e-3", -1), ("0.5", 0), ("0.1", 0), ("-12345678", 0), ("1e-10", -2), ("1e10", 0)],
)
def test_numbers_differ_from_correct_rounding_where_those_of_vw_do(text: str, units: int) -> None:
    value = np.float32(features(parse(f"1 |f a:{text}"))[0][1])
    assert int(value.view(np.uint32)) - int(np.float32(text).view(np.uint32)) == units


def test_numbers_of_every_length_are_those_of_vws_loop() -> None:
    """Digits accumulate in float32, and powers of ten come from repeated division."""
    rng, ten = np.random.default_rng(11), np.float32(10)
    texts = ["".join(rng.choice(list("0123456789"), rng.integers(1, 20))) for _ in range(3000)]
    texts = [text[: (at := int(rng.integers(0, len(text) + 1)))] + "." + text[at:] for text in texts]
    batch = parse("".join(f"1 |f a:{text} b\n" for text in texts))
    found = {i: values[0] for i, text in enumerate(texts) for _, _, values in batch.row(i) if len(values) == 2}
    assert len(found) > 2900
    for i, value in found.items():
        whole, _, decimals = texts[i].partition(".")
        number, power = np.float32(0), np.float32(1)
        for digit in whole:
            number = np.float32(np.float32(number * ten) + np.float32(ord(digit))) - np.float32(48)
        for digit in decimals:
            number = np.float32(number * ten) + np.float32(int(digit))
        for _ in decimals:
            power = power / ten
        assert value == number * power, texts[i]


def test_infinite_values_are_kept_and_reported() -> None:
    parser = TextParser(LETTER)
    assert features(parser.parse(b"1 |f a:1e39 b:inf\n1 |f:1e20 a:1e20\n1 |f:1e30 a:0\n")) == [
        (FULL["a"], np.inf),
        (FULL["b"], np.inf),
    ]
    assert parser.problems.counts[kinds.INFINITE_NUMBER] == 3


def test_an_infinite_number_before_the_bar_leaves_the_line_without_a_label() -> None:
    parser = TextParser(ParserOptions(label="simple"))
    batch = parser.parse(b"1e39 |f a\n1 inf |f a\n1 2 -1e39 |f a\n1 2 3 |f a\n")
    assert batch.labels.tolist() == [*[float(UNLABELED)] * 3, 1.0]
    assert batch.importance.tolist() == [1.0, 1.0, 1.0, 2.0] and batch.base.tolist() == [0.0, 0.0, 0.0, 3.0]
    assert parser.problems.counts[kinds.INFINITE_NUMBER] == 3


@pytest.mark.parametrize(
    ("line", "kind", "column", "got"),
    [
        ("x |f a", kinds.BAD_LABEL, 1, "x"),
        ("1x |f a", kinds.BAD_LABEL, 1, "1x"),
        ("- |f a", kinds.BAD_LABEL, 1, "-"),
        ("1 y |f a", kinds.BAD_IMPORTANCE, 3, "y"),
        ("1 2 z |f a", kinds.BAD_BASE, 5, "z"),
        ("1 -1 |f a", kinds.NEGATIVE_IMPORTANCE, 3, "-1"),
        ("1 2 3 4 |f a", kinds.TOO_MANY_LABEL_WORDS, 1, "1 2 3 4"),
        ("1 |: a", kinds.MISSING_NAMESPACE_NAME, 4, ": a"),
        ("1 |f:x a", kinds.BAD_NAMESPACE_VALUE, 4, "f:x"),
        ("1 |f:nan a", kinds.NAN_NAMESPACE_VALUE, 4, "f:nan"),
        ("1 |f é a:1x b", kinds.BAD_FEATURE_VALUE, 11, "x b"),
        ("1 |f a:nan", kinds.NAN_FEATURE_VALUE, 6, "a:nan"),
        ("1 |f a:1e99", kinds.INFINITE_NUMBER, 6, "a:1e99"),
        ("1 |f a\rb", kinds.CARRIAGE_RETURN, 7, "\rb"),
        ("1 |f a\0b", kinds.NUL_BYTE, 7, "\0"),
        ("1|f a", kinds.NUMBER_AS_TAG, 1, "1"),
        ("1 |f a: b", kinds.BLANK_AFTER_COLON, 6, "a: b"),
        ("1 |f color:e b", kinds.VALUE_WITHOUT_DIGITS, 6, "color:e"),
        ("1e400 |f a", kinds.MISREAD_NUMBER, 1, "1e400"),
        ("1 0x10 |f a", kinds.MISREAD_NUMBER, 3, "0x10"),
        ("1 |f a:1e256", kinds.MISREAD_NUMBER, 6, "a:1e256"),
        ("1 |f a:5e-220", kinds.MISREAD_NUMBER, 6, "a:5e-220"),
        ("1 |f:0x2 a:1", kinds.MISREAD_NUMBER, 4, "f:0x2"),
    ],
)
def test_problems_name_the_place(line: str, kind: int, column: int, got: str) -> None:
    parser = TextParser(LETTER, "train.vw")
    parser.parse(b"1 |f fine\n" + line.encode() + b"\n1 |f fine\n")
    (problem,) = parser.problems
    assert (problem.kind, problem.line, problem.column, problem.got) == (kind, 2, column, got)
    assert str(problem).startswith(f"train.vw:2:{column}: {kinds.KINDS[kind].name}: ")
    assert f"got {got!r}, wanted {kinds.KINDS[kind].wanted}" in str(problem)
    strict = TextParser(ParserOptions(strict=True), "train.vw")
    if kinds.KINDS[kind].hint:
        strict.parse(line.encode())
        assert strict.problems.hints == 1
    else:
        with pytest.raises(DataError, match=re.escape(f"train.vw:1:{column}: ")):
            strict.parse(line.encode())


def test_numbers_that_float32_holds_are_no_problem() -> None:
    parser = TextParser(LETTER)
    parser.parse(b"1e38 |f a:1e-37 b:1e-128 c:0.00001e-30 d:123456789012345678e10 xe:1 0x10:1 e400\n")
    assert not parser.problems.errors


def test_problems_are_all_counted_but_few_are_kept() -> None:
    parser = TextParser(LETTER, "a.vw")
    for _ in range(3):
        parser.parse(b"x |f a\n1|f b\n" * 10)
    assert parser.problems.counts[kinds.BAD_LABEL] == parser.problems.errors == 30
    assert parser.problems.hints == 30
    assert [p.line for p in parser.problems] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    assert parser.problems.summary() == [
        "30 x bad label, first at a.vw:1:1",
        "30 x number as tag, first at a.vw:2:1",
    ]


def test_lines_count_on_through_chunks_and_restart_with_a_source() -> None:
    parser = TextParser(LETTER, "a.vw")
    parser.parse(b"1 |f a\n\n")
    assert parser.parse(b"1 |f a\nx |f a\n").group.tolist() == [1, 1]
    parser.start("b.vw")
    assert parser.parse(b"\xef\xbb\xbfx |f a\n").group.tolist() == [2]
    assert [(p.source, p.line, p.column) for p in parser.problems] == [("a.vw", 4, 1), ("b.vw", 1, 1)]


def test_buffers_are_reused_and_grow() -> None:
    parser = TextParser(LETTER)
    small = parser.parse(b"1 |f a\n")
    assert small.labels.base is parser.parse(b"-1 |f b\n").labels.base
    assert small.labels.tolist() == [-1]
    big = parser.parse(b"2 |f a:2 b\n" * 10_000)
    assert len(big) == 10_000 and (big.labels == 2).all() and big.values.sum() == 30_000
    assert len(parser.parse(b"")) == 0


def test_a_long_line_with_many_namespaces() -> None:
    count = 30_000
    text = b"1 " + b"".join(b"|n%d a:%d " % (i % (count // 2), i + 1) for i in range(count)) + b"|n0 b"
    batch = parse(text, namespaces="name")
    assert len(batch.namespace_id) == count // 2
    rows = [values.tolist() for _, _, values in batch.row(0)]
    assert rows[0] == [1, count // 2 + 1, 1]
    assert rows[1:] == [[i + 1, i + 1 + count // 2] for i in range(1, count // 2)]


def test_a_line_of_megabytes_without_delimiters() -> None:
    name = b"x" * 3_000_000
    assert features(parse(b"1 |f " + name)) == [(hash_feature("f", name) & (2**18 - 1), 1.0)]
    assert parse(name).tag(0) == name


def test_binary_junk_is_survived() -> None:
    rng = np.random.default_rng(3)
    for size in (1, 63, 64, 65, 1000, 200_000):
        junk = rng.integers(0, 256, size, np.uint8)
        parser = TextParser()
        batch = parser.parse(junk)
        assert parser.line == junk[:-1].tobytes().count(b"\n") + 1
        assert batch.row_ptr[-1] == len(batch.indices) == len(batch.values) == batch.namespace_ptr[-1]
        assert (np.diff(batch.row_ptr) > 0).all() and batch.indices.max(initial=0) < 2**18


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bits": 0}, "bits: got 0, wanted 1 to 32"),
        ({"bits": 33}, "bits: got 33"),
        ({"hash": "none"}, "hash: got 'none', wanted one of strings, all"),
        ({"label": "multi"}, "label: got 'multi'"),
        ({"namespaces": "first"}, "namespaces: got 'first'"),
        ({"hash_seed": -1}, "hash_seed: got -1"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        ParserOptions(**options)


CASES = [
    path for area in ("parse", "bits") for path in sorted((shared / "cases" / "vw" / area).glob("*")) if path.is_dir()
]


@pytest.mark.skipif(not shared.is_dir(), reason="VW's recorded output is not distributed with Hutch")
@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_audit_output_of_vw(case: Path) -> None:
    """Indices, values and tags against what VW 9.11.9 printed for the same file."""
    arguments = (case / "args").read_text().split()
    given = dict(zip(arguments, arguments[1:] + [""], strict=True))
    options = ParserOptions(
        bits=int(given.get("-b", 18)),
        hash=given.get("--hash", "strings"),  # type: ignore[arg-type]
        hash_seed=int(given.get("--hash_seed", 0)),
        constant="--noconstant" not in given,
        namespaces="letter",
    )
    batch = TextParser(options).parse((case / "input.vw").read_bytes())
    predictions = (case / "out1.pred").read_bytes().splitlines()
    if "--strict_parse" not in given:
        assert [batch.tag(i) for i in range(len(batch))] == [line.partition(b" ")[2] for line in predictions]
    if "--audit" not in given:
        return
    audit = [line[1:] for line in (case / "out1.stdout").read_bytes().split(b"\n") if line.startswith(b"\t")]
    assert len(audit) == len(batch)
    for i, line in enumerate(audit):
        linear = [field for field in line.split(b"\t") if b"*" not in field]
        printed = [re.search(rb":(\d+):([^:@]+):[^:@]+@", field) for field in linear]
        wanted = sorted((int(match[1]), float(match[2])) for match in printed if match)
        assert sorted((index, float(f"{value:g}")) for index, value in features(batch, i)) == wanted


@pytest.mark.parametrize("odd", [b"1 2 'tag|f a\n", b"1 |f a:+3\n", b"1 |f a |g b |f c\n", b"\xef\xbb\xbf1 |f a\n"])
@pytest.mark.parametrize("before", [0, 1, 200])
def test_a_line_that_needs_another_kernel_is_gone_on_from(odd: bytes, before: int) -> None:
    """Kernels of rare lines are compiled when a parser meets the first one, amid a text."""
    usual = b"1 |f a:0.5 b\n\n2 |g c d:-1\n"
    text = before * usual + odd + usual + b"3 'last|f x:1e+1\n"
    parser = TextParser()
    first = parser.parse(text)
    found = {field.name: getattr(first, field.name).copy() for field in fields(Batch)}
    assert parser.line == text.count(b"\n")
    again = TextParser()
    again.parse(odd + b"3 'last|f x:1e+1\n")  # now it has all kernels
    again.start("again")
    second = again.parse(text)
    second.group -= second.group[0]
    for name, array in found.items():
        assert np.array_equal(array, getattr(second, name)), name


def test_an_interrupt_while_kernels_are_compiled_leaves_a_parser_that_parses() -> None:
    parser, line = TextParser(LETTER), b"1 2 'tag |f a:1e30x"

    def interrupted(kind: int) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("hutch.core.text.parser.label_parser", interrupted)
        with pytest.raises(KeyboardInterrupt):
            parser.parse(line)
    assert parser.parse(line).importance.tolist() == [2]
