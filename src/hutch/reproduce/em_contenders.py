"""The learners that the evaluations of Nat-oEM compare, and the choice of their settings on validation."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from hutch.core.errors import ConfigError
from hutch.em.base.learner import Learner
from hutch.em.base.model import Array
from hutch.em.base.schedule import Schedule
from hutch.em.constrained.natural import NaturalPPCA
from hutch.em.constrained.natural_class import ClassPPCA
from hutch.em.engine import OnlineEM
from hutch.em.nat_oem import NatOEM
from hutch.em.ppca.model import PPCA, PPCAParameters
from hutch.reproduce.em_evaluation import Incremental, Labelled, Make, Shuffled, Task, incremental, shuffled

Evaluate = Callable[[Task, Make, Labelled], Any]
Worth = Callable[[list[Any]], Any]
BASELINE = "oEM k^-0.6"
TUNED = "oEM tuned"
GOALS = {"final": ("final",), "earlier": ("earlier",), "sum": ("final", "earlier", "learned")}
"""Criteria for the choice of tuned online EM: figures of `Incremental`, summed."""


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
    label = " ".join(f"{name}={value}" for name, value in constraint.items() if name not in ("mode", "form"))
    return Setting(label, _oem(0.6, **constraint))


def _tuned() -> list[Setting]:
    joint = [
        Setting(f"exponent={exponent} scale={scale}", _oem(exponent, scale))
        for exponent in (0.6, 0.7, 0.8, 0.9, 1.0)
        for scale in (0.1, 0.3, 1.0)
    ]
    return joint + [
        Setting(f"exponent={exponent} recentred", _oem(exponent, m_step="recentred"))
        for exponent in (0.6, 0.8, 0.9, 1.0)
    ]


def _class(past: float, balanced: bool) -> Setting:
    label = f"past={past}" + (" balanced" if balanced else "")
    return Setting(label, lambda first, rank: ClassPPCA(first, rank, block=1, past=past, balanced=balanced))


def _exact(exponent: float, sketch: int) -> Setting:
    schedule = Schedule(exponent)
    return Setting(
        f"exponent={exponent}", lambda first, rank: NaturalPPCA(first, rank, schedule, block=1, sketch=sketch)
    )


FAMILIES = (
    Family(BASELINE, [Setting("exponent=0.6", _oem(0.6))]),
    Family(TUNED, _tuned()),
    Family(
        "oEM averaged",
        [Setting(f"exponent={exponent} from=100", _oem(exponent, average_from=100)) for exponent in (0.6, 0.8, 1.0)],
    ),
    Family("oEM constant", [Setting(f"gamma={rate}", _oem(0.0, rate)) for rate in (0.005, 0.01, 0.02, 0.05)]),
    Family("Nat-oEM step kl", [_nat(form="kl", mode="step", beta=beta) for beta in (10, 30, 100, 300)]),
    Family(
        "Nat-oEM step implicit",
        [_nat(form="implicit", mode="step", metric="identity", beta=beta) for beta in (10, 30, 100)]
        + [_nat(form="implicit", mode="step", metric="complete", beta=beta) for beta in (100, 1000)],
    ),
    Family("Nat-oEM step literal", [_nat(form="literal", mode="step", beta=beta) for beta in (0.1, 0.3, 1, 3, 10)]),
    Family("Nat-oEM class kl", [_nat(form="kl", mode="class", beta=beta) for beta in (0.3, 1, 3)]),
    Family("Nat-oEM class literal", [_nat(form="literal", mode="class", beta=beta) for beta in (0.3, 1, 3, 10, 30)]),
    Family("exact step", [_exact(0.9, 1), _exact(1.0, 1)]),
    Family("exact step, 2 rank", [_exact(0.9, 2), _exact(1.0, 2)]),
    Family("exact class", [_class(1.0, False), _class(0.35, False), _class(1.0, True)]),
)
"""All contenders; the Nat-oEM families keep the step size of the slides' baseline."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A family's chosen setting and its results on the test rows, one entry per seed.

    Attributes:
        family: its name.
        chosen: label of the setting, or the reason why there is none.
        runs: one per task; empty if no setting could be run.
    """

    family: str
    chosen: str
    runs: list[Any]

    def values(self, name: str) -> Array:
        """A figure of all runs."""
        return np.array([getattr(run, name) for run in self.runs], np.float64)


class Trials:
    """A family's settings, each run for all tasks and scored on validation rows.

    Attributes:
        tried: setting and runs; literal steps beyond their stability bound drop out.
    """

    def __init__(self, tasks: Sequence[Task], family: Family, evaluate: Evaluate) -> None:
        self.tried: list[tuple[Setting, list[Any]]] = []
        self._tasks, self._family, self._evaluate, self._unstable = tasks, family.name, evaluate, ""
        for setting in family.settings:
            try:
                self.tried.append((setting, [evaluate(task, setting.make, task.validation) for task in tasks]))
            except ConfigError as error:
                self._unstable = str(error)

    def best(self, worth: Worth) -> Outcome:
        """Run the setting of highest worth again, scored on test rows."""
        if not self.tried:
            return Outcome(self._family, self._unstable, [])
        best = max(self.tried, key=lambda trial: worth(trial[1]))[0]
        return Outcome(self._family, best.label, [self._evaluate(task, best.make, task.test) for task in self._tasks])


def compare_shuffled(tasks: Sequence[Task], family: Family) -> Outcome:
    """The iid evaluation; it chooses the setting that first reaches the validation target, then by final value."""

    def worth(runs: list[Shuffled]) -> tuple[float, float]:
        never = 2.0 * max(float(run.seen[-1]) for run in runs)
        late = np.mean([min(run.to_target, never) for run in runs])
        return -float(late), float(np.mean([run.one_pass for run in runs]))

    return Trials(tasks, family, shuffled).best(worth)


def compare_incremental(tasks: Sequence[Task], families: Sequence[Family]) -> Iterator[Outcome]:
    """The evaluations class by class.

    Tuned online EM enters three times, chosen for the final, the earlier and the sum of all figures. Every other family
    is chosen for final + earlier among the settings that learn new classes no worse, less 2 nats, than the best of
    these three: neither forgetting nor plasticity can be bought with the other.
    """
    trials = {family.name: Trials(tasks, family, incremental) for family in families}
    least, outcomes = -np.inf, {}
    for goal, names in GOALS.items():
        trial = trials[TUNED]

        def worth(runs: list[Incremental], names: tuple[str, ...] = names) -> float:
            return sum(_mean(runs, name) for name in names)

        outcomes[goal] = trial.best(worth)
        least = max(least, _mean(max((runs for _, runs in trial.tried), key=worth), "learned") - 2)

    def held(runs: list[Incremental]) -> tuple[bool, float]:
        learned = _mean(runs, "learned")
        plastic = learned >= least
        return plastic, _mean(runs, "final") + _mean(runs, "earlier") if plastic else learned

    for name, trial in trials.items():
        if name == TUNED:
            yield from (replace(outcome, family=f"{TUNED} for {goal}") for goal, outcome in outcomes.items())
        else:
            yield trial.best(held)


def _mean(runs: list[Incremental], name: str) -> float:
    return float(np.mean([getattr(run, name) for run in runs]))
