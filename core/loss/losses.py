"""Losses: their interface, the built-in ones, and the choice of one by name in a layer."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from inspect import signature
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import ConfigError, PluginError, did_you_mean
from hutch.core.interpreted.chosen import address_of
from hutch.core.kernel.abi import LOSS, PLAIN_LOSS_SIGNATURE
from hutch.core.kernel.cache import AddressKernel
from hutch.core.loss import kernels as kernels
from hutch.core.loss import kinds
from hutch.core.loss.plain import PLAIN_KERNELS

_KERNELS = ("value", "derivative", "update", "unsafe_update", "square_gradient", "plain_value", "plain_derivative")


class LossLabels(StrEnum):
    """The labels that a loss is made for."""

    BINARY = "binary"  # -1 and +1
    REAL = "real"
    COUNT = "count"  # ≥ 0


LABELS_TO_TRY = {
    LossLabels.BINARY: (-1.0, 1.0),
    LossLabels.REAL: (-2.0, 0.0, 0.5, 3.0),
    LossLabels.COUNT: (0.0, 1.0, 4.0),
}
"""Labels at which losses are checked."""


@dataclass(frozen=True, slots=True)
class LossParameter:
    """A number that shapes a loss.

    Attributes:
        name: as users write it.
        default: its value if users give none.
        low, high: it lies strictly between these.
        slot: the field of the LOSS record that carries it.
    """

    name: str
    default: float
    low: float = -np.inf
    high: float = np.inf
    slot: str = "parameter"


@dataclass(frozen=True, slots=True)
class Loss:
    """A loss of a scalar prediction.

    Attributes:
        name: as users write it.
        value: kernel (prediction, label, scale, norm, LOSS record) -> loss.
        derivative: kernel -> d loss / d prediction.
        update: kernel -> importance-aware update u of a linear model: the prediction becomes p + norm · u.
        unsafe_update: kernel -> the plain gradient step.
        square_gradient: kernel -> the increment of the adaptive rates.
        kind: which closed forms hold, one of `hutch.core.loss.kinds`.
        parameters: the numbers that shape it.
        labels: the labels it is made for.
        convex: whether it is convex in the prediction.
        prediction_range: predictions are clipped to this range at first; None: to the labels seen.
        plain_value, plain_derivative: a plugin's own functions, if it is made of plain ones.
        known_failures: the checks of `hutch.plugins.checks.run` that it fails on purpose, each with the reason.
    """

    name: str
    value: AddressKernel
    derivative: AddressKernel
    update: AddressKernel
    unsafe_update: AddressKernel
    square_gradient: AddressKernel
    kind: int = kinds.GENERIC
    parameters: tuple[LossParameter, ...] = ()
    labels: LossLabels = LossLabels.REAL
    convex: bool = True
    prediction_range: tuple[float, float] | None = None
    plain_value: AddressKernel | None = None
    plain_derivative: AddressKernel | None = None
    known_failures: Mapping[str, str] = field(default_factory=dict, hash=False)

    @classmethod
    def plain(
        cls,
        name: str,
        value: Callable[[float, float, float], float],
        derivative: Callable[[float, float, float], float],
        *,
        parameter: LossParameter | None = None,
        labels: LossLabels = LossLabels.REAL,
        convex: bool = True,
        prediction_range: tuple[float, float] | None = None,
        known_failures: Mapping[str, str] | None = None,
    ) -> Self:
        """A loss made of two functions; its importance-aware update is found by quadrature.

        Args:
            name: as users will write it.
            value: module-level function (prediction, label, parameter) -> loss, in Numba's part of Python.
            derivative: the same -> d loss / d prediction; 0 or a change of sign marks an optimum.
            parameter: the number that shapes the loss, if it has one.
            labels, convex, prediction_range, known_failures: as the attributes.

        Raises:
            PluginError: a function that does not take (prediction, label, parameter).

        >>> def absolute(prediction, label, parameter):
        ...     return abs(prediction - label)
        >>> def sign(prediction, label, parameter):
        ...     return 1.0 if prediction > label else (-1.0 if prediction < label else 0.0)
        >>> Loss.plain("absolute", absolute, sign).kind
        0
        """
        for function in (value, derivative):
            if len(signature(function).parameters) != 3:
                got = f"{function.__name__}{signature(function)}"
                wanted = "three arguments (prediction, label, parameter), the last also where it is not used"
                raise PluginError(f"loss {name!r}: got {got}, wanted {wanted}")
        return cls(
            name,
            *PLAIN_KERNELS,
            parameters=(parameter,) if parameter else (),
            labels=labels,
            convex=convex,
            prediction_range=prediction_range,
            plain_value=AddressKernel(value, PLAIN_LOSS_SIGNATURE),
            plain_derivative=AddressKernel(derivative, PLAIN_LOSS_SIGNATURE),
            known_failures=dict(known_failures or {}),
        )

    def accepts(self, labels: NDArray[np.float32], parameters: Mapping[str, float] | None = None) -> NDArray[np.bool_]:
        """Which labels the loss is made for, bool (labels): ±1 or between the two labels for them, or counts.

        >>> BUILTIN_LOSSES[2].accepts(np.array([1, -1, 0, 2], np.float32))
        array([ True,  True, False, False])
        """
        if self.labels == LossLabels.COUNT:
            fits = labels >= 0
        elif self.labels == LossLabels.BINARY and self.kind == kinds.LOGISTIC:
            given = {parameter.name: parameter.default for parameter in self.parameters} | dict(parameters or {})
            fits = (labels >= given["lower"]) & (labels <= given["upper"])
        elif self.labels == LossLabels.BINARY:
            fits = np.abs(labels) == 1
        else:
            fits = np.isfinite(labels)
        return np.asarray(fits, np.bool_)

    def mistakes(self, given: Mapping[str, float]) -> Iterator[tuple[str, bool, str]]:
        """Mistakes in values of its parameters: the name, whether the name is wrong, and the text."""
        known = {parameter.name: parameter for parameter in self.parameters}
        for name, value in given.items():
            if name not in known:
                yield name, True, f"unknown key; {did_you_mean(name, known) if known else 'the loss has no parameters'}"
            elif not known[name].low < value < known[name].high:
                wanted = f"more than {known[name].low:g} and less than {known[name].high:g}"
                yield name, False, f"got {value:g}, wanted {wanted}"

    def record(self, shared: NDArray[Any], parameters: Mapping[str, float] | None = None) -> NDArray[Any]:
        """The LOSS record that kernels see; compiles the kernels.

        Args:
            shared: the SHARED record of the chain, an array of length 1 that outlives the result.
            parameters: values by name; those left out have their defaults.

        Returns:
            An array of length 1.

        Raises:
            ConfigError: an unknown parameter, or one out of its range.
        """
        for name, _, text in self.mistakes(parameters or {}):
            raise ConfigError(f"loss.{self.name}.{name}: {text}")
        record = np.zeros(1, LOSS)
        for parameter in self.parameters:
            record[parameter.slot] = (parameters or {}).get(parameter.name, parameter.default)
        if self.kind == kinds.LOGISTIC and not record["lower"][0] < record["upper"][0]:
            lower, upper = record["lower"][0], record["upper"][0]
            raise ConfigError(f"loss.{self.name}: got labels from {lower:g} to {upper:g}, wanted lower below upper")
        for slot in _KERNELS:
            kernel: AddressKernel | None = getattr(self, slot)
            record[slot] = address_of(kernel) if kernel else 0
        record["kind"], record["shared"] = self.kind, shared.ctypes.data
        return record

    def refuse_unsound(self, record: NDArray[Any]) -> None:
        """Refuse a plugin's loss that raises, or is not finite, at some usual predictions and labels.

        Args:
            record: as `record` returns it.

        Raises:
            PluginError: a kernel fails; the message names it and the place. `hutch plugins check` tries many more.
        """
        kernels: list[tuple[str, AddressKernel | None]] = [(slot, getattr(self, slot)) for slot in _KERNELS]
        if all(kernel is None or kernel.function.__module__.startswith("hutch.") for _, kernel in kernels):
            return
        for (slot, kernel), label, prediction in product(kernels[:5], LABELS_TO_TRY[self.labels], (-0.5, 0.25, 1.0)):
            assert kernel
            try:
                found = kernel(prediction, label, 0.1, 1.0, record.ctypes.data)
            except (RuntimeError, IndexError):  # all that a kernel's exception becomes
                found = np.nan
            if not np.isfinite(found) or (slot == "square_gradient" and found < 0):
                got = f"{slot} at prediction {prediction:g}, label {label:g}: got {found:g}"
                wanted = f"a finite number; see `hutch plugins check {self.name}`"
                raise PluginError(f"loss {self.name!r}: {got}, wanted {wanted}")


@dataclass(frozen=True, slots=True)
class LossChoice:
    """A loss by name with its parameters, as a chain's YAML gives it: `hinge` or `{quantile: {tau: 0.9}}`.

    A parameter of this type is read from both forms, and written as one of them.

    Attributes:
        name: of the loss.
        parameters: the numbers that shape it, by name.

    >>> from pydantic import TypeAdapter
    >>> TypeAdapter(LossChoice).validate_python({"quantile": {"tau": 0.9}})
    LossChoice(name='quantile', parameters={'tau': 0.9})
    >>> LossChoice("hinge").plain()
    'hinge'
    """

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    name: str
    parameters: dict[str, float] = field(default_factory=dict)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Callable[[Any], Any]) -> Any:
        from pydantic_core import core_schema  # not at the top: runs without checks skip pydantic

        written = core_schema.plain_serializer_function_ser_schema(cls.plain)
        return core_schema.no_info_before_validator_function(cls._read, handler(source), serialization=written)

    @classmethod
    def of(cls, plain: Any) -> Self:
        """The choice whose `plain` is this."""
        return cls(plain) if isinstance(plain, str) else cls(*next(iter(plain.items())))

    @staticmethod
    def _read(value: Any) -> Any:
        if isinstance(value, str):
            return {"name": value}
        if isinstance(value, Mapping) and "name" not in value and len(value) == 1:
            [(name, parameters)] = value.items()
            return {"name": name, "parameters": parameters or {}}
        if not isinstance(value, Mapping | LossChoice):
            raise ValueError(f"got {value!r}, wanted the name of a loss, or its name with parameters")
        return value

    def plain(self) -> Any:
        """The choice as YAML writes it."""
        return {self.name: dict(self.parameters)} if self.parameters else self.name

    def resolve(self, losses: Mapping[str, Loss]) -> Loss:
        """The installed loss of that name.

        Raises:
            ConfigError: no such loss.
        """
        if self.name not in losses:
            raise ConfigError(f"loss {self.name!r} is not installed; {did_you_mean(self.name, losses)}")
        return losses[self.name]


def _builtin(name: str, kind: int, **more: Any) -> Loss:
    """A loss whose kernels stand in `hutch.core.loss.kernels`, under its name or, what it has not, for all losses."""
    found: Any = {slot: getattr(kernels, f"{name}_{slot}", None) or getattr(kernels, slot) for slot in _KERNELS[:5]}
    return Loss(name, **found, kind=kind, **more)


SQUARED = _builtin("squared", kinds.SQUARED)
CLASSIC = Loss(
    "classic",
    kernels.classic_value,
    kernels.classic_derivative,
    kernels.squared_unsafe_update,
    kernels.squared_unsafe_update,
    kernels.squared_square_gradient,
    kind=kinds.CLASSIC,
)
HINGE = _builtin("hinge", kinds.HINGE, labels=LossLabels.BINARY)
LOGISTIC = _builtin(
    "logistic",
    kinds.LOGISTIC,
    parameters=(LossParameter("lower", -1.0, slot="lower"), LossParameter("upper", 1.0, slot="upper")),
    labels=LossLabels.BINARY,
    prediction_range=(-50.0, 50.0),
)
QUANTILE = _builtin("quantile", kinds.QUANTILE, parameters=(LossParameter("tau", 0.5, 0.0, 1.0),))
EXPECTILE = _builtin("expectile", kinds.EXPECTILE, parameters=(LossParameter("tau", 0.5, 0.0, 1.0),))
POISSON = _builtin(
    "poisson",
    kinds.POISSON,
    labels=LossLabels.COUNT,
    prediction_range=(-50.0, 50.0),
    known_failures={
        "gradient": "VW reports the deviance, which is twice the loss that its derivative belongs to",
    },
)
BUILTIN_LOSSES = (SQUARED, CLASSIC, HINGE, LOGISTIC, QUANTILE, EXPECTILE, POISSON)
"""The losses that come with Hutch, each as VW 9.11.9 computes it; squared first, the default."""
