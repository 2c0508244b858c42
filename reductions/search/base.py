"""What the layers of learning to search have in common: parameters, the state, and how policies follow each other."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from hutch.core.batch import Batch
from hutch.core.chain.declarations import Answers, Inputs
from hutch.core.chain.limits import Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions, Reduction
from hutch.core.errors import ConfigError, counted
from hutch.core.kernel.cache import AddressKernel
from hutch.core.kernel.record import Record
from hutch.core.learner.memory import Buffer
from hutch.core.parameters import ExampleValue, Parameters, Within
from hutch.core.text.hashing import namespace_id
from hutch.reductions.search.choose import choose
from hutch.reductions.search.memo import HEADS
from hutch.reductions.search.record import MIX_PER_ROLL, MIX_PER_STATE, NONE, ORACLE, POLICY, SEARCH
from hutch.reductions.search.run import learn, predict

METHODS = {
    "policy": POLICY,
    "oracle": ORACLE,
    "mix_per_state": MIX_PER_STATE,
    "mix_per_roll": MIX_PER_ROLL,
    "none": NONE,
}
LONGEST_HISTORY = 24
"""Actions before a step that features can be made of: the key of Vowpal Wabbit's cache is 255 bytes long at most."""
CONDITION_LETTER, NEIGHBOUR_LETTER = 134, 131
"""Namespace ids, where those are first letters, of the features made of actions and of neighbouring lines (VW's)."""

_ROOMS = (
    "oracles",
    "allowed",
    "on_tags",
    "on_names",
    "on_actions",
    "learn_names",
    "learn_actions",
    "learn_allowed",
    "listed",
)
_UNKNOWN = np.float32(np.finfo(np.float32).max)
_PLACE = re.compile(r"([+-]?\d{1,3})(?::(.*))?")
Roll = Literal["policy", "oracle", "mix_per_state", "mix_per_roll"]


class SearchParameters(Parameters):
    """Parameters of all layers that search.

    Attributes:
        classes: number of classes of a line, counted from 1.
        rollin: who decides the steps before the one that is learned: what was learned (`policy`), the labels
            (`oracle`), or one of them, drawn for each step or for each run.
        rollout: who decides the steps behind it; `none`: there are no runs that try actions, a right one costs 0.
        alpha: after n examples of the layer below, a mixture takes what was learned with probability 1 - (1 - alpha)^n.
        history: actions before a step that features are made of.
        bias_length: the longest run of these actions that is a feature.
        product_length: the longest run that is multiplied with each feature of the line.
        history_value: of these features.
        neighbours: lines whose features a line gets, too, by their distance and a namespace: `-1:w` for namespace w of
            the line before, `1` for features without a namespace of the line behind.
        subsample: of the steps of a block learn only so many, or below 1 each with this probability; 0: learn all.
        perturbation: probability with which an action of the labels is a random one while steps are chosen to learn.
        rollout_losses: a run that tries an action ends after so many losses; 0: at the end of the block.
        in_order: learn the steps in their order; else each far from the one before.
        caching: remember predictions within a block, though something was learned since.
        folds: learn three policies, two from half of the blocks, of which each predicts the other half.
        policies: number of policies that follow each other.
        passes_per_policy: passes over the data for which each learns; 0: the first one learns always.
    """

    classes: Annotated[int, Within(ge=1, le=1 << 16), ExampleValue(3)]
    rollin: Roll = "mix_per_state"
    rollout: Literal["policy", "oracle", "mix_per_state", "mix_per_roll", "none"] = "mix_per_state"
    alpha: Annotated[float, Within(ge=0, lt=1)] = 1e-10
    history: Annotated[int, Within(ge=0, le=LONGEST_HISTORY)] = 1
    bias_length: Annotated[int, Within(ge=0, le=LONGEST_HISTORY)] = 1
    product_length: Annotated[int, Within(ge=0, le=LONGEST_HISTORY)] = 0
    history_value: float = 1.0
    neighbours: tuple[str, ...] = ()
    subsample: Annotated[float, Within(ge=0)] = 0.0
    perturbation: Annotated[float, Within(ge=0, le=1)] = 0.0
    rollout_losses: Annotated[int, Within(ge=0)] = 0
    in_order: bool = False
    caching: bool = True
    folds: bool = False
    policies: Annotated[int, Within(ge=1, le=1 << 10)] = 1
    passes_per_policy: Annotated[int, Within(ge=0)] = 0

    def __post_init__(self) -> None:
        for place in self.neighbours:
            match = _PLACE.fullmatch(place)
            if not match or not -128 <= int(match[1]) <= 127:
                raise ValueError(f"neighbours: got {place!r}, wanted a distance and a namespace, as in -1:w")
        if self.policies > 1 and not self.passes_per_policy:
            raise ValueError(f"policies: got {self.policies}, wanted passes_per_policy with it")


class Search(Reduction):
    """A layer that predicts the lines of a block one after the other, each with those before it.

    A subclass has a kernel `task`, which goes through a block and asks for its parts; see
    `hutch.reductions.search.record`.

    Args:
        parameters: of the layer.
        context: the chain around it.
        fields: of its record, which the task sets; `own` is a record of its own.

    Attributes:
        task: address kernel that goes through a block.
        conditioned: whether features are made of the actions that the task names.
        hamming: whether the loss is the number of wrong actions; else the task declares it.
        of_blocks: whether all lines of a block get the same class.

    Raises:
        ConfigError: another layer above, or a layer below without as many classes.
    """

    takes = Labels.CLASSES_OF_LINES
    predicts = Predictions.CLASS
    asks = (Labels.COST_SENSITIVE, Predictions.CLASS)
    kernels = Kernels(learn, predict)
    keeps: ClassVar[Mapping[str, Limits]] = dict.fromkeys(("policy", "passes", "generated", "read"), Limits(0, 1 << 62))
    known_failures: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("importance", "zero_importance"), "lines have no importance, as in Vowpal Wabbit"),
        "loss": "it is that of a whole block",
    }

    task: ClassVar[AddressKernel]
    conditioned: ClassVar[bool] = True
    hamming: ClassVar[bool] = True
    of_blocks: ClassVar[bool] = False

    def __init__(self, parameters: Any, context: Context, **fields: Any) -> None:
        super().__init__(parameters, context)
        p, mode = parameters, context.parser.namespaces
        if context.submodels != 1:
            raise ConfigError(f"{self.name}: got a layer above it, wanted it at the top")
        self._refuse_below()
        places = [_PLACE.fullmatch(place) for place in p.neighbours]
        names = [(match[2] or "").encode()[:1].decode(errors="ignore") for match in places if match]
        names = names if mode == "letter" else [match[2] or "" for match in places if match]
        ids = np.array([namespace_id(name, mode) for name in names], np.uint32)
        codes = [int(match[1]) << 24 | int(i) & 0xFF for match, i in zip(places, ids, strict=True) if match]
        self.inputs = Inputs(namespaces=tuple(name for name in names if name))
        actions = self.actions(p)
        self._weighted = 0
        self.state = Record(
            SEARCH,
            task=self.task,
            choose=choose,
            actions=actions,
            learners=self.learners(p),
            rollin=METHODS[p.rollin],
            rollout=METHODS[p.rollout],
            caches=p.caching and p.rollout != "none",
            most_steps=p.rollout_losses,
            conditions=self.conditioned and p.history > 0 and p.history_value != 0,
            hamming=self.hamming,
            neighbours=np.array(codes, np.int64),
            neighbour_names=ids,
            neighbour_count=len(codes),
            value=p.history_value,
            condition_space=CONDITION_LETTER if mode == "letter" else namespace_id("search history", mode),
            neighbour_space=NEIGHBOUR_LETTER if mode == "letter" else namespace_id("search neighbours", mode),
            memo_heads=np.zeros(HEADS, np.uint32),
            **{name: getattr(p, name) for name in ("folds", "in_order", "history", "bias_length", "product_length")},
            **{name: getattr(p, name) for name in ("alpha", "subsample", "perturbation")},
            **{
                name: Buffer()
                for name in ("built", "beside", "shown", "made", "kept", "memo", "trajectory", "order", "tagged")
            },
            **fields,
        )
        self.make_room(max(actions, 2 * LONGEST_HISTORY))

    def make_room(self, count: int) -> None:
        """Make room for so many actions, and for as many that a step is conditioned on."""
        assert isinstance(self.state, Record)
        room = count + 2
        if room <= int(self.state["room"][0]):
            return
        self.state.set(
            room=room,
            unknown=np.full(room, _UNKNOWN, np.float32),
            **{name: np.zeros(room, np.uint32) for name in _ROOMS},
            **{name: np.zeros(room, np.float32) for name in ("prices", "costs", "roll_losses")},
        )

    def _refuse_below(self) -> None:
        """Refuse layers below that do not fit the parameters."""
        p, below = self.parameters, self.context.below
        assert below is not None
        classes, wanted = below.answers.classes, self.actions(p)
        if classes is not None and classes != wanted:
            raise ConfigError(f"{self.name}.classes: got {classes} classes in {below.name!r} below, wanted {wanted}")
        layer: Reduction | None = below
        while layer is not None and p.product_length:
            if getattr(layer.parameters, "interactions", ()):
                raise ConfigError(f"{self.name}.product_length: got interactions in {layer.name!r}, wanted 0 or none")
            layer = layer.context.below

    @classmethod
    def actions(cls, parameters: Any) -> int:
        """How many actions there are, from 1 on."""
        return int(parameters.classes)

    @classmethod
    def learners(cls, parameters: Any) -> int:
        """How many sub-models a policy has, without those of `folds`."""
        return 1

    @classmethod
    def width(cls, parameters: Any) -> int:
        """Sub-models for each policy."""
        return int(parameters.policies) * cls.learners(parameters) * (3 if parameters.folds else 1)

    @property
    def answers(self) -> Answers:
        """A class for each line, without scores."""
        count = int(self.parameters.classes)
        return replace(super().answers, classes=count, score_count=0, scores_are_probabilities=False)

    def limits(self) -> Mapping[str, Limits]:
        """As many policies as there are."""
        return {**self.keeps, "policy": Limits(0, self.parameters.policies)}

    def begin_batch(self, batch: Batch, learn: bool) -> None:
        """Choose the newest policy: the one that learns, or the last that has learned."""
        policy, passes = int(self.state["policy"][0]), int(self.state["passes"][0])
        self.state["newest"] = max(min(policy, self.parameters.policies - 1) if learn else policy - (passes == 0), 0)
        self._weighted += int((batch.importance != 1).sum())

    def end_pass(self) -> None:
        """Let the next policy learn, if it is its turn."""
        if self.context.shared["testing"][0]:
            return
        self.state["read"] += 1
        if not self.parameters.passes_per_policy:
            return
        self.state["passes"] += 1
        if self.state["passes"][0] >= self.parameters.passes_per_policy:
            self.state["passes"] = 0
            self.state["policy"] = min(int(self.state["policy"][0]) + 1, self.parameters.policies)

    def doubts(self) -> str | None:
        """Warning about importance, which lines do not have."""
        if not self._weighted:
            return None
        return f"{counted(self._weighted, 'line')} with importance, which counts as 1, as in Vowpal Wabbit"
