"""A linear learner that takes its steps at the end of whole passes, by limited-memory BFGS or conjugate gradients.

A pass sums up loss and gradient over all examples. The first one also sums up the second derivatives of each weight,
whose inverse scales all directions, and the second pass finds the length of the first step from the curvature along
its direction. From then on each pass ends in a step of length 1 along the next direction, or in half of the last step
where that went too far.

Sources: J. Nocedal, "Updating quasi-Newton matrices with limited storage", Mathematics of Computation 1980; D. Liu and
J. Nocedal, "On the limited memory BFGS method for large scale optimization", Mathematical Programming 1989; VW 9.11.9,
`--bfgs` and `--conjugate_gradient`.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import CONSTANT_INDEX
from hutch.core.chain.limits import COUNT, FINITE, POSITIVE, Limits
from hutch.core.chain.reduction import Context, Kernels, Parameters
from hutch.core.kernel.record import Record
from hutch.core.parameters import Within
from hutch.reductions.ftrl.base import NonNegative, SumsParameters
from hutch.reductions.lbfgs import table
from hutch.reductions.lbfgs.kernels import CURVATURE, NEW, SLOPES, STATE, learn, predict
from hutch.reductions.lbfgs.table import COLUMNS, DIRECTION, GRADIENT, SCALE
from hutch.reductions.linear.layer import HashedLearner

_LEAST_DECREASE = 0.01
"""Share of the decrease that the slope promises, below which a step went too far: Wolfe's first condition."""

End = Literal["", "converged", "flat", "not convex"]


class LbfgsParameters(SumsParameters):
    """Parameters of `lbfgs`.

    Attributes:
        memory: pairs of differences of weights and gradients that directions are made of; 0: conjugate gradients.
        tolerance: the search ends when a step lowers the loss by less than this share of it.
        l2: strength of L2 regularisation: l2 / 2 · w² is added to the sum of losses.
        regularize_constant: regularise the weight of the constant, too.
        measure_curvature: a pass over the curvature before each step, not only before the first, finds its length.
        keep_scales: directions are scaled by the second derivatives of the first pass as long as the search lasts;
            else only the first one is, and the others by `l2` alone, as in Vowpal Wabbit.
    """

    memory: Annotated[int, Within(ge=0, le=1 << 10)] = 15
    tolerance: NonNegative = 0.001
    l2: NonNegative = 0.0
    regularize_constant: bool = True
    measure_curvature: bool = False
    keep_scales: bool = True


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the search; what was not measured is NaN.

    Attributes:
        passes: the number of the pass after which the gradient was known, counted from 1.
        loss: with regularisation, per unit of importance.
        gradient: its square, of that loss.
        scaled_gradient: the same, scaled.
        decrease: of the loss by the step before, as a share of what the slope promised.
        slope: at the end of the step before, as a share of that at its beginning.
        kept: of conjugate gradients, the share of the direction before in this one.
        curvature: along the direction, per unit of importance.
        direction: the square of its length.
        length: of the step as a share of the direction.
        revised: whether the step before went too far, so that this one goes part of it; `length` is then what is left.
        part: the share that is left.
    """

    passes: int
    loss: float
    gradient: float
    scaled_gradient: float
    decrease: float = math.nan
    slope: float = math.nan
    kept: float = math.nan
    curvature: float = math.nan
    direction: float = math.nan
    length: float = math.nan
    revised: bool = False
    part: float = math.nan


class Lbfgs(HashedLearner):
    """A linear learner that takes a step at the end of each pass.

    Attributes:
        prior: float32 (rows, 2), strength of the regularisation of each weight in place of `l2`, and the value that it
            draws to, for the present search; empty for none.
        keeps_strengths: at the end of a search, `strengths` becomes that of the regularisation that stands for its data
            in a later one: what it had and the second derivatives of the loss that scaled its last step.
        on_step: called with each `Step`; None: nothing is.
        end: why the search ended: the loss has `converged`, its gradient is `flat`, or it is `not convex` as far as its
            numbers tell; empty as long as it goes on.
    """

    name: ClassVar[str] = "lbfgs"
    linear = True
    Parameters: ClassVar[type[Parameters]] = LbfgsParameters
    known_failures = {
        "learns": "nothing is learned before a pass ends",
        "loss": "predictions of the first pass are all alike",
    }
    kernels = Kernels(learn, predict)
    keeps: ClassVar[Mapping[str, Limits]] = {
        "phase": Limits(0, 2),
        "pairs": COUNT,
        "origin": COUNT,
        "passes": COUNT,
        "learned": COUNT,
        "losses": FINITE,
        "last_losses": FINITE,
        "importance": POSITIVE,
        "curvature": FINITE,
        "step": FINITE,
    }
    stride = COLUMNS
    """Weight, gradient, direction, scale."""

    def __init__(self, parameters: LbfgsParameters, context: Context) -> None:
        super().__init__(parameters, context)
        self.on_step: Callable[[Step], Any] | None = None
        self.end: End = ""
        self.prior, self.strengths = np.zeros((0, 2), np.float32), np.zeros(0, np.float32)
        self.keeps_strengths = False
        self._width, size = 2 * parameters.memory or 1, max(parameters.memory, 3)
        self._memory = np.zeros((1 << context.bits, self._width), np.float32)
        self._numbers, self._sums = np.zeros((3, size)), np.zeros(4)
        self._measured: dict[str, Any] = {}
        self._weights = np.zeros(0, np.float32)
        self.state = Record(STATE, loss=context.loss(parameters.loss), features=self._features.record)

    def saved(self) -> dict[str, NDArray[Any]]:
        """Where the search stands: its sums, the memory, and 1 / (y · s) of each pair."""
        return super().saved() | {"memory": self._memory, "numbers": self._numbers}

    def limits(self) -> Mapping[str, Limits]:
        """All finite; counts within the memory."""
        half = max(self.parameters.memory - 1, 0)
        places = {"pairs": Limits(0, half), "origin": Limits(0, self._width - 1)}
        return dict(self.keeps) | places | {"memory": FINITE, "numbers": FINITE}

    def initialise(self, weights: NDArray[np.float32]) -> None:
        """Keep the table, which each step goes through."""
        self._weights = weights.reshape(-1)

    def end_pass(self) -> None:
        """Take the step of a pass of which examples were learned."""
        if self.state["learned"]:
            self.take_step()

    def take_step(self) -> bool:
        """Take the step that the pass just made leads to; returns whether a further pass may help."""
        state, p, weights = self.state, self.parameters, self._weights
        self.end = ""
        if not state["learned"]:
            return False
        if state["phase"] == NEW or not p.keep_scales:
            table.invert_scales(weights, np.float32(p.l2), self.prior.reshape(-1))
        if state["phase"] == CURVATURE:
            self._step_by_curvature(weights)
        else:
            if p.l2 > 0 or len(self.prior):
                strength = np.float32(p.l2), self.prior.reshape(-1)
                state["losses"] += table.regularize(weights, *strength, *self._constant())
            if state["phase"] == NEW:
                self._begin(weights)
            else:
                self._continue(weights)
        state["passes"] += 1
        state["learned"] = 0
        if self.end and self.keeps_strengths:
            self._note_strengths(weights)
        if not p.keep_scales and not self.end:
            table.clear_column(weights, SCALE)
        return not self.end

    def set_prior(self, prior: NDArray[np.float32]) -> None:
        """Begin a search from the centres of a prior.

        Args:
            prior: see the attribute of that name.
        """
        self.prior = prior
        self._weights[::COLUMNS], self._weights[SCALE::COLUMNS] = prior[:, 1], prior[:, 0]

    def _note_strengths(self, weights: NDArray[np.float32]) -> None:
        """Keep the strengths of a regularisation that stands for the data of this search."""
        scales = weights[SCALE::COLUMNS]
        with np.errstate(divide="ignore"):
            seconds = np.where(scales > 0, np.float32(1) / scales, np.float32(0))
        own = self.prior[:, 0] if len(self.prior) else np.float32(self.parameters.l2)
        self.strengths = (seconds + own).astype(np.float32)

    def _constant(self) -> tuple[int, int]:
        """The first row of the constant, and how many of its weights are not regularised."""
        shared, count = self.context.shared[0], self.context.submodels
        first = CONSTANT_INDEX * int(shared["multiplier"]) & int(shared["mask"])
        return first, 0 if self.parameters.regularize_constant else count

    def _begin(self, weights: NDArray[np.float32]) -> None:
        """After the first pass: the first direction."""
        table.begin(weights, self._memory.reshape(-1), self._width, self._sums)
        self._measure(*self._sums[:2])
        self._expect_curvature()

    def _measure(self, square: float, scaled: float, **more: float) -> None:
        """Note what is known of the step to come."""
        state, importance = self.state, float(self.state["importance"][0])
        self._measured = {
            "passes": int(state["passes"][0]) + 1,
            "loss": float(state["losses"][0]) / importance,
            "gradient": float(square) / (importance * importance),
            "scaled_gradient": float(scaled) / importance,
            **more,
        }

    def _expect_curvature(self) -> None:
        """Let the next pass sum up the curvature along the direction."""
        self.state["last_losses"] = float(self.state["losses"][0])
        for name in ("losses", "curvature"):
            self.state[name] = 0.0
        self.state["phase"] = CURVATURE

    def _continue(self, weights: NDArray[np.float32]) -> None:
        """After a pass that followed a step: judge the step, and turn."""
        state, p = self.state, self.parameters
        origin, memory = int(state["origin"][0]), self._memory.reshape(-1)
        table.compare(weights, memory, self._width, origin, self._sums)
        before, after, square, scaled = map(float, self._sums)
        losses, last, step = (float(state[name][0]) for name in ("losses", "last_losses", "step"))
        with np.errstate(all="ignore"):
            decrease = float(np.float64(losses - last) / np.float64(step * before))
            slope = float(np.float64(after) / np.float64(before))
        self._measure(square, scaled, decrease=decrease, slope=slope)
        if math.isnan(np.float32(decrease)):
            self._finish("flat", 0.0)
        elif decrease < _LEAST_DECREASE or losses > last:
            self._go_back(weights, step)
        else:
            if last != 0 and abs((last - losses) / last) < float(np.float32(p.tolerance)):
                self.end = "converged"
            self._turn(weights, memory, origin)

    def _go_back(self, weights: NDArray[np.float32], step: float) -> None:
        """Take half of the last step back."""
        half = 0.5 * step
        table.move(weights, np.float32(-step + half))
        table.clear_column(weights, GRADIENT)
        self.state["step"], self.state["losses"] = half, 0.0
        self._tell(length=half, revised=True, part=float(np.float32(half)) / step if step else 0.0)

    def _turn(self, weights: NDArray[np.float32], memory: NDArray[np.float32], origin: int) -> None:
        """Find the next direction, and go along it unless its curvature is measured first."""
        state, p = self.state, self.parameters
        state["last_losses"], state["step"] = float(state["losses"][0]), 1.0
        state["losses"] = state["curvature"] = 0.0
        if p.memory == 0:
            self._measured["kept"] = float(table.conjugate(weights, memory))
        else:
            place = table.turn(weights, memory, self._width, origin, int(state["pairs"][0]), self._numbers)
            if place < 0:
                self.end, state["step"] = "not convex", 0.0
            else:
                state["origin"] = place
                state["pairs"] = min(int(state["pairs"][0]) + 1, p.memory - 1)
        if p.measure_curvature or p.memory == 0:
            state["phase"] = CURVATURE
        else:
            self._move(weights)
            state["phase"] = SLOPES

    def _step_by_curvature(self, weights: NDArray[np.float32]) -> None:
        """After a pass over the curvature: the step to where the slope vanishes, were the loss a parabola."""
        state, p = self.state, self.parameters
        table.slope(weights, self._memory.reshape(-1), self._width, int(state["origin"][0]), self._sums)
        slope = np.float32(self._sums[0])
        if len(self.prior):
            along = weights[DIRECTION::COLUMNS].astype(np.float64)
            state["curvature"] += float(self.prior[:, 0] @ (along * along))
        elif p.l2 > 0:
            state["curvature"] += float(np.float32(p.l2)) * self._sums[1]
        curvature = float(state["curvature"][0])
        if curvature == 0 and slope != 0:
            self._finish("not convex", 0.0)
        elif slope == 0:
            self._finish("flat", 0.0)
        else:
            with np.errstate(all="ignore"):
                state["step"] = -slope / np.float32(curvature)
        self._measured["curvature"] = curvature / float(state["importance"][0])
        self._move(weights)
        state["phase"] = SLOPES

    def _finish(self, end: End, step: float) -> None:
        self.end, self.state["step"] = end, step

    def _move(self, weights: NDArray[np.float32]) -> None:
        """Go along the direction."""
        step = self.state["step"][0]
        square = float(np.float32(table.move(weights, step)))
        self._tell(direction=square, length=float(step))

    def _tell(self, **more: Any) -> None:
        """Report a step."""
        if self.on_step is not None:
            self.on_step(Step(**self._measured, **more))

    def forget_search(self) -> None:
        """Discard what the search has summed up and remembers; the weights stay."""
        table.clear(self._weights, GRADIENT)
        self.prior = np.zeros((0, 2), np.float32)
        self._memory[...] = 0
        self._numbers[...] = 0
        for name in self.keeps:
            self.state[name] = 0

    def doubts(self) -> str | None:
        """Examples that wait for the end of their first pass."""
        if self.state["passes"] or not self.state["learned"] or self._weights[::COLUMNS].any():
            return None
        return "nothing is learned before a pass ends: wanted `passes` of 2 or more, or calls of `end_pass`"
