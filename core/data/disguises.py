"""Words of a column that look like something else: numbers, dates or missing values that would be learned as names.

A table's reader takes a word for a name. What only looks like a name is not guessed at: it is said, with what to do.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from math import nan
from typing import Any, NamedTuple

from hutch.core.errors import shortened


class _Kind(NamedTuple):
    """What words look like, and what makes of them what they are: in a file, and in a frame whose column is `{x}`."""

    what: str
    pattern: str
    in_file: str
    in_frame: str


_PLAIN = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_FIGURE = r"\d[\d.,' \u00a0\u202f’]*"
_SIGN = r"(?:[$€£¥₹]|USD|EUR|GBP|CHF)"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[AaPp][Mm])?(?: ?Z| ?[-+]\d{2}:?\d{2})?"
_DAY = r"(?:\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2\d{4}|\d{1,2}/\d{1,2}/\d{2})"
_DIGITS = "pandas.to_numeric({x}.str.replace('[^0-9.-]', '', regex=True))"
_KINDS = {
    "number": _Kind("numbers", _PLAIN, "store numbers", "pandas.to_numeric({x})"),
    "thousands": _Kind(
        "numbers with thousands separators",
        r"[-+(]?\d{1,3}(?:([,' \u00a0\u202f’])\d{3}(?:\1\d{3})*(?:\.\d*)?|(?:\.\d{3}){2,})\)?",
        "write them as in 1200.5",
        _DIGITS,
    ),
    "comma": _Kind(
        "numbers with a decimal comma",
        r"[-+]?(?:\d*|\d{1,3}(?:[. '\u00a0\u202f’]\d{3})+),\d+",
        "write them as in 1200.5",
        "pandas.to_numeric({x}.str.replace('.', '').str.replace(',', '.'))",
    ),
    "currency": _Kind(
        "amounts of money",
        rf"[-+(]?{_SIGN} ?[-+]?{_FIGURE}\)?|[-+(]?{_FIGURE} ?{_SIGN}\)?",
        "write the number alone",
        _DIGITS,
    ),
    "percent": _Kind("percentages", rf"[-+]?{_FIGURE} ?%", "write the number alone", _DIGITS),
    "date": _Kind(
        "dates", rf"{_DAY}(?:[T ]{_CLOCK})?", "Parquet files and frames have dates", "pandas.to_datetime({x})"
    ),
    "time": _Kind("times of day", _CLOCK, "Parquet files and frames have times", "pandas.to_datetime({x}).dt.time"),
}
_PATTERNS = {name: re.compile(kind.pattern) for name, kind in _KINDS.items()}
_MISSING = {"", "na", "n/a", "#n/a", "#na", "<na>", "nan", "null", "none", "nil", "nat", "?", "-", "--", ".", "missing"}
_NUMBERED, _CODE = re.compile(r"[-+]?0\d+"), re.compile(r"\d")  # as ids and postcodes are, and codes of categories
_STRANGE = 0.1  # the largest share of a column that may be something else
_MOST = 4096  # rows of a frame that are looked at


class Disguise(NamedTuple):
    """What words of a column look like.

    Attributes:
        kind: of most that are not missing values; None if these are all.
        example: one of them.
        missing: a word for a missing value; None if there is none.
    """

    kind: str | None
    example: str
    missing: str | None

    def text(self, column: str, frame: bool) -> str:
        """The warning.

        Args:
            column: its name.
            frame: whether the table is a frame `X` in Python; else it is a file.

        >>> warning = disguise(["1,200", "3,400", "NA"]).text("price", frame=False)
        >>> for clause in warning.split(", "):
        ...     print(clause)
        column 'price': words such as '1,200' look like numbers with thousands separators
        'NA' like a missing value: write them as in 1200.5
        leave cells of missing values empty
        or list the column under input.columns.categorical if they are names
        """
        said, advice, x = [], [], f"X[{column!r}]"
        if self.kind is not None:
            kind = _KINDS[self.kind]
            said.append(f"words such as {shortened(self.example)!r} look like {kind.what}")
            advice.append(kind.in_file)
        if self.missing is not None:
            said.append(f"{self.missing!r} like a missing value" if said else f"{self.missing!r} looks missing")
            advice.append("leave cells of missing values empty")
            x = f"{x}.replace({self.missing!r}, None)"
        if frame:
            advice = ["take " + (_KINDS[self.kind].in_frame.format(x=x) if self.kind else x)]
        kept = f"columns={{'categorical': [{column!r}]}}" if frame else "input.columns.categorical"
        names = "they are names" if self.kind else "it is a name"
        return f"column {column!r}: {', '.join(said)}: {', '.join(advice)}, or list the column under {kept} if {names}"


def disguise(words: Sequence[str], numbers: int = 0, share: float = 1.0) -> Disguise | None:
    """What some words of a column look like; None where they are names.

    Args:
        words: of the column, those that are not empty and were not read as numbers.
        numbers: cells of the column that were read as numbers.
        share: of the column's words that these are.

    >>> disguise(["1,200", "950", "NA"], numbers=5)
    Disguise(kind='thousands', example='1,200', missing='NA')
    >>> disguise(["red", "green"])
    >>> disguise(["01234", "98765"]), disguise(["1", "2", "3"])
    (None, None)
    """
    missing = next((word for word in words if word.strip().lower() in _MISSING), None)
    there = [word.strip() for word in words if word.strip().lower() not in _MISSING]
    found: dict[str, list[str]] = {}
    for word in there:
        name = next((name for name, pattern in _PATTERNS.items() if pattern.fullmatch(word)), "")
        found.setdefault(name, []).append(word)
    if "comma" in found:  # 0,5 beside 1,200: both have a decimal comma
        found["comma"] += [word for word in found.pop("thousands", []) if not word.count(",") > 1]
    strange = len(found.pop("", ())) / share
    known = numbers + len(there) / share
    plain = [] if numbers else found.get("number", [])
    names = any(map(_NUMBERED.fullmatch, plain)) or len(plain) == len(there) and all(map(_CODE.fullmatch, plain))
    unlike = strange > _STRANGE * known or names
    odd = {name: examples for name, examples in found.items() if name != "number"} or found
    kind = None if unlike or not odd else max(odd, key=lambda name: len(odd[name]))
    if kind is None and missing is None:
        return None
    return Disguise(kind, odd[kind][0] if kind else "", missing)


def in_table(table: Any, names: Iterable[str], frame: bool) -> Iterator[tuple[str, str]]:
    """Warnings about columns of an Arrow table or record batch, with the names of the columns.

    Args:
        table: its first rows are looked at.
        names: of columns whose words may be something else.
        frame: whether it is a frame in Python; else it is a file.
    """
    for place, name in enumerate(table.schema.names):
        if name not in names:
            continue
        column = table.column(place).slice(0, _MOST)
        if "string" in str(column.type) and "dictionary" not in str(column.type):
            found = disguise([word for word in dict.fromkeys(column.to_pylist()) if word])
            if found is not None:
                yield name, found.text(name, frame)
        elif not place and (text := row_numbers(name, [nan if v is None else v for v in column.to_pylist()], frame)):
            yield name, text


def row_numbers(name: str, values: Sequence[Any], frame: bool = False) -> str:
    """Warning about a table's first column that has no name, as pandas writes a frame's index; empty for any other.

    Args:
        name: of the column.
        values: its first ones.
        frame: whether the table is a frame in Python; else it is a file.

    >>> row_numbers("", [2.0, 0.0, 1.0])[:49]
    'column 1 has no name, and looks like row numbers '
    >>> row_numbers("age", [2.0, 0.0, 1.0])
    ''
    """
    if name and not re.fullmatch(r"Unnamed: \d+", name):
        return ""
    counts = len({*values}) == len(values) and all(isinstance(v, int | float) and v % 1 == 0 for v in values)
    what = "looks like row numbers (of pandas' to_csv, without index=False)" if counts else "is learned all the same"
    called = "has no name" if not name else f"is called {name!r}"
    ignored = f"columns={{'ignore': [{name!r}]}}" if frame else f"input.columns.ignore: [{name!r}]"
    return f"column 1 {called}, and {what}: leave it out with {ignored}, or name it"
