import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hutch.core.run.predictions import PredictionText, score_lines


def as_c_prints(value: float) -> str:
    """VW's rule: fixed, six decimals, none for whole numbers."""
    whole = not math.isfinite(value) or value == math.floor(value)
    text = f"{value:.0f}" if whole else f"{value:.6f}"
    return "-nan" if math.isnan(value) and math.copysign(1, value) < 0 else text


def lines(values: list[float], tags: list[bytes] | None = None) -> list[bytes]:
    tags = tags or [b""] * len(values)
    ends = np.cumsum([0, *map(len, tags)])
    text = PredictionText().lines(np.array(values, np.float32), ends, np.frombuffer(b"".join(tags), np.uint8))
    return bytes(text).splitlines()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(width=32), max_size=20))
def test_any_number_is_written_as_c_does(values: list[float]) -> None:
    numbers = [value for value in values if not math.isnan(value)]  # the sign of a NaN may be lost on the way
    assert lines(numbers) == [as_c_prints(value).encode() for value in numbers]


def test_a_hundred_thousand_numbers_are_rounded_as_c_does() -> None:
    rng = np.random.default_rng(3)
    values = (rng.normal(size=100_000) * 10 ** rng.uniform(-8, 12, 100_000)).astype(np.float32).tolist()
    ties = (np.arange(1, 2000, 2) / 128).astype(np.float32).tolist()  # seven decimals that end in 5
    assert lines(values + ties) == [as_c_prints(value).encode() for value in values + ties]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, b"0"),
        (-0.0, b"-0"),
        (1.0, b"1"),
        (-1e-9, b"-0.000000"),
        (0.9999999, b"1.000000"),
        (1e10, b"10000000000"),
        (1e30, b"1000000015047466219876688855040"),
        (float("inf"), b"inf"),
        (float("-inf"), b"-inf"),
        (float("nan"), b"nan"),
    ],
)
def test_special_values(value: float, text: bytes) -> None:
    assert lines([value]) == [text]
    assert lines([value, 1e38], [b"a", b""])[0] == text + b" a"


def test_tags_follow_their_predictions() -> None:
    assert lines([0.5, 1, 2], [b"first", b"", "ü".encode()]) == [b"0.500000 first", b"1", "2 ü".encode()]


def test_the_buffer_is_used_again() -> None:
    text = PredictionText()
    none = np.zeros(5, np.int64), np.zeros(0, np.uint8)
    assert bytes(text.lines(np.full(4, 0.5, np.float32), *none)) == b"0.500000\n" * 4
    assert bytes(text.lines(np.ones(2, np.float32), *none)) == b"1\n1\n"
    assert bytes(text.lines(np.ones(0, np.float32), *none)) == b""


def test_scores_are_vw_s_raw_predictions() -> None:
    scores = np.array([[0, 0.0522296], [-0.0522296, 1e-9]], np.float32)
    untagged = np.zeros(3, np.int64), np.zeros(0, np.uint8)
    assert score_lines(scores, *untagged) == b" 1:0 2:0.0522296\n 1:-0.0522296 2:1e-09\n"
    assert score_lines(scores[:0], *untagged) == b""
    tags = np.array([0, 0, 1]), np.frombuffer(b"t", np.uint8)
    assert score_lines(scores, *tags) == b" 1:0 2:0.0522296\n 1:-0.0522296 2:1e-09 t\n"
