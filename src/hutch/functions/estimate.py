"""`hutch.estimate`: a number over all items, from people's labels of some and judges' labels of all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hutch.core.errors import UsageError
from hutch.crowd.data.asked import ColumnNames
from hutch.estimate.files import read_items
from hutch.estimate.summary import kind_of, lines_of, summary_of
from hutch.estimate.verdict import sentences
from hutch.functions.result import Result
from hutch.shell.sentences import Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Estimate(Result):
    """A number with its interval.

    Attributes:
        value: the estimate.
        low, high: the ends of its interval.
        verdict: at most three sentences.
        summary: all figures that the command prints, by name.
    """

    value: float
    low: float
    high: float
    verdict: tuple[str, ...]
    summary: dict[str, Any]

    @property
    def text(self) -> str:
        """What `hutch estimate` prints."""
        return "\n".join([*lines_of(self.summary), *Verdict(self.verdict).lines()])

    def plot(self) -> "Figure":
        """The estimate with its interval, and what people's labels say without the judges.

        Raises:
            UsageError: Matplotlib is not installed.
        """
        from hutch.pages.page import intervals_figure

        alone = tuple(self.summary[f"people_only{end}"] for end in ("_low", "", "_high"))
        rows = {"people and judges": (self.low, self.value, self.high), "people alone": alone}
        if not self.summary["judges"]:
            del rows["people and judges"]
        kind, of = self.summary["question"], self.summary["of"]
        whole, null = kind in ("rate", "accuracy"), 0.0 if kind == "difference" else None
        edges = [edge for row in rows.values() for edge in row] + [0.0] * (null is not None)
        least, most = (0.0, 1.0) if whole else (min(edges), max(edges))
        meaning = f"{kind}{f' of {of}' if of else ''}, with its {100 * self.summary['confidence']:g} % interval"
        return intervals_figure([*rows], [*rows.values()], meaning, least, most, null)


def estimate(
    people: Any,
    of: str,
    *,
    judges: Any = None,
    reference: str | Sequence[str] = (),
    drawn: Any = None,
    items: int | None = None,
    noisy: bool = False,
    every_look: int | None = None,
    plan: bool = False,
    columns: str | Mapping[str, str] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Estimate a number over all items from the few that people labelled and the many that judges did.

    Args:
        people: people's labels: a frame of pandas, polars or Arrow, or the path of a file, in any form that the command
            reads.
        of: `rate=CLASS`, `mean`, `accuracy=JUDGE`, `difference=A,B`, `count=CLASS` or `left=CLASS`; the name may be
            left out where only one is possible.
        judges: labels of judges for all items, likewise; None: they are among those of people.
        reference: workers, or patterns of workers, who are people, if judges are among them.
        drawn: a frame or file of items and the probability with which each was drawn for people; None: all alike.
        items: how many there are, if the labels do not name them all.
        noisy: people err, too: a crowd model infers the truth.
        every_look: the interval holds at every look, and is narrowest at so many labels; None: it is for one look.
        plan: also how many labels drawn by lot each half-width needs.
        columns: names of the columns, if they are not recognised.
        confidence: of the interval, between 0 and 1.
        seed: of the split into folds.

    Raises:
        DataError: labels cannot be read, or people and judges do not meet.
        UsageError: an unknown question, class or judge, or options that do not go together.

    Source: see `hutch.estimate.means`.

    >>> import pandas
    >>> people = pandas.DataFrame({"worker": "ann", "item": range(60), "label": ["spam"] * 20 + ["ham"] * 40})
    >>> judges = pandas.DataFrame({"worker": "m", "item": range(600), "label": ["spam", "ham", "ham"] * 200})
    >>> found = estimate(people, "rate=spam", judges=judges)
    >>> found.low < 1 / 3 < found.high
    True
    """
    if not 0 < confidence < 1:
        raise UsageError(f"confidence: got {confidence:g}, wanted a number between 0 and 1")
    if plan and (every_look is not None or drawn is not None):
        raise UsageError("plan: cannot be combined with every_look or drawn")
    kind_of(of)
    patterns = (reference,) if isinstance(reference, str) else tuple(reference)
    known = read_items(people, judges, drawn, items, noisy, patterns, ColumnNames.of(columns))
    summary = summary_of(known, of, confidence, every_look, seed, plan)
    said = sentences(summary, confidence)
    return Estimate(summary["estimate"], summary["low"], summary["high"], said, summary)
