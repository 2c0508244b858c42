"""The Bayesian linear learner: a Gaussian posterior of the weights, learned in one pass.

Of a dense namespace, such as embeddings, each label turns the Gaussian of the prediction p = m·x, variance q = x'Sx,
into one with mean p' and precision 1/q + c (`hutch.core.loss.tilted`), and the weights follow:

    m += S x (p' - p) / q         S⁻¹ += c x x'

`blocks` has the form for features of any kind, whose covariances lie in blocks.

Source: M. Opper, "A Bayesian approach to on-line learning", 1998; for squared loss this is recursive least squares.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.chain.capabilities import FarValue
from hutch.core.chain.declarations import Answers, Inputs, Shortcuts
from hutch.core.chain.limits import COUNT, FINITE, POSITIVE, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions, Reduction
from hutch.core.chain.stored import Stored, dense
from hutch.core.errors import ConfigError, ModelError
from hutch.core.kernel.record import Record
from hutch.core.learner.dense_row import DenseNamespace
from hutch.core.learner.memory import Buffer
from hutch.core.learner.terms import MOST_TERMS
from hutch.core.loss import kinds
from hutch.core.loss.losses import LossChoice
from hutch.core.parameters import ExampleValue, Parameters, Within
from hutch.reductions.bayesian_linear.blocks import MOST_PRIORS, SUMS, learn_blocks, predict_blocks, sensitivity_blocks
from hutch.reductions.bayesian_linear.kernels import (
    importance_to_full,
    importance_to_low_rank,
    learn_full,
    learn_low_rank,
    predict,
    sensitivity_full,
    sensitivity_low_rank,
)
from hutch.reductions.bayesian_linear.low_rank import check_low_rank, low_rank_size, workspace_size
from hutch.reductions.bayesian_linear.moment_arrays import MomentArrays
from hutch.reductions.bayesian_linear.moment_kernels import (
    importance_to_moments,
    learn_moments,
    predict_moments,
    sensitivity_moments,
)
from hutch.reductions.bayesian_linear.posterior import NumbersPosterior
from hutch.reductions.bayesian_linear.state import BAYESIAN, GROUP, LEARNED
from hutch.reductions.linear.layer import Linear, namespaces_of

_OF_ALL = ("dimension", "loss", "covariance", "forgetting", "min_prediction", "max_prediction")
_OF_BLOCKS = ("priors", "blocks", "interactions", "permutations", "duplicate_interactions", "ignore_linear")
_MOMENTS = ("moments", "sites")
_OF_MOMENTS = ("reaches", "extrapolation")
_FULL = 512
_RANK = 32
_MOST_BYTES = 1 << 33

Positive = Annotated[float, Within(gt=0)]


def _ridge(fixed: float | None, reach: float, columns: float) -> float:
    """λ of moments with so many columns."""
    return fixed or columns / (2.0 * reach)


class BayesianLinearParameters(Parameters):
    """Parameters of `bayesian_linear`.

    Attributes:
        namespace: whose features are the row; features missing in a line are 0.
        dimension: features of a row, or of a block.
        features: `numbered` reads names as numbers from 0 to dimension - 1; `named` takes any, in the order in which
            they are met; those beyond `dimension` have variances but no covariances.
        loss: `logistic`, `squared`, or any other.
        rank: None: a full covariance of up to 512 dimensions, beyond them a diagonal less 32 outer products; a number:
            so many.
        covariance: `own`, one for each sub-model that a layer above asks for; `shared`, one for all, for layers that
            train all sub-models on each example, such as one_against_all: faster by the number of sub-models; `blocks`,
            for hashed features of all namespaces: one for each `dimension` features that are met together, under
            squared loss whose noise is estimated; `moments`, for numbers in any units, in the order of time: the sums
            of all rows, in which a missing feature is at its mean, and the prior is in units of deviations, under
            squared loss; `sites`, the same for classes, under logistic loss or below multinomial.
        prior_variance: of each weight of a row before anything is learned; None: from `reach`.
        reach: variance of the prediction of the first row learned, in which features of value 0 count as if they were
            1, as all columns below `standardise` begin with 0; it sets the variance of a weight.
        constant_variance: of the constant's weight before anything is learned; with many classes, or where
            probabilities matter most, 1.
        sparse_variance: the same of weights of other namespaces, which have variances but no covariances.
        forgetting: part of the way back to the initial variance that each label goes, for concepts that drift and for
            explorers of a world that changes; not of moments and sites.
        reaches: of moments: the likeliest of these takes the place of `reach` in runs that predict.
        extrapolation: of moments: a value that lies farther outside those learned of its column than so many times
            their width counts as the nearest of them in predictions, once 30 rows have the column; None: none does.
        min_prediction: predictions below it become it; None: the smallest label seen.
        max_prediction: predictions above it become it; None: the largest label seen.
        priors: of blocks: the variance that a prediction has whose features are all new, in units of the noise; of
            several, the likeliest decides.
        blocks: the most there may be; features met later share the places of others.
        interactions: of blocks: products of namespaces, each a list of names; `:` stands for every namespace, and a
            string of letters is a term too if namespaces are letters.
        permutations: a namespace with itself gives all pairs instead of those in order.
        duplicate_interactions: keep terms that are permutations of each other.
        ignore_linear: namespaces used only in interactions.
    """

    namespace: Annotated[str, ExampleValue("words")] = "x"
    dimension: Annotated[int, Within(ge=1, le=1 << 16), ExampleValue(1 << 12)]
    features: Literal["numbered", "named"] = "numbered"
    loss: LossChoice = LossChoice(name="logistic")
    rank: Annotated[int, Within(ge=1, le=256)] | None = None
    covariance: Literal["own", "shared", "blocks", "moments", "sites"] = "own"
    prior_variance: Positive | None = None
    reach: Positive = 32.0
    constant_variance: Positive = 64.0
    sparse_variance: Positive = 1.0
    forgetting: Annotated[float, Within(ge=0, lt=1)] = 0.0
    reaches: Annotated[tuple[Positive, ...], Within(max_length=16)] = ()
    extrapolation: Annotated[float, Within(ge=0)] | None = 3.0
    min_prediction: float | None = None
    max_prediction: float | None = None
    priors: Annotated[tuple[Positive, ...], Within(min_length=1, max_length=MOST_PRIORS)] = (
        0.0625, 0.25, 1.0, 4.0, 16.0, 64.0,
    )  # fmt: skip
    blocks: Annotated[int, Within(ge=1, le=1 << 20)] = 1024
    interactions: Annotated[tuple[str | tuple[str, ...], ...], Within(max_length=MOST_TERMS)] = ()
    permutations: bool = False
    duplicate_interactions: bool = False
    ignore_linear: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        blocks = self.covariance == "blocks"
        for name, got in vars(self).items():
            if name not in _OF_ALL and (name in _OF_BLOCKS) != blocks and got != getattr(type(self), name):
                raise ValueError(f"{name}: got {got!r} beside covariance: {self.covariance}, wanted it left out")
        beside = f"beside covariance: {self.covariance}"
        if (blocks or self.covariance == "moments") and self.loss.name != "squared":
            raise ValueError(f"loss: got {self.loss.name} {beside}, wanted squared")
        if self.covariance == "sites" and self.loss.name not in ("logistic", "squared"):
            raise ValueError(f"loss: got {self.loss.name} {beside}, wanted logistic, or squared below multinomial")
        if self.covariance in _MOMENTS:
            if self.features != "named":
                raise ValueError(f"features: got {self.features} {beside}, wanted named")
            if self.dimension > _FULL:
                raise ValueError(
                    f"dimension: got {self.dimension} {beside}, wanted at most {_FULL}; "
                    "covariance: own below `standardise` takes more"
                )
            for name in ("rank", "forgetting", *(_OF_MOMENTS if self.covariance == "sites" else ())):
                if (got := getattr(self, name)) != getattr(type(self), name):
                    raise ValueError(f"{name}: got {got!r} {beside}, wanted it left out")
        else:
            for name in _OF_MOMENTS:
                if (got := getattr(self, name)) != getattr(type(self), name):
                    raise ValueError(f"{name}: got {got!r} {beside}, wanted it left out")
        low, high = self.min_prediction, self.max_prediction
        if low is not None and high is not None and low > high:
            raise ValueError(f"min_prediction {low} is above max_prediction {high}")


class BayesianLinear(Reduction):
    """A linear model with a Gaussian posterior, of a dense namespace or, in blocks, of features of any kind.

    Raises:
        ConfigError: names cannot be read as numbers, more dimensions than the table has rows, or more memory than any
            machine should be asked for.
        DataError: a feature without a place, or a value that is not finite.
    """

    name: ClassVar[str] = "bayesian_linear"
    linear = True
    Parameters: ClassVar[type[Parameters]] = BayesianLinearParameters
    state: Record
    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    is_base = True
    shortcuts = Shortcuts(exact_updates=True)
    _set_range = Linear._set_range
    new_features = Linear.new_features

    def __init__(self, parameters: BayesianLinearParameters, context: Context) -> None:
        super().__init__(parameters, context)
        self._in_blocks = parameters.covariance == "blocks"
        self._moments: MomentArrays | None = None
        self._prepare_blocks() if self._in_blocks else self._prepare_row()
        self._set_range(context.shared)  # type: ignore[misc]

    def _prepare_blocks(self) -> None:
        p, count, size = self.parameters, len(self.parameters.priors), self.parameters.dimension
        if p.blocks * size >= 1 << 24 or 8 * p.blocks * size**2 * count > _MOST_BYTES:
            raise ConfigError(
                f"bayesian_linear: got {p.blocks} blocks of {size} features under {count} priors, wanted fewer than "
                f"{1 << 24} features, and matrices of at most {_MOST_BYTES >> 30} GB"
            )
        self.inputs = Inputs(namespaces=namespaces_of(p), one_pass=True)
        self._made = self.new_features()  # type: ignore[misc]
        self._groups = np.zeros(self.context.submodels, SUMS)
        self._taken = np.zeros(p.blocks, np.int64)
        self._means, self._responses = np.zeros((2, p.blocks, count, size))
        self._matrices = np.zeros((p.blocks, count, size * size))
        self._firsts, self._since = np.zeros((p.blocks, size)), np.zeros(p.blocks)
        self.state = Record(
            BAYESIAN,
            loss=self.context.loss(p.loss),
            gathered=self._made.record,
            groups=self._groups,
            priors=np.array(p.priors),
            prior_count=count,
            room=size,
            blocks=p.blocks,
            taken=self._taken,
            means=self._means,
            responses=self._responses,
            matrices=self._matrices,
            matrix_size=size * size,
            numbers=np.zeros(p.blocks, np.int64),
            found=Buffer(),
            parts=Buffer(),
            products=Buffer(),
            firsts=self._firsts,
            since=self._since,
            forgetting=p.forgetting,
            workspace=np.zeros(64),
            workspace_size=64,
        )

    def _prepare_row(self) -> None:
        p, context = self.parameters, self.context
        self.inputs = Inputs(namespaces=(p.namespace,), one_pass=True)
        self._dense = DenseNamespace("bayesian_linear", p.namespace, p.dimension, p.features == "named", context)
        self._rank = _RANK if p.rank is None and p.dimension > _FULL else p.rank
        size, covariances = p.dimension + 1, 1 if p.covariance == "shared" else context.submodels
        moments = p.covariance in _MOMENTS
        matrix_size = size * size if self._rank is None else low_rank_size(size, self._rank)
        if 8 * covariances * matrix_size * (5 if moments else 1) > _MOST_BYTES:
            raise ConfigError(
                f"bayesian_linear: {covariances} covariances of {p.dimension} dimensions would take "
                f"{8 * covariances * matrix_size / 1e9:.0f} GB; wanted covariance: shared, or a rank"
            )
        if moments:
            prior = p.constant_variance if p.covariance == "sites" else None
            self._moments, covariances = MomentArrays(context.submodels, size, prior, p.reaches, p.extrapolation), 0
        self._means = np.zeros((covariances and context.submodels, size))
        self._matrices = np.zeros((covariances, matrix_size))
        self._groups = np.zeros(covariances, GROUP)
        named, constant = p.features == "named", 0 if p.features == "named" else p.dimension
        self._constant = constant
        self._features = np.full(size if named else 1, -1, np.int64)
        self._places = np.zeros(1 << (2 * size).bit_length(), np.int64)
        self._rows, self._directions = np.zeros((covariances, size)), np.zeros((covariances, size))
        room = workspace_size(size, self._rank or 0)
        self.state = Record(
            BAYESIAN,
            loss=context.loss(p.loss),
            namespace=self._dense.id,
            first=self._dense.first,
            named=named,
            dimension=p.dimension,
            room=size,
            size=1 if named and self._rank is None else size,
            used=1 if named else size,
            constant=constant,
            features=self._features,
            places=self._places,
            slots=len(self._places),
            rank=self._rank or 0,
            means=self._means,
            shared=p.covariance == "shared",
            groups=self._groups,
            matrices=self._matrices,
            matrix_size=matrix_size,
            rows=self._rows,
            directions=self._directions,
            row=np.zeros(size),
            probe_rows=np.zeros((covariances, size)),
            probe_directions=np.zeros((covariances, size)),
            workspace=np.zeros(room),
            workspace_size=room,
            prior_variance=p.prior_variance or 0.0,
            reach=p.reach,
            constant_variance=p.constant_variance,
            sparse_variance=p.sparse_variance,
            forgetting=p.forgetting,
            moments=self._moments.record if self._moments else 0,
        )
        if self._rank is None:
            self._matrices[:, constant * (size + 1)] = p.constant_variance
        else:
            self._matrices[:, :size] = 1.0
            self._matrices[:, constant] = 1.0 / p.constant_variance

    @classmethod
    def keeps_zeros(cls, parameters: BayesianLinearParameters) -> bool:
        """Whether a feature of value 0 differs from a missing one, as it does where that is at its mean."""
        return parameters.covariance in _MOMENTS

    @property
    def kernels(self) -> Kernels:
        if self._in_blocks:
            return Kernels(learn_blocks, predict_blocks, sensitivity=sensitivity_blocks)
        if self._moments:
            return Kernels(learn_moments, predict_moments, importance_to_moments, sensitivity_moments)
        if self._rank is None:
            return Kernels(learn_full, predict, importance_to_full, sensitivity_full)
        return Kernels(learn_low_rank, predict, importance_to_low_rank, sensitivity_low_rank)

    @property
    def stride(self) -> int:
        """2 for features outside the row: a weight, and the precision that labels have added to it; 1 for a place."""
        return 1 if self._in_blocks else 2

    @property
    def answers(self) -> Answers:
        """The sensitivity of blocks is a variance."""
        return replace(super().answers, sensitivity_is_variance=self._in_blocks)

    @property
    def means(self) -> NDArray[np.float64]:
        """The posterior means, float64 (sub-models, dimension + 1), the constant's last; a copy."""
        return np.roll(self._means, self.parameters.dimension - self._constant, axis=1)

    def columns(self, submodel: int = 0) -> dict[int, tuple[float, float]]:
        """Mean and deviation of each column met, by the index of its feature; of moments and sites."""
        return self._moments.columns(self._features, submodel) if self._moments else {}

    def numbers_posterior(self) -> NumbersPosterior | None:
        """How far off predictions are likely to be; None without moments of numbers, or with less than two rows."""
        p = self.parameters
        if not (self._moments and p.covariance == "moments") or self.context.submodels > 1:
            return None
        fixed = 0.5 / p.prior_variance if p.prior_variance else None
        priors = [partial(_ridge, fixed, reach) for reach in p.reaches or (p.reach,)]
        return self._moments.posterior(self._features, priors, p.sparse_variance, self._dense.id)

    @property
    def can_give_places(self) -> bool:
        """Whether features have places in the order in which they are met, and these may wait for values."""
        return self._moments is not None

    def give_places(self, features: NDArray[np.uint32]) -> None:
        """Give features places before they are met, so that words that come before them take none of theirs."""
        used = int(np.count_nonzero(self._features >= 0))
        new = [int(index) for index in features if index not in self._features][: len(self._features) - 1 - used]
        self._features[1 + used : 1 + used + len(new)] = new
        self.loaded()

    @property
    def keeps_targets(self) -> bool:
        """Whether it keeps sites."""
        return bool(self.parameters.covariance == "sites")

    @property
    def far(self) -> FarValue | None:
        """The first value so far outside those learned that predictions did not follow it; None: all were followed."""
        return self._moments.far(self._features) if self._moments else None

    def doubts(self) -> str | None:
        """That numbers of more columns than there are places have no weight."""
        if not (self._moments and self._moments.without_place):
            return None
        return (
            f"bayesian_linear.dimension: got numbers in more than {self.parameters.dimension} columns, of which the "
            "last are not learned; wanted a larger dimension"
        )

    @property
    def can_rescale(self) -> bool:
        """Whether it keeps one row of means, and variances in units of the noise, which follows the labels' scale."""
        alike = not self._in_blocks and self.parameters.covariance != "sites"
        return alike and self.answers.loss_kind == kinds.SQUARED

    def rescale(self, weights: NDArray[np.float32], ratio: float, shift: float) -> None:
        """Make means, and weights of features outside the row, predict ratio p + shift where they predicted p.

        Args:
            weights: the chain's table.
            ratio, shift: of the scales.
        """
        weights[:, 0] *= ratio
        if self._moments:
            self._moments.rescale(ratio, shift)
            return
        self._means *= ratio
        self._means[:, self._constant] += shift

    def begin_batch(self, batch: Batch, learn: bool) -> None:
        """Refuse features without a place and values that are not finite."""
        if self._in_blocks:
            self._made.forget_guess()
        else:
            self._dense.check(batch)

    @property
    def _by_block(self) -> dict[str, NDArray[Any]]:
        """What blocks keep, by name."""
        found = {"taken": self._taken, "means": self._means, "responses": self._responses, "matrices": self._matrices}
        return found | {"firsts": self._firsts} | ({"since": self._since} if self.parameters.forgetting else {})

    def saved(self) -> dict[str, NDArray[Any]]:
        """Means and covariances with their pending updates; with blocks, those in use, and sums of labels."""
        if self._in_blocks:
            used = int(self.state["used"][0])
            return {name: self._groups[name] for name in SUMS.names or ()} | {
                name: array[:used] for name, array in self._by_block.items()
            }
        if self._moments:
            return {"features": self._features} | self._moments.saved()
        return {
            "means": self._means,
            "matrices": self._matrices,
            "rows": self._rows,
            "directions": self._directions,
            **{name: self._groups[name] for name in LEARNED},
            "features": self._features,
        }

    def limits(self) -> Mapping[str, Limits]:
        """Numbers, and which of the sub-models learned last."""
        if self._in_blocks:
            found = dict.fromkeys(SUMS.names or (), FINITE) | dict.fromkeys(("importance", "residuals"), POSITIVE)
            found |= dict.fromkeys(("means", "responses", "matrices"), Limits(finite=True, grows=True))
            found["firsts"] = Limits(least=0, finite=True, grows=True)
            if self.parameters.forgetting:
                found["since"] = Limits(least=0, finite=True, grows=True)
            return found | {"taken": Limits(1, self.parameters.dimension, grows=True)}
        if self._moments:
            return {"features": Limits(-1, (1 << 32) - 1), **self._moments.limits()}
        found = dict.fromkeys(("means", "matrices", "rows", "directions"), FINITE)
        found |= dict.fromkeys(("variance", "spread", "added"), POSITIVE)
        return found | {
            "learners": COUNT,
            "last": Limits(0, self.context.submodels),
            "features": Limits(-1, (1 << 32) - 1),
        }

    def check_saved(self, arrays: Mapping[str, Stored]) -> None:
        """A precision of low rank is one, and all moments are of the same blocks.

        Raises:
            ModelError: they are not.
        """
        if self._in_blocks:
            taken, *others = (len(dense(arrays[name])) for name in self._by_block)
            if set(others) != {taken} or taken > self.parameters.blocks:
                found = ", ".join(
                    f"{count} of {name}" for name, count in zip([*self._by_block][1:], others, strict=True)
                )
                raise ModelError(
                    f"bayesian_linear: got {taken} blocks, and {found}, wanted as many of each, at most "
                    f"{self.parameters.blocks}"
                )
        elif self._moments:
            self._moments.check(arrays)
        elif self._rank is not None:
            check_low_rank(dense(arrays["matrices"]), self.parameters.dimension + 1, self._rank)

    def loading(self, arrays: Mapping[str, Stored]) -> None:
        """Clear the cache for h_min; set the number of blocks in use to the model's."""
        if self._in_blocks:
            taken, before = dense(arrays["taken"]), int(self.state["used"][0])
            for array in self._by_block.values():
                array[len(taken) : before] = 0
            self.state.set(used=len(taken), size=int(np.max(taken, initial=0)))
        elif self._moments:
            self._moments.loading(arrays)
        else:
            self._groups["probed"] = 0

    def loaded(self) -> None:
        """Find the places of named features again."""
        if self._in_blocks or self.parameters.features == "numbered":
            return
        places, used = self._places, 1 + int(np.max(np.flatnonzero(self._features >= 0), initial=0))
        places[:] = 0
        for place in range(1, used):
            at = self._features[place] % len(places)
            while places[at]:
                at = (at + 1) % len(places)
            places[at] = place
        self.state["used"] = used
        self.state["size"] = used if self._rank is None else self.parameters.dimension + 1
