"""`hutch.judges`: what judges are worth, from frames or files of their verdicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hutch.core.errors import UsageError, did_you_mean, warn
from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.frames import make_frame, package_of
from hutch.estimate.means import Interval
from hutch.functions.result import Result
from hutch.judges import lab, output
from hutch.judges.runs import Reading, read_runs
from hutch.judges.verdict import sentences
from hutch.shell.sentences import Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Judges(Result):
    """What judges are worth.

    Attributes:
        report: the rows of each section, by the section's name.
        verdict: at most three sentences.
        package: of the frames: `pandas`, `polars` or `pyarrow`.
    """

    report: lab.Report
    verdict: tuple[str, ...]
    package: str

    @property
    def text(self) -> str:
        """What `hutch judges` prints, from the first table on."""
        return "\n".join([*output.text_lines(self.report), *Verdict(self.verdict).lines()]).lstrip("\n")

    def to_frame(self, section: str = "judges") -> Any:
        """The rows of a section, such as `judges`, `errors`, `slices` or `panel`; an interval is three columns.

        Raises:
            UsageError: the report has no such section.
        """
        if section not in self.report:
            raise UsageError(f"no section {section!r}; {did_you_mean(section, self.report)}")
        rows = [_flat(row) for row in self.report[section]]
        names = list(dict.fromkeys(name for row in rows for name in row))
        return make_frame(self.package, names[0], {name: [row.get(name) for row in rows] for name in names})

    def plot(self) -> "Figure":
        """How often each judge agrees with people, with its interval.

        Raises:
            UsageError: Matplotlib is not installed, or no judge was compared with people.
        """
        from hutch.pages.page import intervals_figure

        judged = [row for row in self.report.get("judges", ()) if isinstance(row.get("accuracy"), Interval)]
        if not judged:
            raise UsageError("no judge was compared with people: give people's labels, or gold")
        ends = [(row["accuracy"].low, row["accuracy"].estimate, row["accuracy"].high) for row in judged]
        return intervals_figure([str(row["judge"]) for row in judged], ends, "accuracy", 0.0, 1.0)


def judges(
    logs: Any,
    *,
    people: Any = None,
    gold: Any = None,
    reference: str | Sequence[str] = (),
    columns: str | Mapping[str, str] | None = None,
    slices: Sequence[str] = (),
    cluster: str = "",
    order: str = "",
    versions: bool = False,
    compare: Sequence[tuple[str, str]] = (),
    scores: bool | None = None,
    unsure: Sequence[str] = (),
    least_accuracy: float | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Judges:
    """Report what judges are worth, as `hutch judges` does.

    Args:
        logs: a frame of pandas, polars or Arrow, or the path of a file, in any form that the command reads; or several.
        people: people's labels, likewise.
        gold: true classes or scores: a frame or file of items and labels.
        reference: workers in the logs, or patterns of workers, who are people.
        columns: names of the logs' columns, such as `{"worker": "model", "task": "id"}`, if they are not recognised.
        slices: columns by which to compare items.
        cluster: the column of what several items belong to, such as a conversation.
        order: the column of the order in which two answers were shown.
        versions: judges of each log are their own.
        compare: pairs of judges, the older first.
        scores: labels are scores on a scale; None: if they are three numbers or more.
        unsure: labels that mean that a judge or a person does not know, beside the usual words; they are no classes.
        least_accuracy: share of items in which the panel is surely right; None: .5, of more than 20 judges .77.
        confidence: of the intervals, between 0 and 1.
        seed: of folds and permutations.

    Raises:
        DataError: a log cannot be read, or people and judges do not meet.
        UsageError: options that do not go together.

    >>> import pandas
    >>> log = pandas.DataFrame({"judge": ["a", "b"] * 40, "item": [k // 2 for k in range(80)]})
    >>> log["verdict"] = ["no", "yes"] * 40
    >>> people = pandas.DataFrame({"worker": "ann", "item": range(40), "verdict": ["no"] * 30 + ["yes"] * 10})
    >>> judges(log, people=people).to_frame().accuracy.to_dict()
    {'a': 0.75, 'b': 0.25}
    """
    if not 0 < confidence < 1:
        raise UsageError(f"confidence: got {confidence:g}, wanted a number between 0 and 1")
    sources = list(logs) if isinstance(logs, list | tuple) else [logs]
    how = Reading(
        reference=(reference,) if isinstance(reference, str) else tuple(reference),
        columns=replace(ColumnNames.of(columns).answering((), unsure), scores=bool(scores)),
        order=order,
        cluster=cluster,
        slices=tuple(slices),
        versions=versions,
        scores=scores,
    )
    runs = read_runs(sources, people, gold, how)
    for notice in dict.fromkeys(runs.notices):
        if "read as" not in notice:
            warn(notice)
    report, _ = lab.report(runs, list(compare), confidence, seed, least_accuracy)
    return Judges(report, sentences(runs, report), package_of(sources[0]))


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row whose intervals are their estimate, and low and high beside it."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Interval):
            found |= {name: value.estimate, f"{name}_low": value.low, f"{name}_high": value.high}
        else:
            found[name] = value
    return found
