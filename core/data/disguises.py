"""Words of a column that look like something else: numbers, dates or missing values that would be learned as names.

A table's reader takes a word for a name. What only looks like a name is not guessed at: it is said, with what to do.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from typing import Any, Literal, NamedTuple

from numpy.typing import NDArray

from hutch.core.errors import shortened

Where = Literal["file", "frame", "stream"]


class _Kind(NamedTuple):
    """What words look like, and what makes of them what they are: in a file, and in a frame whose column is `{x}`."""

    what: str
    pattern: str
    in_file: str
    in_frame: str


_PLAIN = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_FIGURE = r"\d[\d.,' \u00a0\u202f’]*"
_SIGN = r"(?:[$€£¥₹]|USD|EUR|GBP|CHF)"
_UNIT = (
    "kg|g|mg|lbs?|oz|t|km|m|cm|mm|mi|ft|in|l|ml|h|hrs?|min|s|ms|d|days?|years?|yrs?|km/h|mph|m²|m2|°C|°F|kWh|k?W|[kMG]B"
)
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[AaPp][Mm])?(?: ?Z| ?[-+]\d{2}:?\d{2})?"
_DAY = r"(?:\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2\d{4}|\d{1,2}/\d{1,2}/\d{2})"
_DECIMALS = "write them as in 1200.5 (decimal commas of CSV files: input.columns.decimal: ',')"
_DIGITS = "pandas.to_numeric({x}.str.replace('[^0-9.-]', '', regex=True))"
_KINDS = {
    "number": _Kind("numbers", _PLAIN, "store numbers", "pandas.to_numeric({x})"),
    "thousands": _Kind(
        "numbers with thousands separators",
        r"[-+(]?\d{1,3}(?:([,' \u00a0\u202f’])\d{3}(?:\1\d{3})*(?:\.\d*)?|(?:\.\d{3}){2,})\)?",
        _DECIMALS,
        _DIGITS,
    ),
    "comma": _Kind(
        "numbers with a decimal comma",
        r"[-+]?(?:\d*|\d{1,3}(?:[. '\u00a0\u202f’]\d{3})+),\d+",
        _DECIMALS,
        "pandas.to_numeric({x}.str.replace('.', '').str.replace(',', '.'))",
    ),
    "currency": _Kind(
        "amounts of money",
        rf"[-+(]?{_SIGN} ?[-+]?{_FIGURE}\)?|[-+(]?{_FIGURE} ?{_SIGN}\)?",
        "write the number alone",
        _DIGITS,
    ),
    "brackets": _Kind("negative numbers in brackets", rf"\({_FIGURE}\)", "write them as in -1200.5", _DIGITS),
    "unit": _Kind("numbers with a unit", rf"[-+]?{_FIGURE} ?(?:{_UNIT})", "write the number alone", _DIGITS),
    "percent": _Kind("percentages", rf"[-+]?{_FIGURE} ?%", "write the number alone", _DIGITS),
    "date": _Kind(
        "dates", rf"{_DAY}(?:[T ]{_CLOCK})?", "Parquet files and frames have dates", "pandas.to_datetime({x})"
    ),
    "time": _Kind("times of day", _CLOCK, "Parquet files and frames have times", "pandas.to_datetime({x}).dt.time"),
    "list": _Kind(
        "lists of numbers",
        rf"\[\s*{_PLAIN}(?:[\s,;]+{_PLAIN})*[\s,;]*\]",
        "JSON lines, Parquet files and frames have lists",
        "{x}.map(json.loads)",
    ),
}
_AMONG = _Kind("answers that are no numbers", "", "leave their cells empty", "")
_MISSING = {"", "na", "n/a", "#n/a", "#na", "<na>", "nan", "null", "none", "nil", "nat", "?", "-", "--", ".", "missing"}
_NUMBERED, _CODE = r"[-+]?0\d+", r"\d"  # as ids and postcodes are, and codes of categories
_DECIMAL_COMMA = r",\d{1,2}(?!\d)"
_STRANGE = 0.1  # the largest share of a column that may be something else
COARSE = 1 << 20  # times as far from 0 as it is wide: a column has 16 different values of 32 bits
_WORDS, _NUMBERS = 1024, 512  # rows of a table whose words, and whose row numbers, are looked at
_EXACT = ("int64", "uint64", "int32", "uint32", "double")  # types that float32 cannot hold


class Disguise(NamedTuple):
    """What words of a column look like.

    Attributes:
        kind: of most that are not missing values; None if these are all.
        example: one of them.
        missing: a word for a missing value; None if there is none.
        comma: whether a decimal comma stands in some of that kind.
        brackets: whether some are negative by standing in brackets.
    """

    kind: str | None
    example: str
    missing: str | None
    comma: bool = False
    brackets: bool = False

    def _in_frame(self, x: str) -> str:
        """What makes of a frame's column, or of an expression for it, what it is."""
        if self.kind is None:
            return x
        if self.brackets:
            return f"the numbers of {x}"
        form = _KINDS[self.kind].in_frame
        if self.comma and form == _DIGITS:
            form = form.replace("[^0-9.-]", "[^0-9,-]").replace("=True)", "=True).str.replace(',', '.')")
        return form.format(x=x)

    def text(self, column: str, where: Where) -> str:
        """The warning.

        Args:
            column: its name.
            where: it is: in a file, in a frame `X` in Python, or in a stream of rows.

        >>> warning = disguise(["1,200", "3,400", "NA"]).text("price", "file")
        >>> for clause in warning.split(", "):
        ...     print(clause)
        column 'price': words such as '1,200' look like numbers with thousands separators
        'NA' like a missing value: write them as in 1200.5 (decimal commas of CSV files: input.columns.decimal: ',')
        leave cells of missing values empty
        or list the column under input.columns.categorical if they are names
        """
        said, advice, x = [], [], f"X[{column!r}]"
        if self.kind is not None:
            kind = _KINDS.get(self.kind, _AMONG)
            said.append(f"words such as {shortened(self.example)!r} look like {kind.what}")
            advice.append(kind.in_file if where == "file" else "convert them")
        if self.missing is not None:
            said.append(f"{self.missing!r} like a missing value" if said else f"{self.missing!r} looks missing")
            advice.append("leave cells of missing values empty" if where == "file" else "give None for missing values")
            x = f"{x}.replace({self.missing!r}, None)"
        if where == "frame":
            advice = [f"take {self._in_frame(x)}"]
        if where == "stream":
            return f"{column!r}: {', '.join(said)}: {', '.join(advice)}"
        kept = f"columns={{'categorical': [{column!r}]}}" if where == "frame" else "input.columns.categorical"
        names = "they are names" if self.kind else "it is a name"
        return f"column {column!r}: {', '.join(said)}: {', '.join(advice)}, or list the column under {kept} if {names}"


def disguise(words: Sequence[str], numbers: int = 0, share: float = 1.0) -> Disguise | None:
    """What some words of a column look like; None where they are names.

    Args:
        words: of the column, those that are not empty and were not read as numbers.
        numbers: cells of the column that were read as numbers.
        share: of the column's words that these are.

    >>> disguise(["1,200", "950", "NA"], numbers=5)
    Disguise(kind='thousands', example='1,200', missing='NA', comma=False, brackets=False)
    >>> disguise(["red", "green"])
    >>> disguise(["01234", "98765"]), disguise(["1", "2", "3"])
    (None, None)
    """
    missing = next((word for word in words if word.strip().lower() in _MISSING), None)
    there = [word.strip() for word in words if word.strip().lower() not in _MISSING]
    found: dict[str, list[str]] = {}
    for word in there:
        name = next((name for name, kind in _KINDS.items() if re.fullmatch(kind.pattern, word)), "")
        found.setdefault(name, []).append(word)
    if "comma" in found:  # 0,5 beside 1,200: both have a decimal comma
        found["comma"] += [word for word in found.pop("thousands", []) if not word.count(",") > 1]
    strange = len(found.pop("", ())) / share
    known = numbers + len(there) / share
    plain = [] if numbers else found.get("number", [])
    codes = len(plain) == len(there) and all(re.fullmatch(_CODE, word) for word in plain)
    names = codes or any(re.fullmatch(_NUMBERED, word) for word in plain)
    unlike = strange > _STRANGE * known or names
    odd = {name: examples for name, examples in found.items() if name != "number"} or found
    kind = None if unlike or not odd else max(odd, key=lambda name: len(odd[name]))
    if kind is None and missing is None and not unlike and strange:
        odd, kind = {"among": there}, "among"
    if kind is None and missing is None:
        return None
    examples = odd[kind] if kind else [""]
    comma = any(re.search(_DECIMAL_COMMA, word) for word in examples)
    return Disguise(kind, examples[0], missing, comma, any(word.startswith("(") for word in examples))


def in_table(
    table: Any, names: Iterable[str], where: Where, numbers_of: Callable[[Any], NDArray[Any]] | None = None
) -> Iterator[tuple[str, str]]:
    """Warnings about columns of an Arrow table or record batch, with the names of the columns.

    Args:
        table: its first words are looked at.
        names: of columns whose words may be something else.
        where: it is.
        numbers_of: gives the numbers of a column; None: those are looked at elsewhere.
    """
    wanted = frozenset(names)
    for place, (name, kind) in enumerate(zip(table.schema.names, map(str, table.schema.types), strict=True)):
        if name not in wanted:
            continue
        text = ""
        if kind.endswith(("string", "string_view")):
            words = table.column(place).slice(0, _WORDS).to_pylist()
            found = disguise([word for word in dict.fromkeys(words) if word])
            text = found.text(name, where) if found else ""
        elif kind in _EXACT:
            text = row_numbers(name, table.column(place).slice(0, _NUMBERS).to_pylist(), where) if not place else ""
            if numbers_of is not None and not text and not table.column(place).null_count:
                values = numbers_of(table.column(place))
                values = values[:: 1 + len(values) // _NUMBERS].astype(float)
                text = coarse(name, float(values.min(initial=inf)), float(values.max(initial=-inf)))
        if text:
            yield name, text


def coarse(name: object, low: float, high: float) -> str:
    """Warning about a column of numbers so far from 0 that float32 hardly tells them apart; empty for any other.

    Args:
        name: of the column.
        low, high: its ends; NaN if it has no numbers.

    >>> coarse("time", 1700000000.0, 1700000600.0)
    "column 'time' goes from 1700000000.0 to 1700000600.0; subtract 1700000000.0, for 32 bits hold 7 digits"
    >>> coarse("year", 1990.0, 2024.0)
    ''
    """
    if not 0 < high - low < max(high, -low) / COARSE:
        return ""
    return f"column {name!r} goes from {low!r} to {high!r}; subtract {low!r}, for 32 bits hold 7 digits"


def row_numbers(name: str, values: Sequence[Any], where: Where) -> str:
    """Warning about a table's first column that has no name, as pandas writes a frame's index; empty for any other.

    Args:
        name: of the column.
        values: its first ones.
        where: the table is.

    >>> row_numbers("", [2.0, 0.0, 1.0], "file")[:49]
    'column 1 has no name, and looks like row numbers '
    >>> row_numbers("age", [2.0, 0.0, 1.0], "file")
    ''
    """
    if name and not re.fullmatch(r"Unnamed: \d+", name):
        return ""
    counts = len({*values}) == len(values) and all(isinstance(v, int | float) and v % 1 == 0 for v in values)
    what = "looks like row numbers (of pandas' to_csv, without index=False)" if counts else "is learned all the same"
    called = "has no name" if not name else f"is called {name!r}"
    ignored = f"columns={{'ignore': [{name!r}]}}" if where == "frame" else f"input.columns.ignore: [{name!r}]"
    return f"column 1 {called}, and {what}: leave it out with {ignored}, or name it"


def numbers_for_names(names: Sequence[str]) -> str:
    """Warning about a header of numbers alone; empty for any other, and for the places of an array's columns.

    Args:
        names: of the columns.

    >>> numbers_for_names(["1", "2.5", "-3"])
    'the names of all columns are numbers, such as 2.5: the first row of a table without a header is not learned'
    >>> numbers_for_names(["0", "1", "2"]), numbers_for_names(["label", "1"]), numbers_for_names(["1"])
    ('', '', '')
    """
    found = [name for name in names if re.fullmatch(_PLAIN, name.strip())]
    places = [name.strip() for name in names] in (
        [str(k) for k in range(first, first + len(names))] for first in (0, 1)
    )
    if len(names) < 2 or len(found) < len(names) or places:
        return ""
    example = max(found, key=len)
    said = "the first row of a table without a header is not learned"
    return f"the names of all columns are numbers, such as {example}: {said}"
