"""The learners that the evaluations of Nat-oEM compare, and the choice of their settings on validation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from hutch.core.errors import ConfigError
from hutch.em.engine import OnlineEM
from hutch.em.evaluation import Incremental, Make, Shuffled, Task, incremental, shuffled
from hutch.em.learner import Learner
from hutch.em.model import Array
from hutch.em.nat_oem import NatOEM
from hutch.em.natural import NaturalPPCA
from hutch.em.natural_class import ClassPPCA
from hutch.em.ppca import PPCA, PPCAParameters
from hutch.em.schedule import Schedule

BASELINE = "oEM k^-0.6"
TUNED = "oEM tuned"


class Setting(NamedTuple):
    """One choice of a family's parameters."""

    label: str
    make: Make


class Family(NamedTuple):
    """Learners that differ in parameters only; one of them is chosen on validation."""

    name: str
    settings: Sequence[Setting]


def _oem(
    exponent: float,
    scale: float = 1.0,
    *,
    m_step: Literal["joint", "recentred"] = "joint",
    average_from: int | None = None,
    **constraint: Any,
) -> Make:
    def make(first: Array, rank: int) -> Learner[PPCAParameters]:
        model = PPCA.of(first, rank, m_step=m_step)
        held = NatOEM[PPCAParameters](**constraint) if constraint else None
        schedule = Schedule(exponent, scale)
        return OnlineEM(model, model.start(seed=0), schedule, average_from=average_from, constraint=held)

    return make


def _nat(**constraint: Any) -> Setting:
    label = " ".join(f"{name}={value}" for name, value in constraint.items() if name != "mode")
    return Setting(label, _oem(0.6, **constraint))


def _tuned() -> list[Setting]:
    joint = [
        Setting(f"rho={rho} scale={scale}", _oem(rho, scale))
        for rho in (0.6, 0.7, 0.8, 0.9, 1.0)
        for scale in (0.1, 0.3, 1.0)
    ]
    return joint + [Setting(f"rho={rho} recentred", _oem(rho, m_step="recentred")) for rho in (0.6, 0.8, 0.9, 1.0)]


def _class(past: float, balanced: bool) -> Setting:
    label = f"past={past}" + (" balanced" if balanced else "")
    return Setting(label, lambda first, rank: ClassPPCA(first, rank, block=1, past=past, balanced=balanced))


def _exact(exponent: float, sketch: int) -> Setting:
    schedule = Schedule(exponent)
    return Setting(f"rho={exponent}", lambda first, rank: NaturalPPCA(first, rank, schedule, block=1, sketch=sketch))


FAMILIES = (
    Family(BASELINE, [Setting("rho=0.6 scale=1", _oem(0.6))]),
    Family(TUNED, _tuned()),
    Family("oEM averaged", [Setting(f"rho={rho} from=100", _oem(rho, average_from=100)) for rho in (0.6, 0.8, 1.0)]),
    Family("oEM constant", [Setting(f"gamma={rate}", _oem(0.0, rate)) for rate in (0.005, 0.01, 0.02, 0.05)]),
    Family("Nat-oEM step kl", [_nat(form="kl", mode="step", beta=beta) for beta in (10, 30, 100, 300)]),
    Family(
        "Nat-oEM step implicit",
        [_nat(form="implicit", mode="step", metric="identity", beta=beta) for beta in (10, 30, 100)]
        + [_nat(form="implicit", mode="step", metric="complete", beta=beta) for beta in (100, 1000)],
    ),
    Family("Nat-oEM step literal", [_nat(form="literal", mode="step", beta=beta) for beta in (1, 3, 10)]),
    Family("Nat-oEM class kl", [_nat(form="kl", mode="class", beta=beta) for beta in (0.3, 1, 3)]),
    Family("Nat-oEM class literal", [_nat(form="literal", mode="class", beta=beta) for beta in (1, 3, 10, 30)]),
    Family("exact step", [_exact(0.9, 1), _exact(1.0, 1)]),
    Family("exact step, 2 rank", [_exact(0.9, 2), _exact(1.0, 2)]),
    Family("exact class", [_class(1.0, False), _class(0.35, False), _class(1.0, True)]),
)
"""All contenders; the Nat-oEM families keep the step size of the slides' baseline."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A family's chosen setting and what became of it on the test rows, one entry a seed.

    Attributes:
        family: its name.
        chosen: label of the setting, or why there is none.
        runs: one a task; empty if no setting could be run.
    """

    family: str
    chosen: str
    runs: list[Any]

    def values(self, name: str) -> Array:
        """A figure of all runs."""
        return np.array([getattr(run, name) for run in self.runs], np.float64)


def run_shuffled(tasks: Sequence[Task], family: Family) -> Outcome:
    """The iid evaluation; chosen is what reaches the target soonest on validation, then what is higher after a pass."""

    def worth(runs: list[Shuffled]) -> tuple[float, float]:
        never = 2.0 * max(float(run.seen[-1]) for run in runs)
        late = np.mean([min(run.to_target, never) for run in runs])
        return -float(late), float(np.mean([run.one_pass for run in runs]))

    return _run(tasks, family, shuffled, worth)


def run_incremental(tasks: Sequence[Task], family: Family, goal: str = "sum") -> Outcome:
    """The evaluations class by class; the setting highest on validation in one figure of `Incremental`, or their sum.

    Args:
        tasks: one a seed.
        family: whose settings are tried.
        goal: `final`, `earlier`, or `sum` of final, earlier and learned.
    """

    def worth(runs: list[Incremental]) -> float:
        names = ("final", "earlier", "learned") if goal == "sum" else (goal,)
        return float(np.mean([getattr(run, name) for run in runs for name in names]))

    return _run(tasks, family, incremental, worth)


def _run(
    tasks: Sequence[Task], family: Family, evaluate: Callable[..., Any], worth: Callable[[list[Any]], Any]
) -> Outcome:
    best, chosen, unstable = None, None, ""
    for setting in family.settings:
        try:
            value = worth([evaluate(task, setting.make, task.validation) for task in tasks])
        except ConfigError as error:  # a literal step beyond its stability bound is no candidate
            unstable = str(error)
            continue
        if best is None or value > best:
            best, chosen = value, setting
    if chosen is None:
        return Outcome(family.name, unstable, [])
    return Outcome(family.name, chosen.label, [evaluate(task, chosen.make, task.test) for task in tasks])
