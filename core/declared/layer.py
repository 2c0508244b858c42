"""A layer that declares its state and its loss."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from numpy.typing import NDArray

from hutch.core.chain.declarations import Answers, Inputs, Parallel
from hutch.core.chain.limits import Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Reduction
from hutch.core.declared import outcome
from hutch.core.declared.outcome import OwnLoss
from hutch.core.declared.state import Size, State, known_size, size_of
from hutch.core.interpreted.chosen import address_of
from hutch.core.loss.losses import LossChoice


class Layer(Reduction):
    """A layer whose state, width and loss are declared; the rest is as of `Reduction`.

    Attributes:
        declares: the state, which also says the class of the parameters.
        models: how many sub-models of the layer below it needs: a number, the name of a parameter, or a function of
            the parameters.
        loss: of its predictions: `OwnLoss.ZERO_ONE`, `OwnLoss.LEARNED`, or the name of an installed loss. Its kernels
            then leave the example's raw score, loss and scores alone. None: they write these.
        own: the kernels that it declares; `kernels` are those around them that write the outcome.
        arrays: of its state, by name; those that are learned begin with an axis for the sub-models of this layer.
    """

    declares: ClassVar[State] = State(Parameters)
    models: ClassVar[Size] = 1
    loss: ClassVar[OwnLoss | str | None] = None
    arrays: Mapping[str, NDArray[Any]]

    own: ClassVar[Kernels]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        declared = vars(cls)
        state, own = declared.get("declares"), declared.get("kernels")
        if isinstance(state, State):
            if "Parameters" not in declared:
                cls.Parameters = state.parameters
            decides = cls.takes is not None and cls.takes.of_decisions
            if not ("parallel" in declared or cls.is_base or decides or state.learned):
                cls.parallel = Parallel(merging={})
        known_size(cls.models, cls.Parameters, f"{cls.__name__}.models")
        if "inputs" not in declared and cls.takes is Labels.MULTICLASS:
            cls.inputs = Inputs(learns_any_label=False)
        if isinstance(own, Kernels):
            cls.own = own
            if cls.loss is not None:
                cls.kernels = replace(own, learn=outcome.learn, predict=outcome.predict)  # type: ignore[assignment]

    def __init__(self, parameters: Any, context: Context) -> None:
        super().__init__(parameters, context)
        record, self.arrays = self.declares.made(parameters, context.submodels, context.seed)
        record.set(span=context.step * self.width(parameters))
        if self.loss is not None:
            record.set(learn=address_of(self.own.learn), predict=address_of(self.own.predict), widens=self.is_base)
            if self.loss is not OwnLoss.ZERO_ONE:
                record.set(loss=context.loss(self.answers.loss or LossChoice(name="squared")))
            if self.takes is Labels.MULTICLASS:
                record.set(classes=self.answers.classes or 0)
            if "scores" in self.arrays:
                record.set(scores=self.arrays["scores"], score_count=len(self.arrays["scores"]))
        self.state = record

    @classmethod
    def width(cls, parameters: Any) -> int:
        """Number of sub-models of the layer below that it needs: `models`."""
        return size_of(cls.models, parameters)

    @property
    def answers(self) -> Answers:
        """Those of the layer below, with its own classes, loss and scores."""
        found = super().answers
        if "scores" in self.arrays:
            found = replace(found, score_count=len(self.arrays["scores"]))
        if self.loss is not None and not isinstance(self.loss, OwnLoss):
            choice = LossChoice(name=self.loss)
            found = replace(found, loss=choice, loss_kind=choice.resolve(self.context.losses).kind)
        return found

    def saved(self) -> dict[str, NDArray[Any]]:
        """The arrays that are learned."""
        return super().saved() | {name: self.arrays[name] for name in self.declares.learned}

    def limits(self) -> Mapping[str, Limits]:
        """Those of the arrays that are learned."""
        return {**super().limits(), **{name: self.declares.arrays[name].limits for name in self.declares.learned}}
