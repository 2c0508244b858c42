"""`hutch.crowd`: true labels and workers' skills from a frame or a file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hutch.core.errors import UsageError, counted, warn
from hutch.crowd.aggregate import Aggregate, Options, aggregate
from hutch.crowd.choice import default_model
from hutch.crowd.cli.model import create_model
from hutch.crowd.cli.summary import lines_of
from hutch.crowd.cli.verdict import known_right
from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.frames import declared_of, is_frame, make_frame, originals_of, package_of
from hutch.crowd.data.labels import Labels
from hutch.crowd.data.values import unsure_in
from hutch.crowd.output import label_pool, next_rows, score, summary
from hutch.crowd.read.kinds import reference_workers
from hutch.crowd.read.labels import read_gold, read_labels
from hutch.crowd.read.source import called
from hutch.crowd.verdict import findings, verdict
from hutch.functions.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Crowd(Result):
    """What a crowd says.

    Attributes:
        aggregate: everything that was inferred.
        summary: the numbers that the command prints, by name.
        package: of the frames: `pandas`, `polars` or `pyarrow`.
        originals: the values of a frame that stand for names of tasks, workers and classes.
    """

    aggregate: Aggregate
    summary: Mapping[str, Any]
    package: str
    originals: Mapping[str, Mapping[str, Any]]

    @property
    def text(self) -> str:
        """What `hutch crowd` prints."""
        return "\n".join(lines_of(self.summary))

    @property
    def verdict(self) -> tuple[str, ...]:
        """At most three sentences: how many labels are right, who answers by chance, what is not settled."""
        return tuple(self.summary["verdict"])

    def to_frame(self) -> Any:
        """A row per task: `task label confidence ratings`, and `q:` with the probability of each class.

        The frame is one of pandas, if pandas is installed and the labels are not those of another library; its index
        is the task.
        """
        return self._frame("task", self.aggregate.task_columns())

    def workers(self) -> Any:
        """A row per worker: `worker labels accuracy low high spam`."""
        return self._frame("worker", self.aggregate.worker_columns())

    def next(self, count: int, workers: Sequence[str] = ()) -> Any:
        """The tasks to label next, the most useful first.

        Args:
            count: of tasks.
            workers: those who are available; each task then names the best to ask.
        """
        rows = next_rows(self.aggregate, label_pool(self.aggregate), count, list(workers), {})
        names = list(rows[0]) if rows else ["task"]
        return self._frame("task", {name: [row[name] for row in rows] for name in names})

    def score(self, truth: Any) -> dict[str, float | None]:
        """Accuracy, log-loss and calibration error against true classes.

        Args:
            truth: by task; or a frame or file with the columns task and label.
        """
        labels, known = self.aggregate.labels, _classes_of(truth)
        code = {name: k for k, name in enumerate(labels.classes)}
        places = [code.get(known.get(name, ""), -1) for name in labels.item_names]
        return score(self.aggregate, np.array(places, np.int32))

    def plot(self) -> "Figure":
        """The accuracy of every worker with its interval, the best first.

        Raises:
            UsageError: Matplotlib is not installed.
        """
        from hutch.pages.page import intervals_figure

        found = self.aggregate.report()
        judged = np.flatnonzero(np.isfinite(found.accuracy) & (found.labels > 0))
        order = judged[np.argsort(-found.accuracy[judged])].tolist()
        names = [self.aggregate.labels.worker_names[w] for w in order]
        ends = [(float(found.low[w]), float(found.accuracy[w]), float(found.high[w])) for w in order]
        return intervals_figure(names, ends, "accuracy", 0.0, 1.0)

    def _frame(self, index: str, columns: dict[str, Any]) -> Any:
        for role in {index, "label"} & columns.keys():
            known = self.originals.get(role, {})
            columns[role] = [known.get(name, name) for name in columns[role]]
        return make_frame(self.package, index, columns)


def crowd(
    labels: Any,
    *,
    gold: Any = None,
    reference: str | Sequence[str] = (),
    columns: str | Mapping[str, str] | None = None,
    classes: Sequence[str] = (),
    unsure: Sequence[str] = (),
    ordered: bool | None = None,
    model: str | None = None,
    **parameters: Any,
) -> Crowd:
    """Infer the true class of every task and the skill of every worker, as `hutch crowd` does.

    Args:
        labels: a frame of pandas, polars or Arrow, or the path of a file, in any form that the command reads: a row per
            label, or a row per task and a column per worker.
        gold: true classes of some tasks: a mapping, or a frame or file of tasks and labels.
        reference: workers, or patterns of workers, whose labels define the classes; the others are judges.
        columns: names of the columns, such as `{"worker": "who", "task": "id", "label": "answer"}`, if they are not
            recognised.
        classes: all of them, in their order; empty: those of the labels.
        unsure: labels by which a worker does not know, beside the usual words; they are no classes.
        ordered: the classes are ordered; None: if they are 3 to 12 whole numbers.
        model: name of the crowd model; None: the one that suits the labels.
        parameters: of the model.

    Raises:
        DataError: the labels cannot be read, one is none of the classes, or several questions are answered.
        UsageError: options that do not go together.

    >>> import pandas
    >>> votes = pandas.DataFrame(
    ...     {"rater": ["ann", "bob", "cy", "ann"], "image": [7, 7, 7, 8], "answer": ["cat", "cat", "dog", "dog"]}
    ... )
    >>> found = crowd(votes)
    >>> found.to_frame().label.to_dict()
    {7: 'cat', 8: 'dog'}
    """
    if model is None and parameters:
        raise UsageError(f"{', '.join(parameters)}: parameters of a model, which is not named; wanted model=NAME")
    truth = None if gold is None else _classes_of(gold)
    asked = ColumnNames.of(columns).answering(classes, unsure)
    read = read_labels(labels, classes=classes, gold=truth, columns=asked)
    declared, in_order = declared_of(labels, read.classes) if is_frame(labels) and not classes else ([], False)
    if declared:
        read, ordered = read_labels(labels, declared, (), truth, asked), in_order if ordered is None else ordered
    notices = [line for line in read.notices if not line.startswith("read as")]  # the summary says it
    strange = sorted(set((truth or {}).values()) - {read.classes[code] for code in set(read.labels.tolist())})
    notices += [f"gold has the class {name!r}, which no label has" for name in strange]
    notices += [f"gold without labels: {counted(read.unmatched_gold, 'task')}"] if read.unmatched_gold else []
    for line in (*notices, *read.problems.lines(called(labels))):
        warn(line)
    patterns = (reference,) if isinstance(reference, str) else tuple(reference)
    patterns = patterns or tuple(reference_workers(labels, asked))
    if model is None:
        chosen = default_model(read, ordered, patterns, None, batch=True)
    else:
        chosen = create_model(model, parameters | ({"reference": patterns} if patterns else {}))
    options = Options(ordered=ordered)
    found = aggregate(read, chosen, options)
    if found.doubt:
        warn(f"{called(labels)}: {found.doubt}; gold or a reference can tell")
    numbers = {"read_as": read.form, "model": chosen.name, "method": "batch", **summary(found)}
    numbers |= unsure_in(read.problems, found.unsure)
    numbers |= verdict(findings(found, known_right(found, chosen, options, None, None))).as_json()
    return Crowd(found, numbers, package_of(labels), _originals(labels, read))


def _classes_of(truth: Any) -> dict[str, str]:
    """True classes by task."""
    if isinstance(truth, Mapping):
        return {str(task): str(label) for task, label in truth.items()}
    return read_gold(truth if is_frame(truth) else Path(truth))


def _originals(labels: Any, read: Labels) -> dict[str, Mapping[str, Any]]:
    if not is_frame(labels):
        return {}
    names = {"task": read.item_names, "worker": read.worker_names, "label": read.classes}
    return {role: originals_of(labels, known) for role, known in names.items()}
