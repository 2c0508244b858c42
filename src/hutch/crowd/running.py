"""What a stream found, from pieces of its tasks, in memory that does not grow."""

from functools import partial

from hutch.crowd.aggregate import Aggregate
from hutch.crowd.data.labels import Labels
from hutch.crowd.models.model import Array
from hutch.crowd.models.online import Stream, fit_of
from hutch.crowd.models.repeats import joined
from hutch.crowd.right import Tally
from hutch.crowd.verdict import Findings, counts_of, guessers


class Running:
    """The findings of a stream, task by task.

    Attributes:
        unsettled, tasks, differ: as of `Findings`.
        tally: from which it is estimated how many labels are right.
    """

    def __init__(self) -> None:
        self.unsettled = self.tasks = self.differ = self._labels = 0
        self.tally = Tally()
        self._largest: Labels | None = None

    def add(self, labels: Labels, probability: Array, posterior: Array) -> None:
        """Count tasks, each once.

        Args:
            labels: of whole tasks, with the names of workers.
            probability, posterior: calibrated and as the model gives them (items, classes).
        """
        self.tally.add(labels, probability, posterior)
        unsettled, tasks, differ = counts_of(labels, probability)
        self.unsettled, self.tasks, self.differ = self.unsettled + unsettled, self.tasks + tasks, self.differ + differ
        self._labels += len(labels)
        if self._largest is None or len(labels) >= len(self._largest):
            self._largest = labels

    def findings(self, stream: Stream, piece: Labels | None = None) -> Findings:
        """What was found. Guessers are judged by the piece with most labels, as the stream knows the workers now.

        Args:
            stream: has learned.
            piece: labels as they came, to judge guessers by where the stream has closed tasks: the open ones are those
                on which workers contradict each other.
        """
        parameters = stream.model.parameters
        judges = hasattr(parameters, "reference") or bool(getattr(parameters, "judges", False))
        right = self.tally.right(stream.model.name, judges, stream=True)
        largest = self._largest if self.tally.voted else piece
        named = guessers(_aggregate(stream, largest)) if largest is not None else []
        whole = largest is None or largest is self._largest and len(largest) == self._labels
        judged_by = 0 if whole or largest is None else len(largest)
        return Findings(right, named, self.unsettled, self.tasks, self.differ, judges, judged_by)


def _aggregate(stream: Stream, labels: Labels) -> Aggregate:
    """Some labels as the stream sees them, for the report on their workers."""
    parts, slots = stream.voices(labels), stream.in_slots(labels)
    rows = stream.slots_of(parts.worker_names)
    posterior, _, _ = stream.score(slots)
    return Aggregate(
        labels,
        fit_of(stream.state, posterior),
        posterior,
        lambda: joined(stream.confusions(rows), labels, parts),
        stream.class_prior(),
        None,
        partial(stream.factors, rows),
        partial(stream.others, slots),
        None,
        partial(stream.beta, slots),
        model=stream.model.name,
    )
