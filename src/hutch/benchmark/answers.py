"""A table of earlier models' answers to the questions of a benchmark, from a file or a frame."""

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import Problem, UsageError, counted, did_you_mean, reading
from hutch.crowd.data.frames import is_frame, text_of
from hutch.crowd.data.values import name_of
from hutch.crowd.read.source import called, read_source

QUESTION = ("question", "question_id", "questionid", "item", "item_id", "task", "task_id", "id", "doc_id", "prompt", "")
MODEL = ("model", "model_id", "model_name", "judge", "rater", "worker", "system", "annotator", "name")
ANSWER = ("answer", "label", "score", "correct", "right", "value", "acc", "accuracy", "rating", "is_correct", "result")
"""Names of the columns of a long table, in small letters."""
WORDS = {
    **dict.fromkeys(("true", "yes", "right", "correct", "pass", "passed", "y", "t"), 1.0),
    **dict.fromkeys(("false", "no", "wrong", "incorrect", "fail", "failed", "n", "f"), 0.0),
    **dict.fromkeys(("", "na", "nan", "n/a", "none", "null", "-", "?"), math.nan),
}
"""Answers in words, in small letters."""
NO_GROUP = "(none)"
"""The group of questions for which the column of groups is empty."""
WANTED = "wanted a number from 0 to 1, yes or no, or nothing"


@dataclass(frozen=True)
class Answers:
    """Answers of earlier models.

    Attributes:
        questions: their names.
        models: their names.
        matrix: float32 (models, questions), from 0 to 1, NaN where unknown.
        groups: of each question, such as its subject; empty if none were asked for.
        left_out: columns of words, which are no answers.
    """

    questions: list[str]
    models: list[str]
    matrix: NDArray[np.float32]
    groups: Sequence[str] = ()
    left_out: Sequence[str] = ()

    def inside(self, group: str) -> NDArray[np.bool_]:
        """Which questions belong to a group (questions).

        Raises:
            UsageError: none does.
        """
        found = np.array([name == group for name in self.groups], np.bool_)
        if not found.any():
            known = sorted(set(self.groups)) or ["(no column of groups was named)"]
            raise UsageError(f"no group is {group!r}; {did_you_mean(group, known)[:200]}")
        return found


def read_answers(path: Any, by: str = "") -> Answers:
    """Read a table with a row per question and a column per model, or one with question, model and answer in each row.

    Args:
        path: of a file, CSV with a comma, semicolon or tab, packed or not, or Parquet; or a frame.
        by: the column that names the group of each question; empty: none.

    Raises:
        DataError: a place in it is wrong, or it has too little: two questions and one model are the least.

    >>> import pandas
    >>> found = read_answers(pandas.DataFrame({"question": ["q1", "q2"], "gpt": [1, 0], "llama": [None, "yes"]}))
    >>> found.questions, found.models, found.matrix.tolist()
    (['q1', 'q2'], ['gpt', 'llama'], [[1.0, 0.0], [nan, 1.0]])
    """
    with reading(called(path)):
        if is_frame(path):
            path = _with_index(path)
            if (found := None if by else _of_numbers(path)) is not None:
                return _checked(found)
            return _checked(_read(text_of(path).decode(), by))
        return _checked(_read(text_of_file(path), by))


def text_of_file(path: str | Path) -> str:
    """The text of a file.

    Args:
        path: of the file, in UTF-8, or in UTF-16 with its mark; `-` is standard input.

    Raises:
        DataError: it cannot be read.
    """
    data = read_source(path).data
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Problem("got bytes that are not UTF-8, wanted a file that is saved as UTF-8", line) from None


def _with_index(frame: Any) -> Any:
    """A frame of pandas whose index names the questions, or counts them, with these names in its first column."""
    if not hasattr(frame, "reset_index"):
        return frame
    if frame.index.nlevels > 1:
        raise Problem(f"got an index of {frame.index.nlevels} levels, wanted one of questions")
    first = str(frame.columns[0]).lower() if len(frame.columns) else ""
    counts = frame.index.name is None and frame.index.dtype.kind in "iu"
    if counts and (first in QUESTION or not hasattr(frame.iloc[:, 0], "dtype") or frame.iloc[:, 0].dtype.kind in "OUT"):
        return frame
    return frame.reset_index(names="question")


def _of_numbers(frame: Any) -> Answers | None:
    """A wide frame all of whose answers are numbers, without a detour through text."""
    header = [str(name) for name in getattr(frame, "column_names", None) or frame.columns]
    if len(header) < 2 or _long(header):
        return None
    first = _column(frame, 0)
    values = next(getattr(first, name) for name in ("tolist", "to_list", "to_pylist") if hasattr(first, name))()
    names = [name_of(value) for value in values]
    if any(value is None or value != value or not name.strip() for value, name in zip(values, names, strict=True)):
        raise Problem("the name of a question is empty")
    matrix = np.empty((len(header) - 1, len(names)), np.float32)
    for place in range(1, len(header)):
        numbers = _numbers_of(_column(frame, place))
        if numbers is None:
            return None
        matrix[place - 1] = numbers
    bad = np.argwhere((matrix < 0) | (matrix > 1))
    if len(bad):
        model, question = bad[0]
        place_of = f"row {names[question]!r}, column {header[model + 1]!r}"
        raise Problem(f"{place_of}: got {matrix[model, question]:g}, {WANTED}")
    return Answers(_unique(names, 0), _distinct(header, range(1, len(header))), matrix)


def _column(frame: Any, place: int) -> Any:
    """A column of a frame of pandas, polars or Arrow."""
    if hasattr(frame, "iloc"):
        return frame.iloc[:, place]
    return frame.column(place) if hasattr(frame, "column_names") else frame.to_series(place)


def _numbers_of(column: Any) -> NDArray[Any] | None:
    """The numbers of a column, NaN where one is missing; None where it holds other things."""
    if hasattr(column, "iloc"):
        if getattr(column.dtype, "kind", "O") not in "biuf":
            return None
        return np.asarray(column.to_numpy(np.float32, na_value=np.nan))
    found = np.asarray(column.to_numpy())
    return found if found.dtype.kind in "biuf" else None


def _read(text: str, by: str) -> Answers:
    """A table from its text."""
    rows, header = open_table(text)
    try:
        if len(header) < 2:
            raise Problem(f"got {counted(len(header), 'column')}, wanted one of questions and one per model", 1)
        if by and by not in header[1:]:
            raise Problem(f"no column is {by!r}; {did_you_mean(by, header[1:])}", 1)
        group = header.index(by) if by else None
        if places := _long(header):
            return _of_long(rows, header, places, group)
        return _of_wide(rows, header, group)
    except csv.Error as error:
        raise Problem(f"got text that is no CSV ({error})", rows.line_num) from None


def open_table(text: str) -> tuple[Any, list[str]]:
    """The rows of separated text, and its header.

    Args:
        text: with commas, semicolons or tabs.

    >>> rows, header = open_table("question;gpt\\nq1;1\\n")
    >>> header, next(rows)
    (['question', 'gpt'], ['q1', '1'])
    """
    first = text[: text.find("\n")] if "\n" in text else text
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count))
    return rows, [name.strip() for name in next(rows, [])]


def _long(header: Sequence[str]) -> tuple[int, int, int] | None:
    """The places of question, model and answer in the header of a long table; None if it is a wide one."""
    small, found = [name.lower() for name in header], []
    for names in (QUESTION, MODEL, ANSWER):
        fits = [place for name in names for place, own in enumerate(small) if own == name and place not in found]
        if not fits:
            return None
        found.append(fits[0])
    return found[0], found[1], found[2]


def _of_wide(rows: Any, header: list[str], group: int | None) -> Answers:
    if header[0].lower() in MODEL:
        raise Problem(f"the first column is {header[0]!r}, wanted a row per question and a column per model", 1, 1)
    questions, groups, matrix, lines = list[str](), list[str](), [], list[int]()
    places, words = [place for place in range(1, len(header)) if place != group], list[int]()
    for row in rows:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            raise Problem(f"got {counted(len(row), 'column')}, wanted {len(header)} as in the header", rows.line_num)
        if not row[0].strip():
            raise Problem("the name of the question is empty", rows.line_num, 1)
        if not questions:
            words = [place for place in places if _is_text(row[place])]
            places = [place for place in places if place not in words] or places
            words = [place for place in words if place not in places]
        for place in words:
            if row[place].strip() and not _is_text(row[place]):
                got = f"column {header[place]!r} begins with words, but here is {row[place]!r}; {WANTED}"
                raise Problem(got, rows.line_num, place + 1)
        questions.append(row[0].strip())
        lines.append(rows.line_num)
        matrix.append(_numbers(row, rows.line_num, places))
        if group is not None:
            groups.append(row[group].strip() or NO_GROUP)
    models = _distinct(header, places)
    found = np.array(matrix, np.float32).reshape(len(questions), len(models))
    left_out = [header[place] for place in words]
    return Answers(_unique(questions, lines), models, np.ascontiguousarray(found.T), groups, left_out)


def _is_text(cell: str) -> bool:
    """Whether a cell holds words that are no answer, or a number that is none."""
    return cell.strip().lower() not in WORDS and math.isnan(decimal_of(cell))


def _numbers(row: list[str], line: int, places: Sequence[int]) -> NDArray[np.float32]:
    """The answers of a question."""
    try:
        found = np.array([row[place] or "nan" for place in places], np.float32)
        if not np.any((found < 0) | (found > 1)):
            return found
    except ValueError:
        pass
    return np.array([number_of(row[place], line, place + 1) for place in places], np.float32)


def number_of(cell: str, line: int, column: int) -> float:
    """An answer as a number.

    Args:
        cell: its text; decimals have a point, or a comma as in spreadsheets of many languages.
        line, column: its place, for messages.

    Raises:
        Problem: it is no answer.

    >>> number_of("Yes", 2, 1), number_of("0.5", 2, 1), number_of("0,5", 2, 1), number_of("", 2, 1)
    (1.0, 0.5, 0.5, nan)
    """
    text = cell.strip()
    if (known := WORDS.get(text.lower())) is not None:
        return known
    found = decimal_of(text)
    if not 0 <= found <= 1:
        raise Problem(f"got {cell!r}, {WANTED}", line, column)
    return found


def decimal_of(text: str) -> float:
    """A number whose decimals have a point or a comma; NaN for any other text.

    >>> decimal_of("0.25"), decimal_of("0,25"), decimal_of("1,2,3")
    (0.25, 0.25, nan)
    """
    try:
        return float(text.replace(",", ".") if "." not in text else text)
    except ValueError:
        return math.nan


def _of_long(rows: Any, header: list[str], places: tuple[int, int, int], group: int | None) -> Answers:
    groups = dict[str, str]()
    questions, models, cells = dict[str, int](), dict[str, int](), dict[tuple[int, int], float]()
    for row in rows:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            raise Problem(f"got {counted(len(row), 'column')}, wanted {len(header)} as in the header", rows.line_num)
        question, model, answer = (row[place].strip() for place in places)
        for name, place, what in ((question, places[0], "question"), (model, places[1], "model")):
            if not name:
                raise Problem(f"the name of the {what} is empty", rows.line_num, place + 1)
        key = models.setdefault(model, len(models)), questions.setdefault(question, len(questions))
        found = number_of(answer, rows.line_num, places[2] + 1)
        if group is not None:
            name = row[group].strip() or NO_GROUP
            if groups.setdefault(question, name) != name:
                got = f"question {question!r}: got both {groups[question]!r} and {name!r}, wanted one group"
                raise Problem(got, rows.line_num, group + 1)
        if cells.setdefault(key, found) != found and not (math.isnan(found) and math.isnan(cells[key])):
            got = f"question {question!r}, model {model!r}: got both {cells[key]:g} and {found:g}, wanted one answer"
            raise Problem(got, rows.line_num, places[2] + 1)
    matrix = np.full((len(models), len(questions)), np.nan, np.float32)
    for key, found in cells.items():
        matrix[key] = found
    return Answers([*questions], [*models], matrix, [*groups.values()])


def _distinct(header: Sequence[str], places: Iterable[int]) -> list[str]:
    """The names of the models in some columns, each once."""
    seen = dict[str, int]()
    for place in places:
        if not header[place]:
            raise Problem("the name of the model is empty", 1, place + 1)
        if header[place] in seen:
            raise Problem(f"got two columns of the name {header[place]!r}, wanted one", 1, place + 1)
        seen[header[place]] = place
    return [*seen]


def _unique(names: list[str], lines: Sequence[int] | int) -> list[str]:
    """Names of questions, each once."""
    seen = set[str]()
    for place, name in enumerate(names):
        if name in seen:
            line = lines[place] if not isinstance(lines, int) else None
            raise Problem(f"got two rows of the question {name!r}, wanted one", line)
        seen.add(name)
    return names


def _checked(found: Answers) -> Answers:
    """Answers that are enough to begin with."""
    if len(found.questions) < 2 or not found.models:
        got = f"{counted(len(found.questions), 'question')} and {counted(len(found.models), 'model')}"
        raise Problem(f"got {got}, wanted two questions or more, and a model or more")
    if np.isnan(found.matrix).all():
        raise Problem("got no answers, wanted those of earlier models")
    return found
