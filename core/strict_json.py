"""Standard JSON: a number that is not finite becomes null, and a field lists these numbers; text is Unicode."""

import json
import math
import re
from collections.abc import Sequence
from typing import Any

from hutch.core.errors import DataError, at

NOT_FINITE = "not_finite"
"""The key under which an object lists its numbers that are not finite: NaN, Infinity or -Infinity, by their path."""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_PAIR_OR_HALF = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]|(\\u[dD][89a-fA-F])")
HALF_PAIR = "half a surrogate pair"
NO_TEXT = f"got {HALF_PAIR} (\\ud800 to \\udfff), wanted text"


class NotJson(DataError):
    """A text that breaks the syntax of JSON."""


def dumps(value: Any, **options: Any) -> str:
    """A value as JSON that every reader accepts.

    Args:
        value: as for `json.dumps`; each object of a list gets its own field.
        options: of `json.dumps`.

    >>> dumps({"loss": float("nan"), "rates": [1.0, float("inf")]})
    '{"loss": null, "rates": [1.0, null], "not_finite": {"loss": "NaN", "rates.1": "Infinity"}}'
    """
    try:
        return json.dumps(value, allow_nan=False, **options)
    except ValueError:
        return json.dumps(_told(value), allow_nan=False, **options)


def loads(text: str | bytes, source: str, line: int | None = None, **options: Any) -> Any:
    """The value of an untrusted JSON text.

    Args:
        text: the text, or its bytes.
        source: its name in messages.
        line: its number there, if it is one line of many.
        options: of `json.loads`.

    Raises:
        NotJson: its syntax is wrong.
        DataError: it is not Unicode, nested too deep, or has an integer of thousands of digits.

    >>> loads('{"a": [1]}', "labels.jsonl", 3)
    {'a': [1]}
    """
    try:
        if isinstance(text, bytes):
            text = text.decode(json.detect_encoding(text))
        found = json.loads(text, **options)
        text.encode()  # standard input may hold surrogates as they are
        if half_pair(text, found):
            raise DataError(at(source, line, None, NO_TEXT))
    except UnicodeDecodeError as error:
        raise DataError(at(source, line or 1, error.start + 1, "not UTF-8")) from None
    except UnicodeEncodeError:
        raise DataError(at(source, line, None, NO_TEXT)) from None
    except json.JSONDecodeError as error:
        raise NotJson(at(source, line or error.lineno, error.colno, f"not JSON: {error.msg}")) from None
    except RecursionError:
        raise DataError(at(source, line, None, "got JSON that is nested too deeply")) from None
    except ValueError:  # Python's limit on the digits of integers
        raise DataError(at(source, line, None, "got an integer of thousands of digits, wanted a number")) from None
    return found


def half_pair(text: str, found: Any) -> int:
    r"""The column where a text of JSON has half a surrogate pair, which is not a character; 0 if it has none.

    Args:
        text: a line, or the whole text.
        found: the value that `json.loads` returned for it.

    >>> half_pair(r'{"a": "\ud83d\ude00 \ud800"}', {"a": "\U0001f600 \ud800"})
    21
    """
    if not _SURROGATE.search(text):
        return 0
    try:
        json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return next((match.start() + 1 for match in _PAIR_OR_HALF.finditer(text) if match[1]), 1)
    return 0


_BLANKS = re.compile(r"[\ufeff \t\r\n]*")
_NAMED = re.compile(r'"(?:[^"\\]|\\.)*"|(NaN|-?Infinity)')
_DECODER = json.JSONDecoder()


def column_of(text: str, path: Sequence[str | int]) -> int:
    """The column where the value at a path begins in a line of JSON, or the innermost existing one around it.

    Args:
        text: the line.
        path: keys, whatever their case, and places in lists.

    Returns:
        The column, counted from 1.

    >>> column_of('{"cost": 1, "actions": [{"a": 2}, {"b": "x"}]}', ("actions", 1, "b"))
    41
    """
    found = at = _behind_blanks(text, 0)
    for step in path:
        number, closing = -1, "}" if text[at : at + 1] == "{" else "]"
        at = _behind_blanks(text, at + 1) if text[at : at + 1] in ("{", "[") else len(text)
        while at < len(text) and text[at] != closing:
            key: str | int = (number := number + 1)
            if closing == "}":
                key, at = json.decoder.scanstring(text, at + 1)  # type: ignore[attr-defined]
                at = _behind_blanks(text, _behind_blanks(text, at) + 1)
            if str(key).lower() == str(step).lower():
                break
            at = _behind_blanks(text, _DECODER.raw_decode(text, at)[1])
            at = _behind_blanks(text, at + (text[at : at + 1] == ","))
        else:
            break
        found = at
    return found + 1 - text.startswith("\ufeff")


def column_of_no_number(text: str) -> int:
    """The column of the first NaN or Infinity in a line of JSON, counted from 1; 1 if there is none.

    >>> column_of_no_number('{"NaN": [1, NaN]}')
    13
    """
    return next((found.start(1) + 1 for found in _NAMED.finditer(text) if found[1]), 1)


def _behind_blanks(text: str, at: int) -> int:
    """The first place from `at` on that is not a blank."""
    match = _BLANKS.match(text, at)
    return match.end() if match else at


def _told(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_told(each) for each in value]
    lost: dict[str, str] = {}
    finite = _finite(value, "", lost)
    return {**finite, NOT_FINITE: lost} if lost and isinstance(value, dict) else finite


def _finite(value: Any, path: str, lost: dict[str, str]) -> Any:
    """The value with null for all that is not finite; records path and word of each of these numbers in `lost`."""
    if isinstance(value, dict | list | tuple):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        found = {key: _finite(each, f"{path}.{key}" if path else str(key), lost) for key, each in items}
        return found if isinstance(value, dict) else list(found.values())
    if isinstance(value, float) and not math.isfinite(value):
        lost[path] = json.dumps(value)
        return None
    return value
