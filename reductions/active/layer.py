"""Active learning: decide which labels to ask for, by the importance a label needs to change the prediction.

The layer stands above any layer that computes that importance (h_min). Labelled examples are a simulation by default:
a label stays hidden until it is asked for. Unlabelled examples get a decision, too: the importance of the requested
label, or -1. The rules are those of `hutch.reductions.active.rules`.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

from hutch.core.chain.declarations import Inputs
from hutch.core.chain.derived import declared, lacking, learns_once
from hutch.core.chain.limits import ANY, COUNT, FINITE, POSITIVE, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions, Reduction
from hutch.core.chain.stored import Stored, dense
from hutch.core.errors import ConfigError, ModelError
from hutch.core.kernel.abi import (
    EXAMPLE,
    UNLABELED,
    example_of,
    float32s_at,
    kernel,
    learn_next,
    predict_next,
    shared_of,
    uint32s_at,
)
from hutch.core.kernel.copying import copy
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.passing import pass_importance_to, pass_sensitivity
from hutch.core.kernel.random import uniform
from hutch.core.kernel.record import Record
from hutch.core.parameters import Parameters, Within
from hutch.reductions.active.decision import (
    ACTIVE,
    PROGRESS,
    TRACE,
    active_of,
    decide,
    estimate,
    lend_scores,
    progress_of,
)
from hutch.reductions.active.memory import Memory, memory_of, recall, remember
from hutch.reductions.active.rules import BUDGET, FLOOR, HUGE, IWAL, RULES, VW, pool_probabilities

DEFAULT_BUDGET = 0.1
_WINDOW = 300
_LEAST_FLOOR = 1e-3
_0, _1 = np.float32(0), np.float32(1)
_EXAMPLE_WORDS = np.uint64(EXAMPLE.itemsize // 4)
_MOST_REPLAYED = 63  # after one label: `uniform` has 64 streams
_MOST = np.uint64(_MOST_REPLAYED)

Rule = Literal["budget", "iwal", "margin", "random", "vw"]


class ActiveParameters(Parameters):
    """Parameters of `active`.

    Attributes:
        rule: `budget`, `iwal`, `margin`, `random` or `vw`.
        budget: labels to buy: up to 1 a fraction of the examples, above 1 a number of labels; 0.1 if neither it nor
            mellowness is given.
        horizon: number of examples expected; needed for a budget that is a number of labels.
        mellowness: instead of a budget, the rule's own constant: C0 of iwal and vw, else an importance or a distance.
        floor: least probability; None: two fifths of the budget (0.001 with mellowness). Not for margin and vw. In a
            pool it is at most labels / examples, which is random sampling; None: two fifths of that.
        replay: bought examples learned again for each example decided upon: all of them, at most 63, when the next
            label is learned; None: 1, but 0 for iwal and vw and above a learner that needs one pass.
        memory: megabytes for the examples to replay.
        threshold: scalar predictions above it mean the upper label; None: that of the layer below, 0 or, above a
            logistic link, 0.5.
        labels: the lower and the upper label of scalar predictions.
        simulation: labels in the data stay hidden until asked for; false: they are answers, and are learned.
        seed: of the decisions, beside that of the chain.
    """

    rule: Rule = "budget"
    budget: Annotated[float, Within(gt=0)] | None = None
    horizon: Annotated[int, Within(ge=1)] | None = None
    mellowness: Annotated[float, Within(ge=0)] | None = None
    floor: Annotated[float, Within(gt=0, le=1)] | None = None
    replay: Annotated[int, Within(ge=0, le=_MOST_REPLAYED)] | None = None
    memory: Annotated[float, Within(ge=0, le=4096)] = 2.0
    threshold: float | None = None
    labels: tuple[float, float] = (-1.0, 1.0)
    simulation: bool = True
    seed: Annotated[int, Within(ge=0, lt=1 << 32)] = 0

    def __post_init__(self) -> None:
        if self.budget is not None and self.mellowness is not None:
            raise ValueError("got both budget and mellowness, wanted one of them")
        if self.rule == "vw" and self.budget is not None:
            raise ValueError("rule 'vw' has no budget, wanted mellowness")
        if self.rule == "random" and self.mellowness is not None:
            raise ValueError("rule 'random' has no mellowness, wanted a budget")
        if self.budget is not None and self.budget > 1 and self.horizon is None:
            raise ValueError(f"budget: got {self.budget:g} labels without horizon, wanted how many examples to expect")
        if not self.labels[0] < self.labels[1]:
            raise ValueError(f"labels: got {list(self.labels)}, wanted the lower and then the upper label")

    @property
    def fraction(self) -> float:
        """The budget as a fraction of the examples; 0 without one."""
        if self.mellowness is not None or self.rule == "vw":
            return 0.0
        budget = DEFAULT_BUDGET if self.budget is None else self.budget
        return budget if budget <= 1 else min(1.0, budget / (self.horizon or 1))

    @property
    def least(self) -> float:
        """The least probability."""
        if self.rule in ("margin", "vw"):
            return 0.0
        return self.floor or max(FLOOR * self.fraction, _LEAST_FLOOR)

    @property
    def weighted(self) -> bool:
        """Whether the rule trains with importance 1 / P."""
        return self.rule in ("iwal", "vw")


@helper
def _replay(s, layer, example, offset):
    """Learn bought examples again: `replay` for each example that the label just learned represents."""
    progress = progress_of(s.progress)
    decided = np.float64(progress.seen - progress.replayed)
    stands_for = max(s.examples_per_label if s.examples_per_label > 0.0 else decided, 1.0)
    progress.replayed = progress.seen
    words = _EXAMPLE_WORDS
    copy(uint32s_at(example, words), uint32s_at(s.replayed, words))
    e = example_of(s.replayed)
    e.scores, e.targets, e.score_count = uint64(0), uint64(0), uint64(0)
    for k in range(min(uint64(np.float64(s.replay) * stands_for), _MOST)):
        count = memory_of(s.memory).count
        number = uint64(uniform(s.seed, progress.bought, uint64(1) + uint64(k)) * np.float64(count))
        label, importance = recall(s.memory, number, s.replayed)
        learn_next(layer, s.replayed, label, importance, offset)


@helper
def _train(s, layer, example, label, importance, offset):
    """Learn a bought label, and some bought before; returns the prediction made before."""
    progress = progress_of(s.progress)
    prediction = learn_next(layer, example, label, importance, offset)
    progress.bought += uint64(1)
    progress.lowest, progress.highest = min(progress.lowest, label), max(progress.highest, label)
    if s.replay > uint64(0):
        remember(s.memory, example, label, importance)
        if memory_of(s.memory).count > uint64(0):
            _replay(s, layer, example, offset)
    return prediction


@kernel
def learn(layer, example, label, importance, offset):
    s, e = active_of(layer), example_of(example)
    if s.simulation == uint64(0):
        return _train(s, layer, example, label, importance, offset)
    shared, progress = shared_of(e.shared), progress_of(s.progress)
    if s.rule == VW and shared.fixed_range == uint64(0):
        shared.min_label, shared.max_label = min(shared.min_label, label), max(shared.max_label, label)
    lent = lend_scores(s, e)
    prediction = predict_next(layer, example, label, importance, offset)
    if s.classes == uint64(1):
        error = float(e.loss) / float(importance)
    else:
        error = 1.0 if (prediction > s.threshold) != (label > s.threshold) else 0.0
    if progress.bought < s.limit:
        progress.covered += importance
    chance = decide(s, layer, example, prediction, label, importance, offset, np.float32(error))
    if lent:
        e.scores, e.score_count = uint64(0), uint64(0)
    if chance == 0.0:
        e.query, e.importance, e.loss = np.float32(-1), _0, 0.0
        return prediction
    inverse = np.float32(_1 / np.float32(chance))
    weight = importance * inverse if s.weighted == uint64(1) else importance
    prediction = _train(s, layer, example, label, weight, offset)
    estimate(progress, importance, chance, error)
    if s.weighted == uint64(0):
        e.loss *= np.float64(inverse)
    e.query, e.importance = inverse, importance * inverse
    return prediction


@kernel
def predict(layer, example, label, importance, offset):
    s, e = active_of(layer), example_of(example)
    lent = lend_scores(s, e)
    prediction = predict_next(layer, example, label, importance, offset)
    e.query = np.float32(-1)
    unlabeled = label == UNLABELED
    if e.cost_count > uint64(0):
        unlabeled = True
        costs = float32s_at(e.costs, e.cost_count)
        for k in range(e.cost_count):
            unlabeled &= costs[k] == UNLABELED
    if unlabeled and not (s.rule == VW and s.simulation == uint64(1)):  # VW's simulation asks only of labelled ones
        chance = decide(s, layer, example, prediction, UNLABELED, importance, offset, _0)
        if chance > 0.0:
            e.query = np.float32(_1 / np.float32(chance))
    if lent:
        e.scores, e.score_count = uint64(0), uint64(0)
    return prediction


class Active(Reduction):
    """Asks for the labels that would change the prediction.

    Above a layer that predicts classes there is one decision per example, from the smallest importance that would
    change the predicted class.

    Raises:
        ConfigError: the layer below lacks a kernel that the rule needs.
    """

    name = "active"
    Parameters = ActiveParameters
    state: Record
    known_failures = {"loss_while_learning": "the label of an example that was not asked for is not known"}

    def __init__(self, parameters: ActiveParameters, context: Context) -> None:
        super().__init__(parameters, context)
        self._of_classes = declared(self, "predicts") == Predictions.CLASS
        needed = {BUDGET: "importance_to", IWAL: "importance_to", VW: "sensitivity"}.get(RULES[parameters.rule])
        self._calls = (needed,) if needed else ()
        self._check(context)
        p = parameters
        bought = p.simulation and p.rule != "vw"  # VW buys them in each pass
        self.inputs = Inputs(buys_labels=bought, soft_labels=True)
        window = max(1, min(_WINDOW, (p.horizon or 5 * _WINDOW) // 5))
        once = p.weighted or learns_once(self)
        replay = p.replay if p.replay is not None else 0 if once else 1
        self._memory = Memory(int(p.memory * (1 << 17)) if replay else 0)
        self._scores = np.zeros(window)
        self.progress = np.zeros(1, PROGRESS)
        self.progress["cutoff"], self.progress["highest"] = HUGE, 1.0
        mellowness = p.mellowness if p.mellowness is not None else 1.0 if p.rule == "vw" else -1.0
        self.state = Record(
            ACTIVE,
            rule=RULES[p.rule],
            classes=self._of_classes,
            simulation=p.simulation,
            weighted=p.weighted,
            seed=(context.seed ^ (p.seed << 20)) & ((1 << 64) - 1),
            fraction=p.fraction,
            floor=p.least,
            mellowness=mellowness,
            limit=int(p.budget) if p.budget is not None and p.budget > 1 else (1 << 63),
            window=window,
            scores=self._scores,
            progress=self.progress,
            memory=self._memory.record,
            replay=replay,
            replayed=np.zeros(1, EXAMPLE),
            class_scores=np.zeros(self.answers.score_count, np.float32),
            class_count=self.answers.score_count,
            threshold=self.threshold,
            lower=p.labels[0],
            upper=p.labels[1],
        )

    def _check(self, context: Context) -> None:
        below, rule = context.below, self.parameters.rule
        if below is None:
            return  # the chain has its own message for this
        if declared(self, "takes") == Labels.LOGGED_CLASS:
            raise ConfigError(
                f"active asks for labels, but {below.name!r} below it learns from logged costs of classes, which "
                "cannot be requested"
            )
        if self._of_classes and rule == "vw":
            raise ConfigError(
                f"active: rule 'vw' needs scalar predictions from the layer below, {below.name!r} predicts classes"
            )
        for needed in self._calls:
            lacks = lacking(below, needed)
            if lacks is not None:
                raise ConfigError(
                    f"active: rule {rule!r} needs {needed} from the layer below, which {lacks.name!r} lacks"
                )
        if context.parser.whole_groups:
            raise ConfigError(
                "active asks for one label per example, but a layer of this chain reads a block of lines as one item; "
                "`hutch.crowd.requests` says which items need more labels"
            )
        if context.submodels > 1:
            raise ConfigError(
                f"active: got {context.submodels} sub-models that a layer above asks for, wanted active above that "
                "layer: a label is asked for once per example"
            )
        if self._of_classes and rule == "margin" and self.answers.score_count == 0:
            raise ConfigError(f"active: rule 'margin' needs class scores from below, which {below.name!r} lacks")

    @property
    def kernels(self) -> Kernels:
        return Kernels(learn, predict, pass_importance_to, pass_sensitivity, calls=self._calls)

    @property
    def threshold(self) -> float:
        """Scalar predictions above it mean the upper label."""
        given: float | None = self.parameters.threshold
        return self.answers.decision_threshold if given is None else given

    @property
    def simulation(self) -> bool:
        """Whether labels stay hidden until asked for; set it to False where labels are answers."""
        return bool(self.state["simulation"][0])

    @simulation.setter
    def simulation(self, hidden: bool) -> None:
        self.state["simulation"] = hidden

    @property
    def examples_per_label(self) -> float:
        """Examples that each label represents where labels are answers; 0: those decided upon since the last one."""
        return float(self.state["examples_per_label"][0])

    @examples_per_label.setter
    def examples_per_label(self, examples: float) -> None:
        self.state["examples_per_label"] = examples

    def trace(self, size: int) -> NDArray[Any]:
        """Record the next decisions: a TRACE array of `size` entries that the kernels fill from its beginning."""
        found = np.zeros(size, TRACE)
        self.state.set(trace=found, trace_size=size, trace_count=0)
        return found

    def pool_probabilities(
        self, scores: NDArray[np.float64], count: int, out: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """The probability of asking for each example of a pool, so that they add up to a number of labels.

        Args:
            scores: as `trace` records them, float64 (examples).
            count: labels wanted, up to the number of examples.
            out: float64 (examples), receives the result; it may be the scores, which may be on disk.
        """
        rule, seen, mean = RULES[self.parameters.rule], float(self.progress["seen"][0]), count / len(scores)
        floor = min(self.parameters.floor or FLOOR * mean, mean)
        found = np.empty_like(scores) if out is None else out
        if found is not scores:
            found[:] = scores
        pool_probabilities(rule, found, float(count), seen, floor)
        return found

    def loss_sums(self) -> tuple[float, float, float, float, float]:
        """Sums over the labels bought in simulation, from which the loss over all examples is estimated.

        Returns:
            (covered, errors, spread, weight, excess), the fields of `hutch.active.estimate.LossSums`.
        """
        p = self.progress[0]
        return tuple(float(p[name]) for name in ("covered", "errors", "spread", "weight", "excess"))  # type: ignore[return-value]

    def saved(self) -> dict[str, NDArray[Any]]:
        """State that determines how the stream continues: counters, the latest scores, the examples to replay."""
        counters = {name: self.progress[name] for name in PROGRESS.names or ()}
        memory = {f"memory.{name}": array for name, array in self._memory.saved().items()}
        return {**counters, "scores": self._scores, **memory}

    def limits(self) -> Mapping[str, Limits]:
        """Limits of counts and sums; scores and the store's name may be anything."""
        found = {name: POSITIVE if PROGRESS[name].kind == "f" else COUNT for name in PROGRESS.names or ()}
        found |= {"lowest": FINITE, "highest": FINITE, "store": ANY}
        return found | {f"memory.{name}": limits for name, limits in self._memory.limits().items()}

    def check_saved(self, arrays: Mapping[str, Stored]) -> None:
        """Check that the examples to replay lie where their table says.

        Raises:
            ModelError: they do not, or more examples led to replays than were seen.
        """
        seen, replayed = (int(dense(arrays[name])[0]) for name in ("seen", "replayed"))
        if replayed > seen:
            raise ModelError(f"active.replayed: got {replayed}, wanted at most the {seen} examples seen")
        memory = {n.removeprefix("memory."): dense(a) for n, a in arrays.items() if n.startswith("memory.")}
        self._memory.check_saved(memory, 1 << self.context.bits)
