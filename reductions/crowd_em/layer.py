"""Truth from several workers' labels of an item, together with a learner that sees the item's features.

The lines of one item lie together, each `label |worker w |item features...`, and an empty line ends the block. On its
last line the learner below predicts the item's class from the features, the labels are weighed by the skills of
their workers (the two-level model of `hutch.crowd`, in a stream), and the posterior trains both the crowd and the
learner. The prediction of a block is its most probable class; the lines before the last one have none (NaN).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy import float32, uint64
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.chain.declarations import Answers, Inputs
from hutch.core.chain.derived import learns_soft_labels
from hutch.core.chain.limits import COUNT, FINITE, POSITIVE, Limits
from hutch.core.chain.m_step import MStepReduction
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions
from hutch.core.chain.stored import Stored, dense
from hutch.core.errors import ConfigError, DataError, ModelError
from hutch.core.kernel.abi import UNLABELED, call, example_of, kernel, layer_of, shared_of
from hutch.core.kernel.record import Record
from hutch.core.parameters import Parameters, Within
from hutch.core.text.hashing import hash_feature, namespace_id
from hutch.crowd.models.two_level import TwoLevelParameters, empty_crowd
from hutch.crowd.models.two_level_kernels import Crowd, fit_strengths
from hutch.crowd.models.two_level_stream import FIRST_REFRESH, REFRESH
from hutch.reductions.crowd_em.anchor import COUNTED, MOST_LABELS, Anchors, renew_workers
from hutch.reductions.crowd_em.block import finish_block
from hutch.reductions.crowd_em.state import CROWD_EM, LEARNED, TABLES, Memory, crowd_em_of, take_label

_NAN, _0, _1 = np.float32(np.nan), np.float32(0), np.float32(1)

Powers = Annotated[tuple[Annotated[float, Within(ge=0, le=4)], ...], Within(min_length=1)]


class CrowdEMParameters(Parameters):
    """Parameters of `crowd_em`.

    Attributes:
        classes: number of classes; labels are 1 to `classes`.
        worker: the namespace whose first feature is the worker. The layers below do not see it.
        gold: the worker whose labels are true.
        slots: rows of the worker table; two workers in one row are treated as one.
        passes: passes over the data that infer. 1 is a stream: nothing is kept of an item, and each pass counts as new
            labels. With more, the change of an item's scores by learning it is kept (4 bytes per class and item) and
            removed again when the item is met in the next pass; passes after these train a fresh learner on the
            posteriors.
        crossfit: instead, learn two more copies, each from half of the items, and judge every item by the other half's.
        powers: of the learner's probabilities in the prior of an item, weighed by how well they predict labels.
        vote_share: share of the votes in the learner's target, after the warm-up.
        warm_up: items until posteriors weigh as much as votes in the targets of crowd and learner.
        decay: a label moves its worker by (labels of the worker)^-decay.
        clarity: share of answers to a murky item that its class decides.
        habit_strength: pseudo-counts of a worker's habit.
        class_anchor: weight of the vote shares in the class prior.
        stored_rows: below `nat_oem`: tables kept per worker whose skills change, since skills may return.
    """

    classes: Annotated[int, Within(ge=2, le=1 << 10)]
    worker: str = "worker"
    gold: str | None = None
    slots: Annotated[int, Within(ge=1, le=1 << 24)] = 1 << 16
    passes: Annotated[int, Within(ge=1, le=1 << 20)] = 1
    crossfit: bool = False
    powers: Powers = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0)
    vote_share: Annotated[float, Within(ge=0, le=1)] = 0.0
    warm_up: Annotated[int, Within(ge=0)] = 500
    decay: Annotated[float, Within(ge=0.5, le=1)] = 0.8
    clarity: Annotated[float, Within(ge=0, le=1)] = 0.15
    habit_strength: Annotated[float, Within(gt=0)] = 15.0
    class_anchor: Annotated[float, Within(ge=0)] = 0.2
    stored_rows: Annotated[int, Within(ge=1, le=16)] = 3


@kernel
def predict(layer, example, label, importance, offset):
    """Predict; the line's label counts only if nothing is learned in this run: it is unknown, or held out."""
    known = label if shared_of(example_of(example).shared).testing == 1 else UNLABELED
    return call(layer_of(layer).learn, layer, example, known, importance, offset)


@kernel
def learn(layer, example, label, importance, offset):
    """One line of a block; the run says whether its end teaches anything."""
    s, e = crowd_em_of(layer), example_of(example)
    if _1 <= label <= float32(s.classes) and importance > _0:
        take_label(s, example, label, importance)
    if e.last == uint64(0):
        e.importance, e.loss, e.raw = _0, 0.0, _NAN
        return _NAN
    return finish_block(layer, example, shared_of(e.shared).testing == 0, offset)


class CrowdEM(MStepReduction):
    """Infers the class of each item from its workers' labels and from the learner below, and trains both.

    Raises:
        ConfigError: the layer below has no scores of the classes.
        DataError: while learning, a label that is not a class.
    """

    name: ClassVar[str] = "crowd_em"
    Parameters: ClassVar[type[Parameters]] = CrowdEMParameters
    takes = Labels.MULTICLASS
    predicts = Predictions.CLASS
    asks = (Labels.MULTICLASS, Predictions.CLASS)
    inputs = Inputs(whole_groups=True)
    state: Record
    kernels = Kernels(learn, predict)

    def __init__(self, parameters: CrowdEMParameters, context: Context) -> None:
        super().__init__(parameters, context)
        self.inputs = Inputs(namespaces=(parameters.worker,), whole_groups=True)
        self._check(context)
        p, parser = parameters, context.parser
        hashed = hash_feature(p.worker, p.gold or "", parser.hash_seed, parser.hash) & ((1 << parser.bits) - 1)
        self.state = Record(
            CROWD_EM,
            classes=p.classes,
            slots=p.slots,
            worker=namespace_id(p.worker, parser.namespaces),
            gold=-1 if p.gold is None else hashed,
            powers_given=np.array(p.powers),
            powers=len(p.powers),
            schedule=np.array([p.decay, p.warm_up, p.class_anchor]),
            vote_share=p.vote_share,
            passes=p.passes,
            crossfit=p.crossfit,
            student=self.width(p) - 1,
            soft_labels=context.below is not None and learns_soft_labels(context.below),
            pass_number=1,
        )
        self._memory = Memory(self.state, p.classes, len(p.powers), _untouched(p))
        self._anchors: Anchors | None = None

    def _check(self, context: Context) -> None:
        below, classes = context.below, self.parameters.classes
        if below is None:
            return  # the chain has its own message for this
        if below.answers.score_count != classes:
            raise ConfigError(
                f"crowd_em: needs a score for each of {classes} classes from the layer below, "
                f"{below.name!r} has {below.answers.score_count or 'none'}; wanted one such as 'one_against_all'"
            )
        if below.answers.scores_are_probabilities:
            raise ConfigError(
                f"crowd_em: needs plain scores from the layer below; wanted {below.name}.probabilities: false"
            )

    @classmethod
    def width(cls, parameters: CrowdEMParameters) -> int:
        """The learner; a student if there are several passes; two halves for cross-fitting."""
        if parameters.passes == 1:
            return 1
        return 4 if parameters.crossfit else 2

    @property
    def answers(self) -> Answers:
        """The posterior of each class."""
        return replace(super().answers, score_count=self.parameters.classes, scores_are_probabilities=True)

    @property
    def crowd(self) -> Crowd:
        """The workers' skills, by slot."""
        return Crowd(*(self._memory.learned[name] for name in TABLES))

    def constrain(self, constraint: NDArray[Any]) -> None:
        """Hold the workers' rows near anchors: see `hutch.reductions.crowd_em.anchor`."""
        p = self.parameters
        if p.passes > 1:
            raise ConfigError(f"crowd_em.passes: got {p.passes}; anchors in time need a stream, 1")
        self._anchors = Anchors(constraint, p.slots, p.classes, p.stored_rows)
        self.state["anchors"] = self._anchors.record

    def begin_batch(self, batch: Batch, learn: bool) -> None:
        """Make room for the batch's items; refuse to learn labels that are not classes."""
        labels, classes = batch.labels, self.parameters.classes
        if learn:
            known = labels != UNLABELED
            wrong = known & ~((labels >= 1) & (labels <= classes) & (labels == np.floor(labels)))
            if wrong.any():
                raise DataError(f"crowd_em: got label {labels[wrong][0]:g}, wanted a class from 1 to {classes}")
        largest = self._memory.make_room(batch, learn)
        if self._anchors:
            self._anchors.make_room(largest)

    def end_pass(self) -> None:
        """Estimate the crowd's strengths from all counts; go back to the first item."""
        s, learned = self.state.array[0], self._memory.learned
        if s["pass_number"] <= s["passes"]:
            if self._anchors:
                renew_workers(s["anchors"], self.crowd, self.parameters.classes, learned["touches"], learned["seen"])
            fit_strengths(self.crowd, self.parameters.classes, learned["touches"])
        if s["passes"] > 1:
            s["pass_number"] += 1
        s["item"] = 0

    def saved(self) -> dict[str, NDArray[Any]]:
        """The crowd, the weights of the powers, where in the data the layer is, and the items' shifts if kept."""
        slots, learned = self.parameters.slots, self._memory.learned
        by_slot = {"counts", "rows", "habits", "masses", "skill", "touches", "seen"}
        arrays = {name: a.reshape(slots, -1) if name in by_slot else a for name, a in learned.items()}
        counters = {name: self.state[name] for name in ("pass_number", "item", "items", "taught")}
        anchors = self._anchors.saved() if self._anchors else {}
        return {**arrays, **counters, "shifts": self._memory.shifts, **anchors}

    def limits(self) -> Mapping[str, Limits]:
        """Counts of labels, which rounding may leave a little below 0, and places in the data."""
        p = self.parameters
        found = {**dict.fromkeys(LEARNED, COUNTED), "log_weights": FINITE, "clock": Limits(0, MOST_LABELS)}
        found |= dict.fromkeys(("strengths", "touches", "seen"), POSITIVE)
        found |= dict.fromkeys(("skill", "population", "habit_prior"), Limits(0, 1 + 1e-6))
        found |= dict.fromkeys(("item", "items", "taught"), COUNT)
        found["pass_number"] = Limits(1, 1 if p.passes == 1 else (1 << 31) - 1)
        found["shifts"] = Limits(grows=True)
        return found | (self._anchors.limits() if self._anchors else {})

    def check_saved(self, arrays: Mapping[str, Stored]) -> None:
        """Check that strengths are estimated at doublings of the labels, and that the present item is one with shifts.

        Raises:
            ModelError: a check fails.
        """
        if not dense(arrays["clock"])[REFRESH] >= FIRST_REFRESH:
            raise ModelError(
                f"crowd_em.clock: got {dense(arrays['clock'])[REFRESH]:g}, wanted at least {FIRST_REFRESH}"
            )
        item, items = (int(dense(arrays[name])[0]) for name in ("item", "items"))
        kept = len(dense(arrays["shifts"]))
        if kept != items or (self.parameters.passes > 1 and not self.parameters.crossfit and item > items):
            raise ModelError(f"crowd_em: got item {item} of {items} and shifts of {kept}, wanted shifts of each item")

    def loading(self, arrays: Mapping[str, Stored]) -> None:
        """Make room for the shifts."""
        self._memory.keep_shifts(len(dense(arrays["shifts"])))


def _untouched(p: CrowdEMParameters) -> dict[str, NDArray[np.float64]]:
    """The learned arrays before the first label."""
    two_level = TwoLevelParameters(clarity=p.clarity, habit_strength=p.habit_strength)
    state = empty_crowd(p.slots, [str(k) for k in range(p.classes)], two_level, None)
    clock = np.zeros(4)
    clock[REFRESH] = FIRST_REFRESH
    arrays = {**state.workers, **state.shared, "touches": np.zeros(p.slots), "seen": np.zeros(p.slots), "clock": clock}
    arrays["log_weights"] = np.zeros(len(p.powers))
    return {name: arrays[name].reshape(-1) for name in LEARNED}
