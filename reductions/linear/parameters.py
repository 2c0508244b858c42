"""The parameters of `linear`."""

from typing import Annotated

from pydantic import Field, model_validator

from hutch.core.loss.losses import LossChoice
from hutch.core.parameters import Parameters
from hutch.reductions.linear.terms import MAX_ORDER

NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class LinearParameters(Parameters):
    """Parameters of `linear`.

    Attributes:
        loss: `hinge`, or `{quantile: {tau: 0.9}}`.
        learning_rate: step of the update.
        power_t: rates fall with the power_t-th power of what they adapt to.
        initial_t: importance taken as seen before the first example; 1 if neither adaptive nor normalized, else 0.
        decay: the learning rate is multiplied by this after each pass.
        adaptive: a rate for each feature, from its squared gradients.
        normalized: the scale of features does not matter.
        invariant: an example of importance 2 does what two examples do.
        l1, l2: regularisation, applied lazily with each update.
        sparse_l2: shrinks the features of the example only.
        initial_weight: what weights start from.
        initial_constant: what the constant feature's weight starts from.
        min_prediction, max_prediction: clip predictions to these; None: to the range of the labels seen.
        interactions: products of namespaces, each a list of names; `:` stands for every namespace, and a string of
            letters is a term too where namespaces go by letter.
        permutations: a namespace with itself gives all pairs instead of those in order.
        duplicate_interactions: keep terms that are permutations of each other.
        ignore_linear: namespaces of which only the interactions are used.
    """

    loss: LossChoice = LossChoice(name="squared")
    learning_rate: NonNegative = 0.5
    power_t: Finite = 0.5
    initial_t: NonNegative | None = None
    decay: NonNegative = 1.0
    adaptive: bool = True
    normalized: bool = True
    invariant: bool = True
    l1: NonNegative = 0.0
    l2: NonNegative = 0.0
    sparse_l2: NonNegative = 0.0
    initial_weight: Finite = 0.0
    initial_constant: Finite = 0.0
    min_prediction: Finite | None = None
    max_prediction: Finite | None = None
    interactions: tuple[str | tuple[str, ...], ...] = ()
    permutations: bool = False
    duplicate_interactions: bool = False
    ignore_linear: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> "LinearParameters":
        if None not in (self.min_prediction, self.max_prediction) and self.min_prediction > self.max_prediction:  # type: ignore[operator]
            raise ValueError(f"min_prediction {self.min_prediction} is above max_prediction {self.max_prediction}")
        for term in self.interactions:
            if not 2 <= len(term) <= MAX_ORDER:
                raise ValueError(f"interactions: got {term!r}, wanted 2 to {MAX_ORDER} namespaces")
        return self
