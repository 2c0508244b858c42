"""The linear learner: importance-aware online gradient descent over hashed features, as VW 9.11.9's gd, to the bit."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import CONSTANT_INDEX, Batch
from hutch.core.chain.declarations import Inputs, Parallel, Shortcuts
from hutch.core.chain.limits import FINITE, POSITIVE, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions, Reduction
from hutch.core.errors import ConfigError
from hutch.core.kernel.record import Record
from hutch.core.learner.features import Features
from hutch.core.learner.first_weights import Kind, fill_weights
from hutch.core.learner.terms import MAX_ORDER, MOST_TERMS, WILDCARD, Terms
from hutch.core.loss import kinds
from hutch.core.loss.losses import LossChoice
from hutch.core.parameters import Parameters, Within
from hutch.core.text.hashing import namespace_id
from hutch.reductions.linear.kernels import (
    LINEAR,
    importance_to,
    learn,
    learn_masked,
    learn_otherwise,
    predict,
    predict_many,
    sensitivity,
)
from hutch.reductions.linear.rates import RATES

NonNegative = Annotated[float, Within(ge=0)]


class LinearParameters(Parameters):
    """Parameters of `linear`.

    Attributes:
        loss: `hinge`, or `{quantile: {tau: 0.9}}`.
        learning_rate: step of the update.
        power_t: rates fall with the power_t-th power of the value they adapt to.
        initial_t: importance taken as seen before the first example; 1 if neither adaptive nor normalized, else 0.
        decay: the learning rate is multiplied by this after each pass.
        adaptive: a rate for each feature, from its squared gradients.
        adapt_to: rates fall with the squares of `gradients`, or of a feature's `values` alone.
        normalized: the scale of features does not matter.
        invariant: an example of importance 2 does what two examples do.
        l1: L1 regularisation, applied lazily with each update.
        l2: L2 regularisation, applied lazily with each update.
        sparse_l2: shrinks the features of the example only.
        initial_weight: initial value of all weights.
        random_weights: start from random numbers instead, `uniform` from -0.5 to 0.5, or `normal` with variance 1.
        initial_constant: initial value of the constant feature's weight.
        min_prediction: predictions below it become it; None: the smallest label seen.
        max_prediction: predictions above it become it; None: the largest label seen.
        interactions: products of namespaces, each a list of names; `:` stands for every namespace, and a string of
            letters is a term too if namespaces are letters.
        permutations: a namespace with itself gives all pairs instead of those in order.
        duplicate_interactions: keep terms that are permutations of each other.
        ignore_linear: namespaces used only in interactions.
        learn_zeros: False lets weights that are 0 stay 0: to continue a sparse model with the same features.
    """

    loss: LossChoice = LossChoice(name="squared")
    learning_rate: NonNegative = 0.5
    power_t: float = 0.5
    initial_t: NonNegative | None = None
    decay: NonNegative = 1.0
    adaptive: bool = True
    adapt_to: Literal["gradients", "values"] = "gradients"
    normalized: bool = True
    invariant: bool = True
    l1: NonNegative = 0.0
    l2: NonNegative = 0.0
    sparse_l2: NonNegative = 0.0
    initial_weight: float = 0.0
    random_weights: Kind | None = None
    initial_constant: float = 0.0
    min_prediction: float | None = None
    max_prediction: float | None = None
    interactions: Annotated[tuple[str | tuple[str, ...], ...], Within(max_length=MOST_TERMS)] = ()
    permutations: bool = False
    duplicate_interactions: bool = False
    ignore_linear: tuple[str, ...] = ()
    learn_zeros: bool = True

    def __post_init__(self) -> None:
        if self.adapt_to == "values" and not self.adaptive:
            raise ValueError("got adapt_to: values without adaptive, wanted rates that adapt")
        low, high = self.min_prediction, self.max_prediction
        if low is not None and high is not None and low > high:
            raise ValueError(f"min_prediction {low} is above max_prediction {high}")
        if self.random_weights and self.initial_weight:
            raise ValueError("got initial_weight and random_weights, wanted one of them")
        for term in self.interactions:
            if not 2 <= len(term) <= MAX_ORDER:
                raise ValueError(f"interactions: got {term!r}, wanted 2 to {MAX_ORDER} namespaces")


def namespaces_of(parameters: Any) -> tuple[str, ...]:
    """Namespaces of interactions, and those that are used only in interactions."""
    pairs = (*parameters.interactions, getattr(parameters, "ignore_linear", ()))
    return tuple(name for names in pairs for name in names if name != ":")


class HashedLearner(Reduction):
    """A base learner with weights for hashed features, be it `linear` or another.

    Args:
        parameters: with `loss`, `interactions` and the range of predictions, and what else `linear` says of features.
        context: of the layer.

    Raises:
        ConfigError: interactions as letters where namespaces go by name.
    """

    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    is_base = True

    def __init__(self, parameters: Any, context: Context) -> None:
        super().__init__(parameters, context)
        self._features = self.new_features()
        self._set_range(context.shared)
        self.inputs = Inputs(namespaces=namespaces_of(parameters))

    def _set_range(self, shared: NDArray[Any]) -> None:
        p = self.parameters
        given = (p.min_prediction, p.max_prediction)
        shared["fixed_range"] = given != (None, None)
        initial = self.context.losses[p.loss.name].prediction_range
        low, high = initial if initial and given == (None, None) else (0.0, 0.0)
        shared["min_label"] = low if p.min_prediction is None else p.min_prediction
        shared["max_label"] = high if p.max_prediction is None else p.max_prediction

    def new_features(self, wildcards: bool = True) -> Features:
        """What the learner makes of an example, for another one, with the interactions that have `:` or without."""
        p, mode = self.parameters, self.context.parser.namespaces
        letters = mode == "letter"

        def identify(name: str) -> int:
            return WILDCARD if name == ":" else namespace_id(name, mode)

        for term in p.interactions:
            if isinstance(term, str) and not letters:
                wanted = "a list of names; terms are strings of letters only where namespaces go by letter"
                raise ConfigError(f"linear.interactions: got {term!r}, wanted {wanted}")
        ids = [[identify(name) for name in term] for term in p.interactions if wildcards or ":" not in term]
        options = {"permutations": p.permutations, "duplicates": p.duplicate_interactions}
        terms = Terms(ids, letters=letters, **options) if ids else None
        return Features(terms, [namespace_id(name, mode) for name in p.ignore_linear])

    @property
    def features(self) -> Record:
        """The FEATURES record: interactions and ignored namespaces."""
        return self._features.record

    def begin_batch(self, batch: Batch, learn: bool) -> None:
        """Discard the features gathered for an example of the previous batch."""
        self._features.forget_guess()

    def gathered(self) -> tuple[NDArray[np.uint32], NDArray[np.float32], list[list[int]]]:
        """The features of the last example, for explanations of it; see `Features.gathered`."""
        return self._features.gathered()


class Linear(HashedLearner):
    """A linear model of hashed features, learned online.

    Raises:
        ConfigError: a parameter that does not fit the others.
    """

    name: ClassVar[str] = "linear"
    linear = True
    Parameters: ClassVar[type[Parameters]] = LinearParameters

    def __init__(self, parameters: LinearParameters, context: Context) -> None:
        super().__init__(parameters, context)
        p, shared = parameters, context.shared
        plain = not (p.adaptive or p.normalized)
        self._initial_t = p.initial_t if p.initial_t is not None else float(plain)
        self._norms = np.zeros((context.submodels, 2))
        self._norms[0] = p.initial_t or 0.0
        self._regularization = np.array([1.0, 0.0])
        self._rates = Record(
            RATES,
            norms=self._norms,
            adaptive=p.adaptive,
            normalized=p.normalized,
            square_root=p.power_t == 0.5,
            power_t=p.power_t,
            multiplier=1.0,
        )
        self.state = Record(
            LINEAR,
            loss=context.loss(p.loss),
            features=self._features.record,
            rates=self._rates,
            regularization=self._regularization,
            learning_rate=p.learning_rate,
            power_t=p.power_t,
            adaptive=p.adaptive,
            by_values=p.adapt_to == "values",
            normalized=p.normalized,
            invariant=p.invariant,
            l1=p.l1,
            l2=p.l2,
            sparse_l2=p.sparse_l2,
        )
        if plain:
            self.state["learning_rate"] *= np.float32(self._initial_t) ** np.float32(p.power_t)
        shared["time"] = self._initial_t
        updates, loss = (int(self.state[name].ctypes.data) for name in ("updates", "loss"))
        self.shortcuts = Shortcuts(updates_at=updates, loss_at=loss, looks_ahead=True)
        merged = {"norms": "add", "regularization": "keep", "learning_rate": "keep", "multiplier": "mean"}
        # pending l1 and l2 belong to one table of weights and cannot be shared
        merging = None if p.l1 or p.l2 else {name: merged[name] for name in self.saved()}
        self.parallel = Parallel(merging=merging, scaled=1)

    @property
    def kernels(self) -> Kernels:
        """The layer's compiled functions."""
        rates = self._rates.array[0]
        default = rates["adaptive"] and rates["normalized"] and rates["square_root"]
        coupled = self.parameters.l1 or self.parameters.l2  # sub-models share the pending part
        return Kernels(
            learn_masked if not self.parameters.learn_zeros else learn if default else learn_otherwise,
            predict,
            importance_to,
            sensitivity,
            None if coupled else predict_many,
        )

    @property
    def stride(self) -> int:
        """4 for (w, G, N, rate), 1 for w alone."""
        return 4 if self.parameters.adaptive or self.parameters.normalized else 1

    def initialise(self, weights: NDArray[np.float32]) -> None:
        """Set the first weights and squared gradients; zeros are already there, in memory not touched yet."""
        p, shared = self.parameters, self.context.shared
        if p.initial_weight:
            weights[:, 0] = p.initial_weight
        if p.random_weights:
            fill_weights(weights[:, 0], p.random_weights, shared["random_state"], self.stride)
        if p.adaptive and self._initial_t:
            weights[:, 1] = self._initial_t
        if p.initial_constant:
            first = CONSTANT_INDEX * int(shared["multiplier"][0])
            for k in range(self.context.submodels):
                weights[(first + k) & int(shared["mask"][0]), 0] = p.initial_constant

    def saved(self) -> dict[str, NDArray[Any]]:
        """Mean norms, pending regularisation, the learning rate after its decay, and the multiplier for `sparse_l2`."""
        last = {"multiplier": self._rates["multiplier"]} if self.parameters.sparse_l2 else {}
        return {
            "norms": self._norms,
            "regularization": self._regularization,
            "learning_rate": self.state["learning_rate"],
            **last,
        }

    def limits(self) -> Mapping[str, Limits]:
        """All are sums or factors; labels that a loss is not made for may draw weights away from 0, as in VW."""
        return dict.fromkeys(self.saved(), POSITIVE) | {"regularization": FINITE}

    def materialise(self, weights: NDArray[np.float32]) -> None:
        """Write pending regularisation into the weights, for a chain that only predicts from here on.

        Predictions are then sums of rounded products, as Vowpal Wabbit's with `-t` are: the last digit may change.

        Args:
            weights: the chain's table.
        """
        weights[:, 0] = self.regularized(weights[:, 0])
        self._regularization[:] = 1.0, 0.0

    def regularized(self, weights: NDArray[np.float32]) -> NDArray[np.float32]:
        """Weights as predictions see them: with the regularisation that is still pending.

        Args:
            weights: of the table's first column, any of them.
        """
        contraction, gravity = map(np.float32, self._regularization)
        if contraction == 1 and gravity == 0:
            return weights
        return np.copysign(np.maximum(np.abs(weights) - gravity, np.float32(0)), weights) * contraction

    @property
    def scale_column(self) -> int | None:
        """The column with each feature's scale; None without scales, or with features that it makes or ignores."""
        p = self.parameters
        return 1 + p.adaptive if p.normalized and not (p.interactions or p.ignore_linear) else None

    @property
    def can_rescale(self) -> bool:
        """Every linear model can."""
        return True

    def rescale(self, weights: NDArray[np.float32], ratio: float, shift: float) -> None:
        """Predict ratio p + shift where it predicted p, with the range of labels on the new scale.

        Args:
            weights: the chain's table.
            ratio, shift: of the scales.
        """
        shared = self.context.shared
        weights[:, 0] *= ratio
        contraction, gravity = self._regularization
        self._regularization[1] = gravity * ratio
        if self.parameters.adaptive and self.answers.loss_kind == kinds.SQUARED:  # `quantile` has gradients of no scale
            weights[:, 1] *= ratio * ratio
        weights[CONSTANT_INDEX & int(shared["mask"][0]), 0] += shift / contraction
        if not shared["fixed_range"][0]:
            for name in ("min_label", "max_label"):
                shared[name] = shared[name] * ratio + shift

    def end_pass(self) -> None:
        """Let the learning rate decay."""
        self.state["learning_rate"] *= np.float32(self.parameters.decay)
