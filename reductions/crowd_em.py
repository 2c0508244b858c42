"""Truth from several workers' labels of an item, together with a learner that sees the item's features.

The lines of one item lie together, each `label |worker w |item features...`, and an empty line ends the block. On its
last line the learner below predicts the item's class from the features, the labels are weighed by what is known of
their workers (the two-level model of `hutch.crowd`, in a stream), and the posterior teaches both the crowd and the
learner. The prediction of a block is its most probable class; the lines before the last one have none (NaN).
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from numba import float32, int64, njit, uint64
from numpy.typing import NDArray
from pydantic import Field

from hutch.core.abi import (
    UNLABELED,
    example_at,
    float32s_at,
    float64s_at,
    int64s_at,
    kernel,
    layer_at,
    learn_next,
    predict_next,
    shared_at,
)
from hutch.core.batch import Batch
from hutch.core.errors import ConfigError, DataError
from hutch.core.hashing import hash_feature, namespace_id
from hutch.core.hooks import hookimpl
from hutch.core.reduction import Context, Kernels, Labels, Parameters, Predictions, Reduction
from hutch.crowd.two_level import TwoLevelParameters, empty_crowd
from hutch.crowd.two_level_kernels import Crowd, begin_posterior, end_posterior, fit_strengths
from hutch.crowd.two_level_stream import FIRST_REFRESH, ITEMS, REFRESH, learn_item, likelihoods, stream_priors
from hutch.reductions.crowd_em_prior import probabilities, soft_label, temper, weigh_evidence
from hutch.reductions.crowd_em_state import (
    CROWD_EM,
    LEARNED,
    TABLES,
    Memory,
    crowd_at,
    crowd_em_at,
    half_of,
    take_features,
    take_label,
)

_FORGET = 0.995  # weights of the powers remember about 200 items
_NAN, _0, _1 = np.float32(np.nan), np.float32(0), np.float32(1)


class CrowdEMParameters(Parameters):
    """Parameters of `crowd_em`.

    Attributes:
        classes: how many; labels are 1 to `classes`.
        worker: the namespace whose first feature is the worker. The layers below do not see it.
        gold: the worker whose labels are true.
        slots: rows of the worker table; two workers in one row are treated as one.
        passes: passes over the data that infer. 1 is a stream: nothing is kept of an item, and each pass counts as new
            labels. With more, what learning an item did to its own scores is kept (4 bytes a class and item) and taken
            out again when the item is met in the next pass; passes after these teach a fresh learner the posteriors.
        crossfit: instead, learn two more copies, each from half of the items, and judge every item by the other half's.
        powers: of the learner's probabilities in the prior of an item, weighed by how they foresee labels.
        vote_share: share of the votes in what the learner is taught, after the warm-up.
        warm_up: items until posteriors weigh as much as votes in what crowd and learner are taught.
        decay: a label moves its worker by (labels of the worker)^-decay.
        clarity: share of answers to a murky item that its class decides.
        habit_strength: pseudo-counts of a worker's habit.
        class_anchor: weight of the vote shares in the class prior.
    """

    classes: Annotated[int, Field(ge=2, le=1 << 10)]
    worker: str = "worker"
    gold: str | None = None
    slots: Annotated[int, Field(ge=1, le=1 << 24)] = 1 << 16
    passes: Annotated[int, Field(ge=1)] = 1
    crossfit: bool = False
    powers: tuple[Annotated[float, Field(ge=0, le=4)], ...] = Field((0.0, 0.25, 0.5, 1.0, 1.5, 2.0), min_length=1)
    vote_share: Annotated[float, Field(ge=0, le=1)] = 0.0
    warm_up: Annotated[int, Field(ge=0)] = 500
    decay: Annotated[float, Field(ge=0.5, le=1)] = 0.8
    clarity: Annotated[float, Field(ge=0, le=1)] = 0.15
    habit_strength: Annotated[float, Field(gt=0)] = 15.0
    class_anchor: Annotated[float, Field(ge=0)] = 0.2


@njit
def _scores(layer, s, submodel, offset):  # type: ignore[no-untyped-def]
    """The scores of one of the learners below, in the layer's memory."""
    predict_next(layer, s.example, UNLABELED, _1, offset + uint64(submodel) * layer_at(layer)[0].step)
    return float32s_at(s.scores, uint64(s.classes))


@njit
def _teach(layer, s, submodel, importance, offset):  # type: ignore[no-untyped-def]
    """Let one of the learners below learn the target."""
    item = example_at(s.example)[0]
    item.targets, item.importance = s.target, importance
    learn_next(layer, s.example, UNLABELED, importance, offset + uint64(submodel) * layer_at(layer)[0].step)
    item.targets = uint64(0)


@njit
def _opinion(layer, s, half, learning, offset):  # type: ignore[no-untyped-def]
    """The learner's probabilities of the item's class, from no learner that has learned from the item's own labels."""
    classes = uint64(s.classes)
    scores = float32s_at(s.scores, classes)
    shifted = float32s_at(s.shifted, classes)
    again = learning and s.passes > 1 and s.pass_number > 1
    if not learning:
        scores = _scores(layer, s, s.student if s.taught > 0 else 0, offset)
    elif again and s.crossfit == 1:
        scores = _scores(layer, s, 2 - half, offset)
    else:
        scores = _scores(layer, s, 0, offset)
    shifted[:] = scores
    if again and s.crossfit == 0:
        shifts = float32s_at(s.shifts + uint64(4) * classes * uint64(s.item), classes)
        for k in range(classes):
            shifted[k] -= shifts[k]
    probabilities(shifted, float64s_at(s.p, classes))


@njit
def _train(layer, s, half, importance, offset):  # type: ignore[no-untyped-def]
    """Train the learners below; keep what that did to the item's scores, if the item will be met again."""
    classes = uint64(s.classes)
    if s.passes == 1 or s.crossfit == 1:
        _teach(layer, s, 0, importance, offset)
        if s.crossfit == 1 and s.passes > 1:
            _teach(layer, s, 1 + half, importance, offset)
        return
    shifts = float32s_at(s.shifts + uint64(4) * classes * uint64(s.item), classes)
    shifts[:] = _scores(layer, s, 0, offset)
    _teach(layer, s, 0, importance, offset)
    after = _scores(layer, s, 0, offset)
    for k in range(classes):
        shifts[k] = after[k] - shifts[k]


@njit(error_model="numpy")
def _count_votes(s, labels):  # type: ignore[no-untyped-def]
    """Vote shares of the block; all on the gold class where it is known, even where there are no labels."""
    classes = uint64(s.classes)
    votes = float64s_at(s.votes, classes)
    votes[:] = 0.0 if s.truth >= 0 or s.count > 0 else 1.0 / s.classes
    if s.truth >= 0:
        votes[s.truth] = 1.0
    elif s.count > 0:
        for label in labels:
            votes[label] += 1.0 / s.count
    return votes


@njit(error_model="numpy")
def _infer(layer, s, crowd, slots, labels, has_features, half, learning, offset):  # type: ignore[no-untyped-def]
    """E step of the block, into q; also its likelihood, and the learner's opinion and the prior before the labels."""
    classes = uint64(s.classes)
    q, prior = float64s_at(s.q, uint64(2) * classes), float64s_at(s.prior, classes)
    class_prior, levels = float64s_at(s.class_prior, classes), float64s_at(s.levels, uint64(2))
    likelihood, own = float64s_at(s.likelihood, classes), float64s_at(s.own, classes)
    p, work = float64s_at(s.p, classes), float64s_at(s.work, uint64(4) * classes)
    stream_priors(
        float64s_at(s.class_counts, classes), float64s_at(s.level_counts, uint64(2)), own[:0], class_prior, levels
    )
    prior[:] = 1.0
    begin_posterior(prior, levels, s.truth, s.classes, q)
    likelihoods(slots, labels, s.classes, crowd, own, work[: s.classes], q)
    end_posterior(q)
    for k in range(classes):
        likelihood[k] = q[k] + q[uint64(k) + classes]
    p[:] = prior[:] = class_prior
    if has_features:
        powers = uint64(s.powers)
        _opinion(layer, s, half, learning, offset)
        temper(
            p, class_prior, float64s_at(s.powers_given, powers), float64s_at(s.log_weights, powers),
            float64s_at(s.by_power, powers * classes), prior,
        )  # fmt: skip
    for k in range(classes):
        q[k] *= prior[k]
        q[uint64(k) + classes] *= prior[k]
    end_posterior(q)
    return q


@njit(error_model="numpy")
def _learn(layer, s, crowd, slots, labels, votes, has_features, half, offset):  # type: ignore[no-untyped-def]
    """M step: the crowd and the learner, or after the last pass that infers only the student."""
    classes = uint64(s.classes)
    q, target = float64s_at(s.q, uint64(2) * classes), float32s_at(s.target, classes)
    likelihood, clock = float64s_at(s.likelihood, classes), float64s_at(s.clock, uint64(4))
    if s.pass_number > s.passes:
        if has_features:
            for k in range(classes):
                target[k] = q[k] + q[uint64(k) + classes]
            _teach(layer, s, s.student, s.importance, offset)
            s.taught += 1
        return
    first_pass = s.pass_number == 1
    schedule = float64s_at(s.schedule, uint64(3))
    if has_features:
        powers = uint64(s.powers)
        weigh_evidence(
            float64s_at(s.by_power, powers * classes), likelihood, _FORGET, float64s_at(s.log_weights, powers)
        )
        share = schedule[1] / (schedule[1] + clock[ITEMS]) if first_pass and schedule[1] > 0.0 else 0.0
        soft_label(float64s_at(s.p, classes), likelihood, votes, max(share, s.vote_share), target)
    learn_item(
        slots, labels, votes, crowd, float64s_at(s.touches, uint64(s.slots)), float64s_at(s.seen, uint64(s.slots)),
        float64s_at(s.class_counts, classes), float64s_at(s.level_counts, uint64(2)), clock, first_pass, schedule,
        float64s_at(s.own, classes), float64s_at(s.work, uint64(4) * classes), q,
    )  # fmt: skip
    if has_features:
        _train(layer, s, half, s.importance, offset)


@njit(error_model="numpy")
def _block(layer, example, learning, offset):  # type: ignore[no-untyped-def]
    """The last line of a block: predict, then learn; returns the most probable class."""
    s, e = crowd_em_at(layer_at(layer)[0].state)[0], example_at(example)[0]
    crowd = crowd_at(s)
    slots, labels = int64s_at(s.block_slots, uint64(s.count)), int64s_at(s.block_labels, uint64(s.count))
    votes, has_features = _count_votes(s, labels), take_features(s, example)
    half = half_of(s) if s.crossfit == 1 else 0
    q = _infer(layer, s, crowd, slots, labels, has_features, half, learning, offset)
    classes = s.classes
    p, best, foreseen = float64s_at(s.p, uint64(classes)), 0, 0
    for k in range(classes):
        if q[k] + q[classes + k] > q[best] + q[classes + best]:
            best = k
        if p[k] > p[foreseen]:
            foreseen = k
    known = s.count > 0 or s.truth >= 0
    e.features, e.raw = example_at(s.example)[0].features, float32(q[best] + q[classes + best])
    e.importance = s.importance if known else e.importance
    e.loss = e.importance * (1.0 - q[foreseen] - q[classes + foreseen]) if known else 0.0
    if e.scores != uint64(0) and int64(e.score_count) >= classes:
        scores = float32s_at(e.scores, uint64(classes))
        for k in range(classes):
            scores[k] = q[k] + q[classes + k]
    if learning:
        if known:
            _learn(layer, s, crowd, slots, labels, votes, has_features, half, offset)
        s.item += 1
    s.count, s.truth, s.importance = 0, -1, _0
    return float32(best + 1)


@njit
def _line(layer, example, label, importance, read, offset):  # type: ignore[no-untyped-def]
    """One line of a block."""
    s, e = crowd_em_at(layer_at(layer)[0].state)[0], example_at(example)[0]
    if read and _1 <= label <= float32(s.classes) and importance > _0:
        take_label(s, example, label, importance)
    if e.last == uint64(0):
        e.importance, e.loss, e.raw = _0, 0.0, _NAN
        return _NAN
    return _block(layer, example, shared_at(e.shared)[0].testing == 0, offset)


@kernel
def predict(layer, example, label, importance, offset):  # type: ignore[no-untyped-def]
    """A line whose label is read only if nothing is learned in this run: it has none, or it is held out."""
    return _line(layer, example, label, importance, shared_at(example_at(example)[0].shared)[0].testing == 1, offset)


@kernel
def learn(layer, example, label, importance, offset):  # type: ignore[no-untyped-def]
    """A line with a label."""
    return _line(layer, example, label, importance, True, offset)


class CrowdEM(Reduction):
    """Infers the class of each item from its workers' labels and from the learner below, and teaches both.

    Raises:
        ConfigError: the layer below has no scores of the classes.
        DataError: while learning, a label that is no class.
    """

    name: ClassVar[str] = "crowd_em"
    Parameters: ClassVar[type[Parameters]] = CrowdEMParameters
    takes = Labels.MULTICLASS
    predicts = Predictions.CLASS
    asks = (Labels.MULTICLASS, Predictions.CLASS)
    whole_groups = True

    def __init__(self, parameters: CrowdEMParameters, context: Context) -> None:
        super().__init__(parameters, context)
        self._check(context)
        p, parser = parameters, context.parser
        self._powers, self._schedule = np.array(p.powers), np.array([p.decay, p.warm_up, p.class_anchor])
        self.state = np.zeros(1, CROWD_EM)
        s = self.state[0]
        s["classes"], s["slots"], s["worker"] = p.classes, p.slots, namespace_id(p.worker, parser.namespaces)
        hashed = hash_feature(p.worker, p.gold or "", parser.hash_seed, parser.hash) & ((1 << parser.bits) - 1)
        s["gold"] = -1 if p.gold is None else hashed
        s["powers_given"], s["powers"] = self._powers.ctypes.data, len(p.powers)
        s["schedule"], s["vote_share"] = self._schedule.ctypes.data, p.vote_share
        s["passes"], s["crossfit"], s["student"], s["pass_number"] = p.passes, p.crossfit, self.width(p) - 1, 1
        self._memory = Memory(self.state, p.classes, len(p.powers), _untouched(p))

    def _check(self, context: Context) -> None:
        below, classes = context.below, self.parameters.classes
        if below is None:
            return  # the chain says so in its own words
        if below.score_count != classes:
            raise ConfigError(
                f"crowd_em: asks of the layer below a score for each of {classes} classes, "
                f"{below.name!r} has {below.score_count or 'none'}; wanted one such as 'one_against_all'"
            )
        if getattr(below.parameters, "probabilities", False):
            raise ConfigError(f"crowd_em: asks of the layer below plain scores; leave out {below.name}.probabilities")

    @classmethod
    def width(cls, parameters: CrowdEMParameters) -> int:
        """The learner; a student if there are several passes; two halves for cross-fitting."""
        if parameters.passes == 1:
            return 1
        return 4 if parameters.crossfit else 2

    @property
    def kernels(self) -> Kernels:
        """The layer's compiled functions."""
        return Kernels(learn, predict)

    @property
    def score_count(self) -> int:
        """The posterior of each class."""
        return int(self.parameters.classes)

    @property
    def crowd(self) -> Crowd:
        """What is known of the workers, by slot."""
        return Crowd(*(self._memory.learned[name] for name in TABLES))

    def begin_batch(self, batch: Batch, learn: bool) -> None:
        """Make room for the batch's items; refuse to learn labels that are no classes."""
        labels, classes = batch.labels, self.parameters.classes
        if learn:
            known = labels != UNLABELED
            wrong = known & ~((labels >= 1) & (labels <= classes) & (labels == np.floor(labels)))
            if wrong.any():
                raise DataError(f"crowd_em: got label {labels[wrong][0]:g}, wanted a class from 1 to {classes}")
        self._memory.make_room(batch, learn)

    def end_pass(self) -> None:
        """Estimate the crowd's strengths from all counts; go back to the first item."""
        s = self.state[0]
        if s["pass_number"] <= s["passes"]:
            fit_strengths(self.crowd, self.parameters.classes, self._memory.learned["touches"])
        if s["passes"] > 1:
            s["pass_number"] += 1
        s["item"] = 0

    def saved(self) -> dict[str, NDArray[Any]]:
        """The crowd, the weights of the powers, where in the data the layer is, and the items' shifts if kept."""
        slots, learned = self.parameters.slots, self._memory.learned
        by_slot = {"counts", "rows", "habits", "masses", "skill", "touches", "seen"}
        arrays = {name: a.reshape(slots, -1) if name in by_slot else a for name, a in learned.items()}
        counters = {name: self.state[name] for name in ("pass_number", "item", "items", "taught")}
        return {**arrays, **counters, "shifts": self._memory.shifts}

    def loading(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Make room for the shifts."""
        self._memory.keep_shifts(len(arrays.get("shifts", ())))


def _untouched(p: CrowdEMParameters) -> dict[str, NDArray[np.float64]]:
    """The learned arrays before the first label."""
    two_level = TwoLevelParameters.model_validate({"clarity": p.clarity, "habit_strength": p.habit_strength})
    state = empty_crowd(p.slots, [str(k) for k in range(p.classes)], two_level, None)
    clock = np.zeros(4)
    clock[REFRESH] = FIRST_REFRESH
    arrays = {**state.workers, **state.shared, "touches": np.zeros(p.slots), "seen": np.zeros(p.slots), "clock": clock}
    arrays["log_weights"] = np.zeros(len(p.powers))
    return {name: arrays[name].reshape(-1) for name in LEARNED}


@hookimpl
def hutch_register_reductions(register: Callable[..., None]) -> None:
    """Register the crowd layer."""
    register(CrowdEM)
