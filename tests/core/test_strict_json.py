"""JSON that every reader understands, whatever the numbers are."""

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hutch.core.strict_json import NOT_FINITE, dumps

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def refuse(constant: str) -> Any:
    raise AssertionError(constant)


def expected(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: expected(each) for key, each in value.items()}
    if isinstance(value, list):
        return [expected(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@settings(max_examples=40)
@given(st.dictionaries(st.text().filter(lambda key: key != NOT_FINITE), VALUES))
def test_it_is_json_with_null_for_what_is_not_finite(value: dict[str, Any]) -> None:
    found = json.loads(dumps(value), parse_constant=refuse)
    told = found.pop(NOT_FINITE, {})
    assert found == expected(value)
    assert bool(told) == (found != value and "null" in dumps(value))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": math.nan}, '{"a": null, "not_finite": {"a": "NaN"}}'),
        ({"a": {"b": [1.0, -math.inf]}}, '{"a": {"b": [1.0, null]}, "not_finite": {"a.b.1": "-Infinity"}}'),
        ([{"a": math.inf}, {"a": 1}], '[{"a": null, "not_finite": {"a": "Infinity"}}, {"a": 1}]'),
        ({"a": 1.5}, '{"a": 1.5}'),
        (math.nan, "null"),
    ],
)
def test_it_says_what_was_there(value: Any, text: str) -> None:
    assert dumps(value) == text
