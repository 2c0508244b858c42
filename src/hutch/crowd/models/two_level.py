"""The default model: hierarchical Dawid-Skene with clear and murky items and a leave-one-out E step."""

from collections.abc import Mapping
from dataclasses import astuple, replace
from typing import Annotated, ClassVar

import numpy as np

from hutch.core.chain.limits import Limits
from hutch.core.parameters import Within
from hutch.crowd.data.labels import Labels
from hutch.crowd.models import two_level_kernels as kernels
from hutch.crowd.models.calibration import tempered, towards_prior
from hutch.crowd.models.dawid_skene import DawidSkene, DawidSkeneParameters
from hutch.crowd.models.model import Array, CrowdModel, Fit, InProcess, Over, Parameters, State, Sums, grown
from hutch.crowd.models.one_coin import OneCoin, OneCoinParameters
from hutch.crowd.models.trust import (
    DIVISIONS,
    DIVISIONS_OF_MANY,
    FLOOR,
    MANY,
    Trust,
    errors_in_common,
    exponent_of_halves,
    items_enough,
    size_of,
    some_of,
)

CLARITIES = (0.15, 1.0, 0.4, 0.05)
"""Candidates for `clarity` if it is not given; the first if there is no choice. With 1 there are no murky items."""
_TRIAL, _START = 3, 6  # iterations after which one of them is chosen, and then one of two ways to start
_MOST_TRIED = 250_000  # labels to which the first choice looks; with fewer of each worker it would be another
_CLEAR_START = 0.9  # assumed clarity of items at that start
_DAWID_SKENE = 20  # iterations that make the other start
_MARGIN = 2.0  # nats by which coins must predict labels better than rows
_GAP = 0.15  # nats per label by which coins may predict worse, and yet be averaged into the posteriors
_ALIKE = 0.85  # and the least share of items on which both must agree
_FEW = 3  # and a worker labels at most one of so many items
_COINS = 0.3  # weight of coins then
_COIN_ALONE, _COIN_FLOOR = 1e9, 0.01  # strength of a coin that is all there is; mass spread over all classes then
_SHARE, _ITEMS = 4, 1000.0  # the other start keeps 1 / (4 + items / 1000) of the posteriors that result


class TwoLevelParameters(Parameters):
    """Parameters of `TwoLevel`.

    Attributes:
        clarity: share of answers to a murky item that its class decides; None: 0.15, in batch 0.15,
            1, 0.4 or 0.05, whichever predicts labels best.
        habit_strength: pseudo-counts of a worker's habit.
        class_anchor: weight of the vote shares in the class prior.
        warm_up: online: labels of a worker until posteriors weigh as much as a rule of votes.
        drift: online: a worker's labels lose this share of their weight per label of the stream.
        judges: in batch: all workers are judges such as language models, whose errors have so much in common that
            probabilities are drawn towards equal shares; those of people are drawn towards the shares of the classes.
        least_accuracy: of judges: share of items in which the panel is surely right; None: .5, of more than 20 judges
            .77. See `insurance`.
    """

    iterations: Annotated[int, Within(ge=1, le=100_000)] = 12
    clarity: Annotated[float, Within(ge=0, le=1)] | None = None
    habit_strength: Annotated[float, Within(gt=0)] = 15.0
    class_anchor: Annotated[float, Within(ge=0)] = 0.2
    warm_up: Annotated[int, Within(ge=0)] = 10
    drift: Annotated[float, Within(ge=0, le=1)] = 0.0
    judges: bool = False
    least_accuracy: Annotated[float, Within(ge=0, le=1)] | None = None


class TwoLevel(CrowdModel):
    """Workers have confusion rows and habits; items are clear or murky.

    The rows' prior lies between the population's confusion and a coin of the worker's skill, with learned
    strengths: with little evidence about a worker it is close to one-coin, with much it is Dawid-Skene. The
    murky level corresponds to Mineiro's item difficulty. See `two_level_kernels` for the arithmetic.

    How murky murky items are differs from crowd to crowd. In batch, the model takes the one of `CLARITIES` under which
    each label is predicted best by the other labels; the truth plays no part in it. By the same measure, workers are
    plain coins where their rows add no information and no common errors are seen.
    """

    name = "two_level"
    summary = "hierarchical Dawid-Skene with clear and murky items (default)"
    room: ClassVar[tuple[int, int]] = (9, 6)
    online = "hutch.crowd.models.any_order_stream:AnyOrderStream"
    any_order: ClassVar[bool] = True
    Parameters: ClassVar[type[Parameters]] = TwoLevelParameters
    limits: ClassVar[Mapping[str, Limits]] = {
        **dict.fromkeys(("skill", "population", "habit_prior", "trust"), Limits(0, 1 + 1e-6)),
        **dict.fromkeys(("counts", "rows", "habits", "masses", "strengths"), Limits(-1e-6)),
        **dict.fromkeys(("class_counts", "level_counts"), Limits(least=-1e-6)),
    }
    parameters: TwoLevelParameters

    def start(self, labels: Labels, history: State | None) -> State:
        """Vote shares as posteriors, and the history's counts unchanged."""
        workers, classes = len(labels.worker_names), len(labels.classes)
        state = empty_crowd(workers, labels.classes, self.parameters, history)
        state.worker_names = labels.worker_names
        state.shared["trust"] = grown(history.shared.get("trust") if history else None, (4,))
        for name in ("counts", "habits"):
            state.scratch[name] = state.workers[name].copy()
        votes = labels.vote_share(gold=True)
        anchor = self.parameters.class_anchor * votes.sum(axis=0)
        state.scratch["class_counts"] = state.shared["class_counts"] + anchor
        state.scratch["level_counts"] = state.shared["level_counts"].copy()
        state.items["posterior"] = np.empty((labels.items, 2 * classes))
        kernels.start_posteriors(votes, state.items["posterior"])
        state.scratch["shares"] = np.empty((workers, classes, classes))
        kernels.refresh_shares(crowd_of(state), classes, flat(state.scratch["shares"]))
        state.scratch["counted_shares"] = state.scratch["shares"].copy()
        return state

    def fit(self, labels: Labels, history: State | None = None, over: Over = InProcess) -> Fit:
        """Batch EM, after a choice of `clarity` and start unless clarity is given or the iterations are too few.

        EM finds the maximum next to its start. Vote shares mislead where few workers do most of the work or label
        against the truth, so the posteriors of `DawidSkene` are tried as well; the start that predicts labels better
        is continued. If that is Dawid-Skene's, its posteriors are averaged with those that EM makes of them: both
        explain the labels, and where a small crowd cannot tell them apart the average errs less. Where labels are few,
        `OneCoin` is tried, too. A history settles clarity and start.
        """
        given = self.parameters.clarity is not None or history is not None
        if given or not len(labels) or self.parameters.iterations <= _START:
            return super().fit(labels, history, over)
        some = some_of(labels, _MOST_TRIED)
        clarity = max(CLARITIES, key=lambda clarity: self._try(some, clarity, _TRIAL, over=over)[0])
        known = DawidSkeneParameters(iterations=_DAWID_SKENE, class_prior=self.parameters.class_prior)
        other = DawidSkene.of(known)
        rival = other.fit(labels, None, over).posterior
        predicted, state = self._try(labels, clarity, _START, None, over)
        otherwise, rival_state = self._try(labels, clarity, _START, rival, over)
        from_votes = predicted >= otherwise
        state = state if from_votes else rival_state
        del rival_state  # as large as the posteriors of all items
        found = self.improve(labels, state, _START, over)
        kept = 1 / (_SHARE + labels.items / _ITEMS)
        found = found if from_votes else self._average(labels, found, rival, kept, over)
        return found if len(labels) > MANY else self._or_coins(labels, found, over)

    def probability(self, labels: Labels, fit: Fit) -> Array:
        """Tempered posteriors; how far to trust them is estimated once and kept."""
        if self.parameters.rho is not None or not len(labels) or "trust" not in fit.state.shared:
            return super().probability(labels, fit)
        trust, counts = fit.state.shared["trust"], np.diff(labels.item_ptr)
        if not trust.any():
            found = self._trust(some_of(labels), fit.state, many=len(labels) > MANY)
            trust[...] = astuple(self._insured(labels, fit, found) if self.parameters.judges else found)
        known, prior = Trust(*trust.tolist()), self.class_prior(fit.state)
        if not self.parameters.judges:
            votes = labels.vote_share() * counts[:, None]
            enough = items_enough(labels.items)
            prior = enough * prior + (1 - enough) / len(prior)
            return towards_prior(
                fit.posterior, prior, known.exponents_of_people(counts), votes, known.floor, 2 * known.floor * enough
            )
        return self._of_judges(labels, fit, known)

    def _of_judges(self, labels: Labels, fit: Fit, known: Trust) -> Array:
        """Posteriors of judges drawn towards equal shares."""
        prior = self.class_prior(fit.state)
        found = tempered(fit.posterior, known.exponents(np.diff(labels.item_ptr)), known.floor)
        lean = known.floor * known.size * known.halves
        leaned = found + lean * (prior - 1 / len(prior))  # errors are rare where classes are
        same = leaned.argmax(axis=1) == found.argmax(axis=1)
        return np.where(same[:, None], leaned, found)

    def _insured(self, labels: Labels, fit: Fit, known: Trust) -> Trust:
        """The trust in judges, who may err together: see `insurance`."""
        from hutch.crowd.models import insurance  # not at the top: most crowds are of people

        own, few = self.parameters.least_accuracy, insurance.judges_of(labels) <= insurance.FEW
        right = own if own is not None else insurance.LEAST_ACCURACY if few else insurance.LEAST_OF_MANY
        shown, known = insurance.evidence(labels), replace(known, floor=FLOOR)

        def under(factor: float) -> Array:
            return self._of_judges(labels, fit, replace(known, size=known.size * shown * factor))

        kept = max(shown * insurance.insured(under, right), insurance.SMALLEST)
        return replace(known, size=known.size * kept)

    def _trust(self, labels: Labels, state: State, many: bool) -> Trust:
        """How far the posteriors of a fit can be trusted; with less work for some of many labels."""
        strengths, prior = state.shared["strengths"], self.class_prior(state)
        divisions, iterations = (DIVISIONS_OF_MANY, _START) if many else (DIVISIONS, self.parameters.iterations)
        model = TwoLevel.of(replace(self.parameters, clarity=float(strengths[kernels.CLARITY]), iterations=iterations))
        rows = self.confusions(state)
        halves = exponent_of_halves(labels, prior, rows, lambda part: model.fit(part).posterior, divisions)
        coins = strengths[kernels.POPULATION] == 0
        return Trust(size_of(labels), halves, *((0.0, _COIN_FLOOR) if coins else ()))

    def _or_coins(self, labels: Labels, found: Fit, over: Over) -> Fit:
        """The run, or coins if they predict labels better than it does, and no common errors are seen then.

        Where workers see few of the items, rows predict labels hardly better and agree on most items, labels
        cannot decide between the two, and coins are averaged into the posteriors.
        """
        own = self.parameters
        known = OneCoinParameters(class_prior=own.class_prior, class_anchor=own.class_anchor, habits=False)
        model = OneCoin.of(known)
        coins, state = model.fit(labels), found.state
        gain = model.predicted(labels, coins.state) - self.predicted(labels, state)
        if gain < _MARGIN:
            alike = (coins.posterior.argmax(axis=1) == found.posterior.argmax(axis=1)).mean() >= _ALIKE
            few = _FEW * len(labels) < labels.items * np.count_nonzero(np.bincount(labels.workers))
            close = few and alike and gain > -_GAP * len(labels)
            return self._average(labels, found, coins.posterior, _COINS, over) if close else found
        seen, error = errors_in_common(labels, coins.posterior, model.confusions(coins.state))
        if seen >= 2 * error:
            return found
        classes = len(labels.classes)
        state.items["posterior"][:, :classes], state.items["posterior"][:, classes:] = coins.posterior, 0.0
        self.settle(state, self.count(labels, state))
        state.workers["skill"][...] = model.skill(coins.state)
        state.shared["strengths"][[kernels.POPULATION, kernels.COIN, kernels.CLARITY]] = 0.0, _COIN_ALONE, 1.0
        kernels.refresh_shares(crowd_of(state), classes, flat(state.scratch["shares"]))
        return replace(found, posterior=self.posterior(state), informative=self.informative(state))

    def _average(self, labels: Labels, found: Fit, rival: Array, kept: float, over: Over) -> Fit:
        """The run with so much of `rival` in its posteriors, and the workers re-estimated under these."""
        state = found.state
        q, ours = state.items["posterior"].reshape(labels.items, 2, -1), found.posterior[:, None]
        levels = np.empty_like(q)
        levels[...] = level_prior(state)[:, None]
        np.divide(q, ours, out=levels, where=ours > 0)
        levels *= kept * rival[:, None]
        q *= 1 - kept
        q += levels
        self.settle(state, over(self, labels, state).count())
        return replace(found, posterior=self.posterior(state), informative=self.informative(state))

    def _try(
        self, labels: Labels, clarity: float, iterations: int, start: Array | None = None, over: Over = InProcess
    ) -> tuple[float, State]:
        """How well labels are predicted after some iterations, and the state; from vote shares or `start`."""
        model = TwoLevel.of(replace(self.parameters, clarity=clarity, iterations=iterations, tolerance=0.0))
        state = model.start(labels, None)
        if start is not None:
            levels = np.array([_CLEAR_START, 1 - _CLEAR_START])
            state.items["posterior"][...] = (levels[None, :, None] * start[:, None]).reshape(labels.items, -1)
            state.scratch["class_counts"][...] = self.parameters.class_anchor * start.sum(axis=0)
        model.improve(labels, state, 1, over)
        steps = over(model, labels, state)
        model.settle(state, steps.count())
        predicted = steps.total("predicted")
        steps.expect()
        steps.collect()
        return predicted, state

    def predicted(self, labels: Labels, state: State) -> float:
        """Log-probability of each label given the others, after an M step, summed: `two_level_kernels.held_out`."""
        prior = self.class_prior(state)
        return float(kernels.held_out(
            labels.item_ptr, labels.workers, labels.labels, labels.gold, prior[None], level_prior(state), len(prior),
            crowd_of(state), flat(state.scratch["counted_shares"]), state.items["posterior"],
        ))  # fmt: skip

    def count(self, labels: Labels, state: State) -> Sums:
        """Expected labels of rows and habits, and of the classes at each level."""
        sums = {name: np.zeros_like(state.workers[name]) for name in ("counts", "rows", "habits", "masses")}
        sums["totals"] = np.zeros(2 * len(state.classes))
        crowd = crowd_of(replace(state, workers=state.workers | sums))
        kernels.add_labels(
            labels.item_ptr, labels.workers, labels.labels, state.items["posterior"], flat(state.scratch["shares"]),
            len(state.classes), crowd, sums["totals"],
        )  # fmt: skip
        return sums

    def settle(self, state: State, sums: Sums) -> None:
        """Counts, then strengths, skills, population, the priors of classes and levels; the labels' shares last."""
        workers, shared, scratch, classes = state.workers, state.shared, state.scratch, len(state.classes)
        for name, total in (("counts", "rows"), ("habits", "masses")):
            workers[name][...] = scratch[name] + sums[name]
            workers[total][...] = scratch[name].sum(axis=1) + sums[total]
        crowd = crowd_of(state)
        kernels.fit_strengths(crowd, classes, workers["rows"].sum(axis=1) + workers["masses"])
        by_level = sums["totals"].reshape(2, classes)
        shared["class_counts"][...] = scratch["class_counts"] + by_level.sum(axis=0)
        shared["level_counts"][...] = scratch["level_counts"] + by_level.sum(axis=1)
        scratch["counted_shares"][...] = scratch["shares"]
        kernels.refresh_shares(crowd, classes, flat(scratch["shares"]))

    def expect(self, labels: Labels, state: State, learned: bool) -> tuple[float, float]:
        """Leave-one-out E step."""
        prior = self.class_prior(state)
        objective, change = kernels.expect(
            labels.item_ptr, labels.workers, labels.labels, labels.gold, prior[None], level_prior(state), len(prior),
            crowd_of(state), flat(state.scratch["counted_shares"]), learned, state.items["posterior"],
        )  # fmt: skip
        return objective, change

    def others(self, labels: Labels, state: State, learned: bool = True) -> Array:
        """See `two_level_kernels.others`."""
        return others(labels, state, self.class_prior(state), flat(state.scratch["shares"]), learned)

    def posterior(self, state: State) -> Array:
        """Sum over the levels."""
        q, classes = state.items["posterior"], len(state.classes)
        return np.asarray(q[:, :classes] + q[:, classes:])

    def informative(self, state: State) -> Array:
        """1 for a clear item, `clarity` for a murky one."""
        return level_weight(state.items["posterior"], state.shared["strengths"][kernels.CLARITY])

    def confusions(self, state: State) -> Array:
        """Predictive rows of a clear item."""
        return predictive_rows(state.workers["counts"], state.workers["skill"], state.shared)

    def class_prior(self, state: State) -> Array:
        """Class counts plus one each, or the given prior."""
        return self.prior_of(state.shared["class_counts"] + 1)


def empty_crowd(rows: int, classes: list[str], parameters: TwoLevelParameters, history: State | None) -> State:
    """A state with the arrays of `two_level_kernels.Crowd` for `rows` workers or slots, filled from the history.

    New workers have the mean skill; a new class gets the population row and the habit of a fresh start.
    """
    count = len(classes)
    old = history or State([], [])
    clarity = CLARITIES[0] if parameters.clarity is None else parameters.clarity
    strengths = np.array([2.0, 2.0, 0.7, parameters.habit_strength, clarity])
    if history:
        strengths[:3] = history.shared["strengths"][:3]
        if parameters.clarity is None:
            strengths[kernels.CLARITY] = history.shared["strengths"][kernels.CLARITY]
    population = np.where(np.eye(count), 0.7 if count > 1 else 1.0, 0.3 / max(count - 1, 1))
    known = len(old.classes)
    habit = np.full(count, 1 / max(count, 1))
    if history:
        population[:known, :known] = old.shared["population"]
        habit[:known] = old.shared["habit_prior"]
    if known < count:  # an unchanged history must not be divided by a rounded 1
        population /= population.sum(axis=0)
        habit /= habit.sum()
    counts = grown(old.workers.get("counts"), (rows, count, count))
    habits = grown(old.workers.get("habits"), (rows, count))
    return State(
        classes=classes,
        worker_names=[],
        workers={
            "counts": counts,
            "rows": counts.sum(axis=1),
            "habits": habits,
            "masses": habits.sum(axis=1),
            "skill": grown(old.workers.get("skill"), (rows,), strengths[kernels.SKILL]),
        },
        shared={
            "population": population,
            "habit_prior": habit,
            "strengths": strengths,
            "class_counts": grown(old.shared.get("class_counts"), (count,)),
            "level_counts": grown(old.shared.get("level_counts"), (2,), 0.0),
        },
    )


def predictive_rows(counts: Array, skill: Array, shared: dict[str, Array]) -> Array:
    """Prior plus counts, normalised: P(label | class) on a clear item (workers, classes, labels).

    Args:
        counts: (workers, labels, classes).
        skill: (workers).
        shared: of the state.
    """
    strengths, classes = shared["strengths"], counts.shape[1]
    wrong = (1 - skill[:, None, None]) / max(classes - 1, 1)
    coin = np.where(np.eye(classes), skill[:, None, None], wrong)
    rows = counts + strengths[kernels.POPULATION] * shared["population"] + strengths[kernels.COIN] * coin
    return np.asarray((rows / rows.sum(axis=1, keepdims=True)).transpose(0, 2, 1))


def crowd_of(state: State) -> kernels.Crowd:
    """The arrays of a state as the kernels want them."""
    workers, shared = state.workers, state.shared
    return kernels.Crowd(
        counts=flat(workers["counts"]),
        rows=flat(workers["rows"]),
        habits=flat(workers["habits"]),
        masses=workers["masses"],
        skill=workers["skill"],
        population=flat(shared["population"]),
        habit_prior=shared["habit_prior"],
        strengths=shared["strengths"],
    )


def others(labels: Labels, state: State, class_prior: Array, shares: Array, remove_own: bool) -> Array:
    """Evidence of all other labels about each label's item: `two_level_kernels.others` (labels, classes).

    Args:
        labels: of the state's workers, or slots.
        class_prior: (classes).
        shares: that made the counts; empty if not `remove_own`.
        remove_own: the labels are in the counts.
    """
    classes = len(state.classes)
    decided = np.empty((len(labels), classes))
    q = state.items["posterior"] if remove_own else np.empty((labels.items, 2 * classes))
    if len(labels):
        kernels.others(
            labels.item_ptr, labels.workers, labels.labels, labels.gold, class_prior[None], level_prior(state),
            classes, crowd_of(state), shares, remove_own, q, decided,
        )  # fmt: skip
    return decided


def level_weight(q: Array, clarity: float) -> Array:
    """P(clear) + clarity P(murky) of posteriors (items, 2 classes)."""
    return np.asarray(clarity + (1 - clarity) * q[:, : q.shape[1] // 2].sum(axis=1))


def level_prior(state: State) -> Array:
    """P(clear), P(murky): counts plus 10 each."""
    counts = state.shared["level_counts"] + 10
    return np.asarray(counts / counts.sum())


def flat(array: Array) -> Array:
    """The same memory in one dimension."""
    return array.reshape(-1)
