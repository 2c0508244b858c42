"""Label requests and answers, and their JSON lines.

A request is `{"id", "line", "prediction", "probability", "importance", "model"}`, an answer `{"id", "worker", "label"}`
with the id of its request. An answer may have an id as `"answer"`, given by the tool that collected it; sent again,
it is not counted again.
"""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TextIO

from hutch.core.errors import DataError, at, did_you_mean, shortened
from hutch.core.strict_json import column_of, dumps, loads

REQUEST_FIELD = "hutch_request"
"""The field of a document in another tool that holds the id of its request."""
SKIP = "skip"
"""The label of a worker who passes a request on to another."""
DONT_KNOW = "don't know"
"""The label of a worker who cannot decide; the request is done, and nothing is learned from it."""

NEIGHBOURS = 50
"""An unknown id is compared with so many of the newest: while it is, nothing else is written."""

_ANSWER_KEYS = {"id", "worker", "label", "answer"}
_LONGEST_COMPARED = 40


def nearest(id: str, known: Sequence[str]) -> str:
    """A clause about the known id that is nearest to an unknown one; empty if none is, or if it is long.

    >>> nearest("visit-1", ["visit-12", "other"])
    "; did you mean 'visit-12'?"
    """
    from difflib import get_close_matches  # not at the top: most ids are known

    near = get_close_matches(id, known, n=1) if len(id) <= _LONGEST_COMPARED else []
    return f"; did you mean {near[0]!r}?" if near else ""


@dataclass(frozen=True, slots=True)
class Request:
    """A label that was asked for.

    Attributes:
        id: unique in its store.
        line: the example, without a label.
        prediction: of the model when it asked.
        probability: with which this example was requested, in (0, 1]; frozen, however late the answer comes.
        importance: of the example in an estimate over all examples seen: 1 / probability.
        model: version of the model that asked.
    """

    id: str
    line: str
    prediction: float
    probability: float
    importance: float
    model: str

    def to_json(self) -> str:
        """One JSON line, without its end."""
        return dumps(asdict(self), ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """A worker's response to a request.

    Attributes:
        request: id of the request.
        worker: name of the worker.
        label: the label in its canonical form, `SKIP` or `DONT_KNOW`.
        id: unique id of the answer itself.
        place: (source, line, column) it was read from, for messages.
    """

    request: str
    worker: str
    label: str
    id: str
    place: tuple[str, int | None, int | None] = ("<answer>", None, None)


def canonical_label(label: Any) -> str | None:
    """A label in stored form: numbers in their shortest form; None if it is not a label.

    >>> canonical_label(1.0), canonical_label("-1"), canonical_label(" Skip "), canonical_label("spam")
    ('1', '-1', 'skip', None)
    """
    if isinstance(label, str) and label.strip().lower().replace("’", "'") in (SKIP, DONT_KNOW):
        return label.strip().lower().replace("’", "'")
    if isinstance(label, bool) or not isinstance(label, int | float | str):
        return None
    try:
        value = float(label)
    except (ValueError, OverflowError):
        return None
    if not math.isfinite(value):
        return None
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def label_said(prediction: float, threshold: float | None, labels: Sequence[str]) -> str:
    """The label that a prediction means: a class, or which of two labels; empty if it means none.

    Args:
        prediction: of a model.
        threshold: above it a scalar means the upper label; None where classes are predicted.
        labels: that workers may give, in canonical form.

    >>> label_said(0.4, 0.0, ["-1", "1"]), label_said(3.0, None, ["1", "2", "3"])
    ('1', '3')
    """
    if threshold is None or len(labels) != 2:
        return canonical_label(prediction) or ""
    lower, upper = sorted(labels, key=float)
    return upper if prediction > threshold else lower


def _shown(value: Any) -> str:
    """A value as messages quote it; lists and objects, which may be deep, by their type."""
    return f"a {type(value).__name__}" if isinstance(value, list | dict) else shortened(repr(value))


def make_answer(
    request: str, worker: str, label: Any, *, id: str = "", place: tuple[str, int | None, int | None] | None = None
) -> Answer:
    """An answer, its label in canonical form.

    Args:
        request: id of the request.
        worker: as of `check_worker`; blanks around it go.
        label: a number, text that reads as one, `"skip"` or `"don't know"`.
        id: of the answer; left out, a worker has one label per request (skipping or not knowing first is not a label).
        place: where it was read, for messages.

    Raises:
        DataError: an invalid label, or no name of a worker.
    """
    place = place or ("<answer>", None, None)
    try:
        worker = check_worker(worker)
        check_name(id, "answer", LONGEST_ID)
    except DataError as error:
        raise DataError(at(*place, str(error))) from None
    text = canonical_label(label)
    if text is None:
        raise DataError(at(*place, f"label: got {_shown(label)}, wanted a number, {SKIP!r} or {DONT_KNOW!r}"))
    parts = [request, worker, text] if text in (SKIP, DONT_KNOW) else [request, worker]
    return Answer(request, worker, text, id or json.dumps(parts, ensure_ascii=False), place)


LONGEST_NAME = 200
"""The most characters in the name of a worker, or in a client's id of a request or a decision."""


LONGEST_ID = 1000
"""The most characters in the id that a tool gives an answer."""


def check_name(name: str, what: str, most: int = LONGEST_NAME) -> str:
    """A name that a client has given.

    Args:
        name: as given.
        what: it names.
        most: characters.

    Raises:
        DataError: it is too long, or has invisible characters.
    """
    if len(name) > most:
        raise DataError(f"{what}: got {len(name)} characters, wanted at most {most}")
    if not name.isprintable():
        raise DataError(f"{what}: got {name!r}, wanted printable characters")
    return name


def check_worker(name: object, what: str = "worker") -> str:
    """The name of a worker without blanks around it.

    Raises:
        DataError: not text, empty, too long, or with invisible characters.
    """
    if not isinstance(name, str):
        raise DataError(f"{what}: got {type(name).__name__}, wanted the name of the worker")
    name = str(name).strip()
    if not name:
        raise DataError(f"{what}: got an empty name, wanted the name of the worker")
    return check_name(name, what)


def _parse_answer(text: str, source: str, number: int) -> Answer:
    def wrong(key: str, message: str) -> DataError:
        return DataError(at(source, number, column_of(text, [key]), message))

    found = loads(text, source, number)
    if not isinstance(found, dict):
        raise DataError(at(source, number, 1, f"got {text.strip()[:40]}, wanted an object with id, worker and label"))
    for key in found:
        if key not in _ANSWER_KEYS:
            raise wrong(key, f"unknown key {key!r}; {did_you_mean(key, _ANSWER_KEYS)}")
    for key in ("id", "worker", "label"):
        if key not in found:
            raise DataError(at(source, number, 1, f"{key!r} is missing, wanted id, worker and label"))
    for key in ("id", "worker", "answer"):
        if not isinstance(found.get(key, ""), str | int) or isinstance(found.get(key), bool):
            raise wrong(key, f"{key}: got {_shown(found[key])}, wanted text")
    if canonical_label(found["label"]) is None:
        raise wrong("label", f"label: got {_shown(found['label'])}, wanted a number, {SKIP!r} or {DONT_KNOW!r}")
    place = (source, number, column_of(text, ["id"]))
    own = str(found.get("answer", ""))
    return make_answer(str(found["id"]), str(found["worker"]), found["label"], id=own, place=place)


def read_answers(lines: Iterable[str], source: str) -> Iterator[Answer]:
    """The answers in JSON lines, one by one; empty lines are skipped.

    Args:
        lines: the lines, of a file or a pipe.
        source: its name, for messages.

    Raises:
        DataError: the first line that is not an answer, with its column.

    >>> [answer.label for answer in read_answers(['{"id": "7", "worker": "ada", "label": -1}'], "answers.jsonl")]
    ['-1']
    """
    for number, text in enumerate(lines, 1):
        if text.strip():
            yield _parse_answer(text.rstrip("\r\n"), source, number)


def write_requests(requests: Iterable[Request], file: TextIO) -> None:
    """Write requests as JSON lines, each flushed, so that a pipe sees it at once."""
    for request in requests:
        file.write(request.to_json() + "\n")
        file.flush()
