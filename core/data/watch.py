"""What a chain knows of the columns of the tables it reads, so that none changes its meaning in silence."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy

from hutch.core.errors import Problem, at, warn

_LOOKS = 8  # pieces of a table in which a column of words is looked at
_NAMED = 5  # columns named in a message


class Watch:
    """The columns that a chain has learned from, and those about which something has been said.

    Args:
        known: the columns of features so far, and whether every table had them; they are saved with the model.
        lengths: of the lists of numbers in columns so far, as `Vectors` keeps them; likewise.

    Attributes:
        known, lengths: the same.
        passing: lengths in single records that have not been learned; they are not saved.

    >>> watch = Watch()
    >>> watch.table("old.csv", ["city", "size"], learns=True)
    >>> watch.table("new.csv", ["town", "size"], learns=False)
    Traceback (most recent call last):
    hutch.core.errors.Problem: no column 'city', new column 'town'; rename it, or add a column 'city' of empty cells
    """

    def __init__(self, known: Mapping[str, bool] | None = None, lengths: Mapping[str, int] | None = None) -> None:
        self.known = dict(known or {})
        self.lengths, self.passing = dict(lengths or {}), dict[str, int]()
        self._looks: Counter[str] = Counter()
        self._silent = False

    def table(self, source: str, names: Sequence[str], learns: bool, whole: bool = True) -> None:
        """Compare the columns of a table with those learned from.

        Args:
            source: name of the table in messages.
            names: its columns of features.
            learns: whether it is learned; its columns are then known.
            whole: whether these are all of its columns; rows of JSON may have more.

        Raises:
            Problem: a table to predict lacks a column that all others had.

        Warns:
            UserWarning: a table to learn lacks one, or a column is new.
        """
        there, known = set(names), bool(self.known)
        lost = [name for name, always in self.known.items() if name not in there and (always or not whole)]
        new = [name for name in names if name not in self.known]
        if known and (new or lost and whole):
            said = "; ".join(
                [
                    ", ".join([*_listed("no", lost), *_listed("new", new)]),
                    *self._advice(lost if whole else [], new, learns),
                ]
            )
            if lost and whole and not learns:
                raise Problem(said)
            warn(at(source, None, None, said))
        if learns:
            self.known |= dict.fromkeys(lost, False) | dict.fromkeys(new, whole and not known)

    def lists(self, lengths: Mapping[str, int]) -> None:
        """Take over the lengths of the lists of a table that was read elsewhere.

        Args:
            lengths: as those of the watch.

        Raises:
            Problem: lists of a column had another length so far.
        """
        for column, length in lengths.items():
            if (before := self.lengths.setdefault(column, length)) != length:
                got, wanted = (f"lists of {n} numbers" if n else "lists of whole numbers" for n in (length, before))
                raise Problem(f"{column!r}: got {got}, wanted {wanted} as in other data")

    @staticmethod
    def _advice(lost: Sequence[str], new: Sequence[str], learns: bool) -> Iterable[str]:
        if learns:
            yield "the model learned from other columns before"
        elif lost:
            yield f"{'rename it, or ' * bool(new)}add a column {lost[0]!r} of empty cells"
        else:
            yield "the model has not learned it" if len(new) == 1 else "the model has not learned them"

    def apart(self) -> "Watch":
        """The same for examples that may not be learned: lengths of further columns are not remembered."""
        found = copy(self)
        found.lengths, found.passing = dict(self.lengths), {}
        return found

    def of_lengths(self) -> "Watch":
        """One that measures lists as this does, and says nothing of columns."""
        found = Watch()
        found.lengths, found._silent = self.lengths, True
        return found

    def looks(self, column: str) -> bool:
        """Whether the words of a column are still worth a look; counts it."""
        self._looks[column] += 1
        return self._looks[column] <= _LOOKS and not self._silent

    def say(self, source: str, column: str, text: str) -> None:
        """Warn about a column, which is then looked at no more."""
        self._looks[column] = _LOOKS
        warn(at(source, None, None, text))


def _listed(which: str, names: Sequence[str]) -> list[str]:
    """Columns for a message; none for no names."""
    shown = ", ".join(map(repr, names[:_NAMED])) + f" and {len(names) - _NAMED} more" * (len(names) > _NAMED)
    return [f"{which} column{'s' * (len(names) > 1)} {shown}"] if names else []
