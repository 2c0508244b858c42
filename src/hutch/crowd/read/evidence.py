"""What the values of a table say about its columns: whether the first row is a header, who is alike, what is a key."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, permutations

from hutch.crowd.data.known import HEADERS, USUAL, key_of
from hutch.crowd.data.values import MISSING

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_DIGITS = re.compile(r"\d+")
_KNOWN = frozenset().union(*HEADERS.values(), *USUAL.values())
FEW = 50
"""The most classes of a column of labels; a column with more different values has another meaning."""
ENOUGH = 4
"""Rows from which a column that never repeats a value is one of ids."""
FREE, REPEATED = 0.05, 0.2
"""The share of rows that repeat a key below which it is one, and above which it is none."""
MANY = 24
"""Columns of unknown names beyond which no reading is looked for: it would take long, and be one of many."""
CLEAR = 0.1
"""The difference of two shares that is taken as one."""


@dataclass(frozen=True)
class Column:
    """A column of a sample of rows.

    Attributes:
        cells: stripped; missing ones are empty.
        counts: of the others.
    """

    cells: Sequence[str]
    counts: Counter[str]

    @classmethod
    def of(cls, cells: Iterable[str]) -> "Column":
        """A column of these cells."""
        kept = ["" if missing(cell) else cell.strip() for cell in cells]
        return cls(kept, Counter(cell for cell in kept if cell))

    @property
    def given(self) -> int:
        """Cells that are not empty."""
        return self.counts.total()

    @property
    def distinct(self) -> bool:
        """Each row has a value, and none comes twice."""
        return len(self.counts) == len(self.cells)

    @property
    def counts_up(self) -> bool:
        """The values are numbers that rise from row to row."""
        if not (self.numbers and self.distinct and len(self.cells) > 2):
            return False
        values = [float(cell) for cell in self.cells]
        return all(one < other for one, other in pairwise(values))

    @property
    def unique(self) -> bool:
        """No value comes twice, in a sample that is long enough to tell."""
        return self.distinct and len(self.cells) >= ENOUGH

    @property
    def few(self) -> bool:
        """It may hold labels."""
        return 0 < len(self.counts) <= FEW and not self.unique

    @property
    def numbers(self) -> bool:
        """All values are numbers."""
        return bool(self.counts) and all(map(_NUMBER.fullmatch, self.counts))

    @property
    def shape(self) -> str:
        """What all values look like with their digits replaced, such as `T-0`; empty if they differ or have none.

        >>> Column.of(["T-17", "T-1001"]).shape
        'T-0'
        """
        shapes = {_DIGITS.sub("0", value) for value in self.counts}
        return shapes.pop() if len(shapes) == 1 and "0" in min(shapes) else ""

    @property
    def text(self) -> bool:
        """Most values are of several words."""
        return sum(" " in value for value in self.counts) > len(self.counts) / 2

    @property
    def singles(self) -> float:
        """The share of cells whose value comes only here: about the chance of a new value in the next row."""
        return sum(count == 1 for count in self.counts.values()) / max(self.given, 1)

    def within(self, values: Collection[str]) -> float:
        """The share of cells whose value is one of these."""
        return sum(count for value, count in self.counts.items() if value in values) / max(self.given, 1)


def missing(cell: str) -> bool:
    """Whether a cell holds no value."""
    return not cell.strip() or cell.strip() in MISSING


def columns_of(width: int, rows: Sequence[Sequence[str]]) -> list[Column]:
    """The columns of rows."""
    return [Column.of(row[place] for row in rows) for place in range(width)]


def row_odds(first: Sequence[str], columns: Sequence[Column]) -> float:
    """The odds that the first row is one like those below it, and not a header.

    A value that comes again below speaks for a row. One that does not speaks for a header, the more so the fewer new
    values the column has (Good and Turing), if all others are numbers or look alike, or if it is the name of such a
    column.

    >>> rows = [["ann", "t1", "yes"], ["bob", "t1", "no"], ["ann", "t2", "no"], ["bob", "t2", "no"]]
    >>> row_odds(["who", "what", "verdict"], columns_of(3, rows)) < 0.1
    True
    >>> row_odds(rows[0], columns_of(3, rows[1:])) > 10
    True
    """
    odds = 1.0
    for cell, column in zip(map(str.strip, first), columns, strict=True):
        if not column.given or missing(cell):
            continue
        least, number, shape = 1 / (column.given + 1), bool(_NUMBER.fullmatch(cell)), column.shape
        if cell in column.counts:
            odds *= max(1 - column.singles, least) / (0.3 if number or len(cell) < 3 else 0.02)
            continue
        odds *= max(column.singles, least)
        if column.given > 1 and (shape or column.numbers):
            odds *= 10 if number else 100 if _DIGITS.sub("0", cell) == shape else 0.1
        if key_of(cell) in _KNOWN:
            odds *= 0.05
    return odds


def groups_alike(columns: Sequence[Column], among: Iterable[int]) -> list[list[int]]:
    """Groups of two or more columns whose values are the same few."""
    among = list(among)
    left = [place for place in among if columns[place].few]
    alike: dict[int, set[int]] = {}
    equal: dict[frozenset[str], set[int]] = {}
    for place in left:  # of many columns with the same values one is enough to compare with others
        alike[place] = equal.setdefault(frozenset(columns[place].counts), set())
        alike[place].add(place)
    for one, other in combinations([min(group) for group in equal.values()], 2):
        a, b = columns[one], columns[other]
        shares = a.within(b.counts), b.within(a.counts)
        if max(shares) >= 0.5 and min(shares) >= 0.2:
            whole = alike[one] | alike[other]
            for place in whole:
                alike[place] = whole
    groups = [sorted(group) for group in {id(group): group for group in alike.values()}.values() if len(group) > 1]
    if len(groups) == 1:
        values = set().union(*(columns[place].counts for place in groups[0]))
        small = [place for place in among if 0 < len(columns[place].counts) <= FEW and place not in groups[0]]
        more = [place for place in small if columns[place].within(values) >= 0.5]
        groups = [sorted([*groups[0], *more])]
    return groups


def repeated(columns: Sequence[Column], key: Sequence[int]) -> float:
    """The share of rows whose key an earlier row has."""
    found = list(zip(*(columns[place].cells for place in key), strict=True))
    return 1 - len(set(found)) / max(len(found), 1)


def expected(columns: Sequence[Column], key: Sequence[int]) -> float:
    """How many pairs of rows would have the same key if its columns had nothing to do with each other."""
    rows = len(columns[key[0]].cells)
    chance = rows * (rows - 1) / 2
    for place in key:
        chance *= agreement(columns, place, ())
    return chance


def agreement(columns: Sequence[Column], label: int, within: Sequence[int]) -> float:
    """The share of the pairs of rows with the same values in some columns that have the same label."""
    groups: dict[tuple[str, ...], Counter[str]] = {}
    keys = (
        zip(*(columns[place].cells for place in within), strict=True) if within else ((),) * len(columns[label].cells)
    )
    for key, cell in zip(keys, columns[label].cells, strict=True):
        if cell:
            groups.setdefault(key, Counter())[cell] += 1
    same = sum(count * (count - 1) for group in groups.values() for count in group.values())
    pairs = sum(group.total() * (group.total() - 1) for group in groups.values())
    return same / pairs if pairs else 0.0


def told_by(columns: Sequence[Column], place: int, other: int) -> bool:
    """Whether the value of another column determines that of a column."""
    pairs = set(zip(columns[other].cells, columns[place].cells, strict=True))
    return len(pairs) == len(set(columns[other].cells))


def follows(columns: Sequence[Column], place: int, other: int, same: bool = False) -> bool:
    """Whether a column only repeats another one in other words, or, unless they must be as many, in fewer."""
    a, b = columns[place], columns[other]
    if same and len(a.counts) != len(b.counts):
        return False
    if len(a.counts) > len(b.counts) or not 3 <= len(b.counts) <= 0.8 * len(b.cells):
        return False
    if len(a.counts) == len(b.counts) and (a.text, place) < (b.text, other):
        return False
    return told_by(columns, place, other)


Reading = dict[str, int]
"""Roles and their columns."""


def long_readings(columns: Sequence[Column], fixed: Reading, free: Iterable[int]) -> list[Reading]:
    """The ways to read rows as answers: worker, task, label, and maybe question, of which the others are the key.

    Args:
        columns: of the rows.
        fixed: columns whose roles are known.
        free: those that may have the other roles.

    Returns:
        The likeliest reading, or all that are about as likely.
    """
    if len(columns[0].cells) < ENOUGH:
        return []
    usable = [place for place in free if len(columns[place].counts) > 1 and not columns[place].unique]
    wanted = [role for role in ("worker", "task", "label") if role not in fixed]
    if len(usable) > MANY:
        return []
    others = {*usable, *fixed.values()}
    many = {place for place in others if not columns[place].few or place in fixed.values()}
    usable = [p for p in usable if not any(follows(columns, p, other, same=True) for other in others if other != p)]
    found: list[Reading] = []
    for leaders in (others, many, set[int]()):
        own = [p for p in usable if not any(follows(columns, p, other) for other in leaders if other != p)]
        if not len(wanted) <= len(own) <= 7:
            continue
        more = _keyed(columns, fixed, wanted, own)
        if found and {at["label"] for at in more} - {at["label"] for at in found}:  # what follows it may be the label
            return [*found, *(at for at in more if at not in found)]
        found = found or more
        if leaders is many and found:
            break
    return found


def _keyed(columns: Sequence[Column], fixed: Reading, wanted: Sequence[str], options: Sequence[int]) -> list[Reading]:
    """The likeliest readings in which each worker answers each question about a task once."""
    found: list[tuple[float, Reading]] = []
    for chosen in permutations(options, len(wanted)):
        at = {**fixed, **dict(zip(wanted, chosen, strict=True))}
        label, key = at["label"], [at["worker"], at["task"]]
        if not columns[label].few or len(columns[label].counts) > max(len(columns[label].cells) / 2, 5):
            continue
        if told_by(columns, label, at["worker"]):  # nobody gives one answer to everything
            continue
        if repeated(columns, key) <= FREE and "question" not in at:
            found.append((expected(columns, key), at))
            continue
        rest = [at["question"]] if "question" in at else [p for p in options if p not in at.values()]
        for place in rest:
            asked = columns[place].few and not told_by(columns, label, place)
            if asked and repeated(columns, key) >= REPEATED and repeated(columns, [*key, place]) <= FREE:
                found.append((expected(columns, [*key, place]), {**at, "question": place}))
    most = max((chance for chance, _ in found), default=0.0)
    least = 1.0 if "worker" in fixed else 3.0
    likely = [at for chance, at in found if chance >= most / 3 and most >= least]
    likely = [at for at in likely if "question" not in at] or likely
    if len({at["label"] for at in likely}) != 1:
        return likely
    return _by_agreement(columns, likely, fixed)


def _by_agreement(columns: Sequence[Column], readings: list[Reading], fixed: Reading) -> list[Reading]:
    """Of readings that differ in the roles of the same columns those that make workers agree most.

    Whoever answers changes an answer less than what is asked.
    """

    def agree(at: Reading) -> float:
        return agreement(columns, at["label"], [at[role] for role in ("task", "question") if role in at])

    best = max(map(agree, readings))
    kept = [at for at in readings if agree(at) > best - CLEAR]
    several = [at for at in kept if "question" in at]
    if several and "task" not in fixed and "question" not in fixed:  # there are more tasks than questions
        counts = [[len(columns[at[role]].counts) for role in ("task", "question")] for at in several]
        kept = [at for at, (tasks, asked) in zip(several, counts, strict=True) if tasks >= 2 * asked] or kept
    if len({at["worker"] for at in kept}) > 1 and "worker" not in fixed:  # then the order of the columns may tell
        kept = [at for at in kept if at["worker"] < at["task"]
                and len(columns[at["worker"]].counts) <= len(columns[at["task"]].counts)] or kept  # fmt: skip
    return kept


def agreement_across(columns: Sequence[Column], labels: Sequence[int]) -> float:
    """The share of the pairs of cells of some columns in the same row that are equal."""
    same = pairs = 0
    for row in zip(*(columns[place].cells for place in labels), strict=True):
        given = Counter(filter(None, row))
        same += sum(count * (count - 1) for count in given.values())
        pairs += given.total() * (given.total() - 1)
    return same / pairs if pairs else 0.0


def asks(columns: Sequence[Column], label: int, key: Sequence[int], place: int) -> bool | None:
    """Whether a column that separates repeated answers is one of questions; False: of repeats; None: unclear.

    Args:
        columns: of rows.
        label: the column of answers.
        key: worker and task.
        place: the column that separates.
    """
    classes: dict[str, set[str]] = {}
    for value, cell in zip(columns[place].cells, columns[label].cells, strict=True):
        if cell:
            classes.setdefault(value, set()).add(cell)
    if all(not one & other for one, other in combinations(classes.values(), 2)):
        return True
    return asks_of(agreement(columns, label, ()), agreement(columns, label, key),
                   agreement(columns, label, [*key[1:], place]))  # fmt: skip


def asks_of(chance: float, same: float, alike: float) -> bool | None:
    """Whether answers that a column separates are to several questions.

    Args:
        chance: the share of pairs of answers that are equal.
        same: of those of one worker to a task.
        alike: of those of several workers to a task, with the same value in the column.
    """
    if same <= chance + CLEAR and alike > same + CLEAR:
        return True
    return False if same > max(alike, chance) + CLEAR else None
