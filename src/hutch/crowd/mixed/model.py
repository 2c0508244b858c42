"""The model of mixed crowds: judges predict, people are the crowd, every label is judged without itself."""

import re
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import UsageError, did_you_mean
from hutch.core.parameters import Within
from hutch.crowd.data.degrees import are_degrees
from hutch.crowd.data.labels import Labels
from hutch.crowd.mixed import forecast, kernels, panel
from hutch.crowd.models.confusion_kernels import add_labels
from hutch.crowd.models.model import (
    Array,
    CrowdModel,
    Fit,
    InProcess,
    Over,
    Parameters,
    State,
    Sums,
    grown,
    without_own,
)

_MAGIC = re.compile(r"[*?\[]")  # marks a pattern as a glob
NO_REFERENCE = "mixed: wanted a reference: whose labels define the classes (--reference NAME)"
NO_JUDGES = "--reference: every worker is one; leave it out where all workers are alike"
ROW, RIGHT, PERSON = 5.0, 0.7, 10.0
"""Pseudo-counts of the pooled row of people; its diagonal before anything is known; of the pooled row in a person's."""
GUARD, WEAK, LEAST, MOST = 0.4, 0.1, 0.15, 0.95
"""Where judges explain nothing of people's labels, people are right with GUARD by themselves; explained WEAK: LEAST."""
UNSUPPORTED = 0.2
"""Mass spread over all classes where judges explain nothing of people's labels: either may be wrong, and none knows."""


class MixedParameters(Parameters):
    """Parameters of `Mixed`.

    Attributes:
        reference: names or globs of the workers whose labels define the classes.
        people_rho: correlation of the errors of people on one item.
        ordered: classes are ordered; None: if they are 3 to 12 whole numbers.
        seed: of the divisions into folds.
        least_accuracy: without a reference, as of `TwoLevel`.
    """

    iterations: Annotated[int, Within(ge=1, le=100_000)] = 10
    rho: Annotated[float, Within(ge=0)] = 0.0
    reference: tuple[str, ...] = ()
    people_rho: Annotated[float, Within(ge=0)] = 0.3
    ordered: bool | None = None
    seed: Annotated[int, Within(ge=0)] = 0
    least_accuracy: Annotated[float, Within(ge=0, le=1)] | None = None

    def __post_init__(self) -> None:
        if self.class_prior is not None:
            raise ValueError("class_prior: got one, but mixed takes the shares of classes from the people's labels")


class Mixed(CrowdModel):
    """Crowds of people and judges.

    The labels of judges predict a person's label (`forecast`); this forecast is each item's prior in the crowd
    model of the people, whose rows are counted with the posterior without the label at hand:

        q_i ~ f_i prod_p H_p[., h_ip]^r,   r = 1 / (1 + rho (m_i - 1)),   H <- (1 - t) H + t I

    H_p is shrunk to the pooled row of all people. The guard t is high where judges explain little of people's labels:
    judges who predict nothing cannot judge people either. Gold is the class where it is known, and for the forecast
    one person's label.
    """

    name = "mixed"
    summary = "people and judges: judges' labels forecast what people would say"
    wants_people = True
    room: ClassVar[tuple[int, int]] = (15, 12)
    online = "hutch.crowd.mixed.stream:MixedStream"
    Parameters: ClassVar[type[Parameters]] = MixedParameters
    parameters: MixedParameters
    alone: panel.Alone | None = None
    """Keeps what judges alone say for runs on labels that differ in their gold only; None: nothing is kept."""

    def fit(self, labels: Labels, history: State | None = None, over: Over = InProcess) -> Fit:
        """Batch EM of people and judges; either may be missing if there is a history."""
        if history is None and len(labels) and self.parameters.reference:
            check_both(labels, self.parameters.reference)
        return super().fit(labels, history, over)

    def start(self, labels: Labels, history: State | None) -> State:
        """The forecast, cross-fitted; people are right with .7."""
        return self._start(labels, history, learn=True)

    def infer(self, labels: Labels, history: State) -> Fit:
        """Posteriors from what earlier runs learned, without learning from these labels."""
        state = self._start(labels, history, learn=False)
        objective, _ = self.expect(labels, state, learned=False)
        return Fit(state, self.posterior(state), 0, objective, True, self.informative(state))

    def _start(self, labels: Labels, history: State | None, learn: bool) -> State:
        reference = matches(labels.worker_names, self.parameters.reference)
        people, judges = labels.chosen(reference[labels.workers]), labels.chosen(~reference[labels.workers])
        alone = not self.parameters.reference
        state = _grown_state(labels, history)
        before = _judging(state, ~reference)
        compact = replace(judges, workers=(np.cumsum(~reference) - 1).astype(np.int32)[judges.workers])
        ordered = self.ordered(labels.classes)
        if alone:
            log_forecast = panel.forecast(labels, state, history, learn, self.parameters.least_accuracy, self.alone)
            if learn:
                np.add.at(state.workers["said"], (labels.workers, labels.labels), 1.0)
        elif learn and len(labels):
            log_forecast, after = forecast.learn(compact, targets(people), before, ordered, self.parameters.seed)
            _store(state, ~reference, after)
            state.shared["explained"] += explained(people, log_forecast)
            np.add.at(state.workers["said"], (people.workers, people.labels), 1.0)
        else:
            log_forecast = forecast.apply(compact, before, ordered)
        state.items = {"forecast": log_forecast, "posterior": np.exp(log_forecast)}
        classes = len(labels.classes)
        coins = np.log(RIGHT * np.eye(classes) + (1 - RIGHT) / max(classes, 1))
        state.labels["said"] = coins[labels.labels]
        state.scratch["counts"] = state.workers["counts"].copy()
        state.scratch["judge"] = (~reference).astype(np.float64)
        return state

    def improve(self, labels: Labels, state: State, done: int = 0, over: Over = InProcess) -> Fit:
        """As for every model; then each worker's expected labels under the last posteriors."""
        fit = super().improve(labels, state, done, over)
        if fit.iterations > done:
            q = state.items["posterior"]
            state.shared["class_counts"] += q.sum(axis=0)
            add_labels(labels.item_ptr, labels.workers, labels.labels, q, state.workers["expected"])
        return fit

    def count(self, labels: Labels, state: State) -> Sums:
        """Rows of people, counted with the posteriors that leave each label out."""
        counts = np.zeros_like(state.workers["counts"])
        kernels.count_people(
            labels.item_ptr, labels.workers, labels.labels, labels.gold, state.scratch["judge"] > 0,
            state.items["forecast"], state.labels["said"], self.parameters.people_rho, counts,
        )  # fmt: skip
        return {"counts": counts}

    def settle(self, state: State, sums: Sums) -> None:
        """Rows of the history plus these, which are 0 for judges."""
        np.add(state.scratch["counts"], sums["counts"], out=state.workers["counts"])

    def expect(self, labels: Labels, state: State, learned: bool) -> tuple[float, float]:
        """q from the forecast and the people's labels."""
        counts, pooled, trust = state.workers["counts"], self._pooled(state), guard(state.shared["explained"])
        objectives = np.empty(labels.items)
        change = kernels.expect(
            labels.item_ptr, labels.workers, labels.labels, labels.gold, state.scratch["judge"] > 0,
            state.items["forecast"], counts, counts.sum(axis=1), pooled, PERSON, trust, learned,
            self.parameters.people_rho, state.labels["said"], objectives, state.items["posterior"],
        )  # fmt: skip
        return float(objectives.sum() / max(labels.items, 1)), change

    def reference(self, names: list[str]) -> NDArray[np.bool_] | None:
        """The people; copies among judges are handled by their exponents."""
        return matches(names, self.parameters.reference) if self.parameters.reference else None

    def posterior(self, state: State) -> Array:
        """The posteriors."""
        return state.items["posterior"]

    def probability(self, labels: Labels, fit: Fit) -> Array:
        """The posteriors, spread over all classes where nothing supports the people: see `UNSUPPORTED`."""
        found = super().probability(labels, fit)
        if not self.parameters.reference:
            return found
        blind = min(max((guard(fit.state.shared["explained"]) - LEAST) / (GUARD - LEAST), 0.0), 1.0)
        spread = np.where(labels.gold < 0, UNSUPPORTED * blind, 0.0)[:, None]
        return np.asarray((1 - spread) * found + spread / max(found.shape[1], 1))

    def confusions(self, state: State) -> Array:
        """Expected labels of every worker under the posteriors, smoothed.

        The model itself uses less: channels predict people's labels, and a person's row leaves the label at
        hand out, so both hold errors of other people.
        """
        rows = forecast.channels(state.workers["expected"], state.workers["said"], ordered=False)
        return np.ascontiguousarray(rows.transpose(0, 2, 1))

    def class_prior(self, state: State) -> Array:
        """Class counts plus one each."""
        counts = state.shared["class_counts"] + 1
        return np.asarray(counts / counts.sum())

    def factors(self, state: State) -> Array:
        """Of judges (P(label | class) / P(label))^e, of people their rows, those of a first label on an item."""
        if not self.parameters.reference:
            return np.asarray(np.exp(state.scratch["factor"]))
        reference, people = state.scratch["judge"] == 0, state.workers["counts"]
        lifts = forecast.lift(people, state.workers["said"], self.ordered(state.classes))
        factor = np.exp(state.workers["exponent"][:, None, None] * lifts)
        rows, trust = people[reference] + PERSON * self._pooled(state), guard(state.shared["explained"])
        right = np.eye(len(state.classes))
        factor[reference] = (1 - trust) * rows / rows.sum(axis=1, keepdims=True) + trust * right
        return np.asarray(factor)

    def others(self, labels: Labels, state: State, learned: bool = True) -> Array:
        """The posterior over each label's own factor: P(label | class), to the power in which it counts."""
        if not self.parameters.reference:
            return without_own(
                labels, self.posterior(state), np.exp(state.scratch["factor"][labels.workers, labels.labels])
            )
        factor = self.factors(state)[labels.workers, labels.labels]
        mine = state.scratch["judge"][labels.workers] == 0
        people = labels.chosen(mine)
        ratings = np.diff(people.item_ptr)[people.label_items]
        rate = 1 / (1 + self.parameters.people_rho * (ratings - 1))
        factor[mine] = np.exp(rate[:, None] * state.labels["said"][mine])
        return without_own(labels, self.posterior(state), factor)

    def ordered(self, classes: list[str]) -> bool:
        """Whether the classes are ordered."""
        return are_degrees(classes) if self.parameters.ordered is None else self.parameters.ordered

    def _pooled(self, state: State) -> Array:
        """P(label | class) of all people (labels, classes)."""
        reference = state.scratch["judge"] == 0
        counts, said = (state.workers[name][reference].sum(axis=0) for name in ("counts", "said"))
        habit = said + 1.0
        pooled = counts + ROW * (RIGHT * np.eye(len(said)) + (1 - RIGHT) * (habit / habit.sum())[:, None])
        return np.asarray(pooled / pooled.sum(axis=0))


def matches(names: list[str], patterns: tuple[str, ...]) -> NDArray[np.bool_]:
    """Which names are one of the patterns: names, or globs with `*`, `?` and `[...]`.

    >>> matches(["ann", "gpt-4", "worker_1"], ("ann", "worker_*")).tolist()
    [True, False, True]
    """
    plain = {pattern for pattern in patterns if not _MAGIC.search(pattern)}
    globs = [pattern for pattern in patterns if pattern not in plain]
    return np.array([n in plain or any(n == g or fnmatchcase(n, g) for g in globs) for n in names], np.bool_)


def check_both(labels: Labels, patterns: tuple[str, ...]) -> None:
    """Raise UsageError if a pattern matches no worker, or if there are no judges."""
    for pattern in patterns:
        if not matches(labels.worker_names, (pattern,)).any():
            raise UsageError(f"--reference: no worker is {pattern!r}; {did_you_mean(pattern, labels.worker_names)}")
    if matches(labels.worker_names, patterns)[labels.workers].all():
        raise UsageError(NO_JUDGES)


def targets(people: Labels) -> Array:
    """People's votes (items, classes), gold as one vote; zeros without any."""
    weight = np.where(people.gold >= 0, 1.0, np.diff(people.item_ptr).astype(np.float64))
    return np.asarray(people.vote_share(gold=True) * weight[:, None])


def explained(people: Labels, log_forecast: Array) -> Array:
    """The share of people's labels that forecasts explain, as sums over the labels.

    Args:
        people: their labels.
        log_forecast: cross-fitted (items, classes).

    Returns:
        float64 (4): labels, sums of g = f_i[h_i] - sum_k pi_k f_i[k] and of g^2, the most that the first may be.
    """
    f = np.exp(log_forecast)
    share = f.mean(axis=0)
    gain = f[people.label_items, people.labels] - (f @ share)[people.label_items]
    return np.array([len(gain), gain.sum(), gain @ gain, len(gain) * (1 - float(share @ share))])


def guard(sums: Array) -> float:
    """The rate at which people are right independently of judges: high where forecasts explain little of their labels.

    Args:
        sums: `explained`; explained is the mean gain, less one standard error, over the most.
    """
    labels, gains, squares, most = sums
    if not labels:
        return GUARD
    mean = gains / labels
    error = np.sqrt(max(squares / labels - mean**2, 0.0) / labels)
    return float(min(max(LEAST, GUARD * (1 - (mean - error) / max(most / labels, 1e-9) / WEAK)), MOST))


def _grown_state(labels: Labels, history: State | None) -> State:
    """The arrays of the history, grown to the present workers and classes."""
    workers, classes = len(labels.worker_names), len(labels.classes)
    old = history or State([], [])
    return State(
        labels.classes,
        labels.worker_names,
        workers={
            "counts": grown(old.workers.get("counts"), (workers, classes, classes)),
            "expected": grown(old.workers.get("expected"), (workers, classes, classes)),
            "said": grown(old.workers.get("said"), (workers, classes)),
            "exponent": grown(old.workers.get("exponent"), (workers,), -1.0),
            "precision": grown(old.workers.get("precision"), (workers,)),
        },
        shared={
            "targets": grown(old.shared.get("targets"), (classes,)),
            "class_counts": grown(old.shared.get("class_counts"), (classes,)),
            "class_exponent": grown(old.shared.get("class_exponent"), (2,)) + (0 if history else np.array([1.0, 0.0])),
            "explained": grown(old.shared.get("explained"), (4,)),
        },
    )


def _judging(state: State, judges: NDArray[np.bool_]) -> forecast.Judging:
    """A state's statistics of the judges; new ones start from the design effect of all."""
    workers, shared = state.workers, state.shared
    start = forecast.fresh(int(judges.sum()), len(state.classes))
    exponents, precision = start.exponents, start.precision
    known = workers["exponent"][judges]
    exponents[1:] = np.where(known >= 0, known, exponents[1:])
    precision[1:] = workers["precision"][judges]
    exponents[0], precision[0] = shared["class_exponent"]
    return forecast.Judging(workers["counts"][judges], workers["said"][judges], shared["targets"], exponents, precision)


def _store(state: State, judges: NDArray[np.bool_], found: forecast.Judging) -> None:
    workers, shared = state.workers, state.shared
    workers["counts"][judges], workers["said"][judges] = found.counts, found.said
    workers["exponent"][judges], workers["precision"][judges] = found.exponents[1:], found.precision[1:]
    shared["targets"][...] = found.targets
    shared["class_exponent"][...] = found.exponents[0], found.precision[0]
