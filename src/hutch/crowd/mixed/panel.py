"""Judges without people, and some gold: experts, each as probable as the gold that it did not see.

    p = sum_m a_m p_m,   a_m ~ prior_m exp(sum_g log p_m(t_g | other gold))

The experts are the insured posterior of `TwoLevel`, which never sees gold; the shares of the classes; that posterior
recalibrated (`recalibration`), and with a row of each judge (`ridge`); and each of the busiest judges alone, by their
confusions on gold. No expert that is sure and wrong keeps weight, and the mixture is about as good as the best of them.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import UsageError
from hutch.crowd.data.labels import Labels
from hutch.crowd.mixed import recalibration
from hutch.crowd.mixed.recalibration import DRAWS, Prior, softmax
from hutch.crowd.mixed.ridge import CORRELATION, Regression
from hutch.crowd.models.calibration import tempered
from hutch.crowd.models.model import Array, Fit, State, grown
from hutch.crowd.models.trust import Trust, size_of, some_of
from hutch.crowd.models.two_level import TwoLevel

INSURED, SHARES, RECALIBRATED, ROWS, SINGLE = 0.35, 0.05, 0.3, 0.1, 0.2
"""Prior weights of the experts; `SINGLE` is divided among all single judges."""
BUSIEST, LEAST_LABELS = 30, 5
"""Judges who are experts alone, and whose labels recalibrate, at most; labels that they have at least."""
FOLDS = 10
"""Folds of gold, each of which is foretold from the others."""
FORETOLD = "foretold"
"""In the scratch of the state: probabilities of the gold items, each without its own gold (items, classes)."""
_OWN = "two_level."  # prefix of the arrays that TwoLevel learned
TRUST = _OWN + "trust"


@dataclass(frozen=True)
class _Experts:
    """What the experts say of all items.

    Attributes:
        insured: posteriors (items, classes); `raw`: before the insurance and the floor.
        kept: factor of the exponents that the insurance leaves.
        rows: the regression on top of the posterior.
    """

    insured: Array
    raw: Array
    kept: float
    rows: Regression


class Alone:
    """The judges' fit without gold, kept for further runs on labels that differ in their gold only, as of folds."""

    def __init__(self) -> None:
        self._of: Labels | None = None

    def fit(self, model: TwoLevel, labels: Labels) -> tuple[Fit, Array]:
        """The model's fit, whose arrays are its caller's own, and its probabilities.

        Args:
            model: one of the same parameters each time.
            labels: without gold.
        """
        if self._of is None or not _alike(self._of, labels):
            fit = model.fit(labels)
            self._fit, self._probability, self._of = fit, model.probability(labels, fit), labels
        state = self._fit.state
        own = [{name: array.copy() for name, array in part.items()} for part in (state.workers, state.shared)]
        return replace(self._fit, state=replace(state, workers=own[0], shared=own[1])), self._probability


def _alike(one: Labels, other: Labels) -> bool:
    """Whether two sets of labels are the same but for names of items."""
    same = one.worker_names == other.worker_names and one.classes == other.classes
    arrays = ("item_ptr", "workers", "labels", "gold")
    return same and all(np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays)


def forecast(
    labels: Labels, state: State, history: State | None, learn: bool, least_accuracy: float | None = None,
    alone: Alone | None = None,
) -> Array:  # fmt: skip
    """Log-forecasts of all items from judges alone.

    Args:
        labels: judges' labels; gold on some items if there is no history.
        state: receives the result; `factor` in its scratch is about the effect of a label (workers, labels, classes).
        history: learned by an earlier run, or None.
        learn: from these labels; else only the history counts.
        least_accuracy: as of `TwoLevel`.
        alone: keeps what the judges say without gold for further runs; None: it is forgotten.

    Returns:
        float64 (items, classes), normalised.

    Raises:
        UsageError: there is neither gold nor a history.
    """
    if history is None and not np.any(labels.gold >= 0) and len(labels):
        raise UsageError("mixed: wanted people (--reference NAME), or without them gold (--gold FILE)")
    _grow(state, history)
    alike = TwoLevel(judges=True, least_accuracy=least_accuracy)
    unseen = replace(labels, gold=np.full_like(labels.gold, -1))
    old = _own(history) if history else None
    if old is None and alone:
        fit, insured = alone.fit(alike, unseen)
    else:
        fit = alike.fit(unseen, old) if learn or old is None else alike.infer(unseen, old)
        insured = alike.probability(unseen, fit)
    trust = Trust(*fit.state.shared["trust"].tolist())
    if not state.shared["kept"].any():
        state.shared["kept"][:] = trust.size / max(size_of(some_of(unseen)), 1e-9)
    kept = float(state.shared["kept"][0]) or 1.0
    exponents = replace(trust, size=trust.size / kept).exponents(np.diff(labels.item_ptr))
    experts = _Experts(insured, tempered(fit.posterior, exponents, 0.0), kept, Regression.of(unseen, fit.posterior))
    known = np.flatnonzero(labels.gold >= 0)
    if learn and len(known):
        _learn(labels, known, experts, state)
    state.workers |= {_OWN + name: array for name, array in fit.state.workers.items()}
    state.shared |= {_OWN + name: array for name, array in fit.state.shared.items()}
    found = _mixture(labels, experts, state)
    rows = np.log(np.maximum(alike.confusions(fit.state), 1e-9)).transpose(0, 2, 1)
    mean = float(exponents.mean()) if len(exponents) else 0.0
    state.scratch["factor"] = _factor(state, rows, mean, experts)
    return np.asarray(np.log(np.maximum(found, 1e-12)))


def _grow(state: State, history: State | None) -> None:
    """Add the arrays of the experts, those of the history first."""
    old = history or State([], [])
    workers, classes = len(state.worker_names), len(state.classes)
    biases = classes if classes <= recalibration.MOST_BIASES else 0
    state.workers |= {
        "right": grown(old.workers.get("right"), (workers, classes, classes)),
        "draws": grown(old.workers.get("draws"), (workers, DRAWS)),
        "score": grown(old.workers.get("score"), (workers,)),
        "single": grown(old.workers.get("single"), (workers,)),
        "weights": grown(old.workers.get("weights"), (workers, classes, classes)),
    }
    state.shared |= {
        "gold_counts": grown(old.shared.get("gold_counts"), (classes,)),
        "bias_draws": grown(old.shared.get("bias_draws"), (classes, DRAWS)),
        "trust_draws": grown(old.shared.get("trust_draws"), (DRAWS,)),
        "scores": grown(old.shared.get("scores"), (4,)),
        "kept": grown(old.shared.get("kept"), (1,)),
    }
    if biases == 0:
        state.shared["bias_draws"][:] = 0.0


def _learn(labels: Labels, known: NDArray[np.int64], experts: _Experts, state: State) -> None:
    """Counts of gold, the recalibration, and the score of each expert, added to those of the history."""
    workers, shared, classes = state.workers, state.shared, len(state.classes)
    truth = labels.gold[known]
    judges = _busiest(labels)
    said = _said(labels, known, judges)
    before = workers["right"][judges], shared["gold_counts"].copy()
    for judge, mine in zip(judges.tolist(), said, strict=True):
        there = mine >= 0
        np.add.at(workers["right"][judge], (truth[there], mine[there]), 1.0)
    shared["gold_counts"] += np.bincount(truth, minlength=classes)
    singles, by_shares = _left_out(workers["right"][judges], shared["gold_counts"], said, truth)
    x = recalibration.features(np.log(np.maximum(experts.raw[known], 1e-9)), said)
    prior = _prior(state, judges, experts.kept, bool(before[1].any()))
    taught = replace(experts.rows, labels=labels)
    foretold = np.stack([
        experts.insured[known], by_shares, recalibration.left_out(x, truth, prior, FOLDS),
        _rows_left_out(taught, workers["weights"], known),
    ])  # fmt: skip
    shared["scores"] += _scores(foretold, truth)
    workers["weights"][...] = taught.learned(workers["weights"], known)
    workers["score"][judges] += _scores(singles, truth)
    workers["single"][judges] = 1.0
    of_panel, of_single = _weights(state)
    state.scratch[FORETOLD] = np.tensordot(of_panel, foretold, 1) + np.tensordot(of_single[judges], singles, 1)
    draws = recalibration.drawn(x, truth, prior)
    biases = draws.shape[1] - 1 - len(judges)
    shared["bias_draws"][:biases] = draws[:, :biases].T
    shared["trust_draws"][:] = draws[:, biases]
    workers["draws"][judges] = draws[:, biases + 1 :].T


def _prior(state: State, judges: NDArray[np.int64], trust: float, learned: bool) -> Prior:
    """The prior of the recalibration: mean and deviation of the draws of the history, if it learned one."""
    fresh = recalibration.prior_of(len(state.classes), len(judges), trust)
    if not learned:
        return fresh
    biases = len(fresh.mean) - 1 - len(judges)
    draws = np.vstack(
        [state.shared["bias_draws"][:biases], state.shared["trust_draws"][None], state.workers["draws"][judges]]
    )
    spread = draws.std(axis=1)
    return Prior(np.where(spread > 0, draws.mean(axis=1), fresh.mean), np.where(spread > 0, spread, fresh.deviation))


def _busiest(labels: Labels) -> NDArray[np.int64]:
    """The judges with most labels."""
    given = np.bincount(labels.workers, minlength=len(labels.worker_names))
    order = np.argsort(-given, kind="stable")[:BUSIEST]
    return np.asarray(order[given[order] >= LEAST_LABELS])


def _said(labels: Labels, items: NDArray[np.int64], judges: NDArray[np.int64]) -> NDArray[np.int32]:
    """The label of each of the judges on each of the items, -1 for none (judges, items)."""
    place, row = np.full(labels.items, -1), np.full(len(labels.worker_names), -1)
    place[items], row[judges] = np.arange(len(items)), np.arange(len(judges))
    at, who = place[labels.label_items], row[labels.workers]
    here = (at >= 0) & (who >= 0)
    found = np.full((len(judges), len(items)), -1, np.int32)
    found[who[here], at[here]] = labels.labels[here]
    return found


def _left_out(right: Array, gold: Array, said: NDArray[np.int32], truth: NDArray[np.int32]) -> tuple[Array, Array]:
    """Probabilities of each gold item without it: by each judge alone (judges, items, classes), by shares."""
    own = np.eye(len(gold))[truth]
    shares = gold + 1 - own
    there = said >= 0
    cells = right[:, :, :].transpose(0, 2, 1)[np.arange(len(said))[:, None], np.maximum(said, 0)]
    rows = (cells - own + 1) / (right.sum(axis=2)[:, None] - own + len(gold))
    chances = shares * np.where(there[:, :, None], rows, 1.0)
    return chances / chances.sum(axis=2, keepdims=True), shares / shares.sum(axis=1, keepdims=True)


def _rows_left_out(regression: Regression, weights: Array, known: NDArray[np.int64]) -> Array:
    """Probabilities of each gold item by the ridge regression from the gold of the other folds (items, classes)."""
    fold = np.random.default_rng(0).permutation(len(known)) % FOLDS
    found = np.empty((len(known), weights.shape[2]))
    for number in range(min(FOLDS, len(known))):
        out = fold == number
        found[out] = softmax(regression.scores(regression.learned(weights, known[~out]))[known[out]])
    return found


def _scores(foretold: Array, truth: NDArray[np.int32]) -> Array:
    """Sums of the log-probabilities of gold items' classes (experts); probabilities are (experts, items, classes)."""
    return np.asarray(np.log(np.maximum(foretold[:, np.arange(len(truth)), truth], 1e-9)).sum(axis=1))


def _weights(state: State) -> tuple[Array, Array]:
    """The weights of the experts of the whole panel, and of every judge alone (workers); 1 in all."""
    single = state.workers["single"] > 0
    each = SINGLE / max(int(single.sum()), 1)
    prior = np.r_[INSURED, SHARES, RECALIBRATED, ROWS, np.where(single, each, 0.0)]
    if not state.shared["gold_counts"].any():
        prior[1:] = 0.0
    scores = np.r_[state.shared["scores"], state.workers["score"]]
    weights = prior * np.exp(scores - scores[prior > 0].max())
    weights /= weights.sum()
    return weights[:4], weights[4:]


def _single(state: State, judge: int) -> Array:
    """P(class | label) of a judge alone (labels, classes)."""
    counts = state.workers["right"][judge]
    rows = (counts + 1) / (counts.sum(axis=1, keepdims=True) + len(counts))
    chances = rows.T * (state.shared["gold_counts"] + 1)
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def _mixture(labels: Labels, experts: _Experts, state: State) -> Array:
    """Probabilities of all items (items, classes)."""
    (insured, shares, recalibrated, rows), single = _weights(state)
    gold = state.shared["gold_counts"] + 1
    prior = gold / gold.sum()
    found = insured * experts.insured + (shares + single.sum()) * prior
    for judge in np.flatnonzero(single > 1e-6).tolist():
        mine = labels.workers == judge
        said = _single(state, judge)[labels.labels[mine]]
        found[labels.label_items[mine]] += single[judge] * (said - prior)
    if recalibrated > 0:
        found += recalibrated * _recalibrated(labels, experts, state)
    if rows > 0:
        found += rows * softmax(experts.rows.scores(state.workers["weights"]))
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _recalibrated(labels: Labels, experts: _Experts, state: State) -> Array:
    """Mean probabilities of the recalibration over its draws (items, classes)."""
    logs = recalibration.centred(np.log(np.maximum(experts.raw, 1e-9)))
    cells = labels.label_items.astype(np.int64) * logs.shape[1] + labels.labels
    found, draws = np.zeros_like(logs), state.workers["draws"][labels.workers]
    for number in range(DRAWS):
        added = np.bincount(cells, draws[:, number], logs.size).reshape(logs.shape)
        scores = state.shared["bias_draws"][:, number] + state.shared["trust_draws"][number] * logs + added
        found += softmax(scores)
    return found / DRAWS


def _factor(state: State, likelihood: Array, exponent: float, experts: _Experts) -> Array:
    """About the effect of a label on the log-odds: that on each expert, times its weight (workers, labels, classes)."""
    (insured, _, recalibrated, rows), single = _weights(state)
    trust, own = state.shared["trust_draws"].mean(), state.workers["draws"].mean(axis=1)
    offset = rows / (1 + CORRELATION * max(len(experts.rows.labels) / max(len(experts.raw), 1) - 1, 0))
    found = (exponent * (insured * experts.kept + recalibrated * trust) + offset) * likelihood
    found = (
        found
        + rows * experts.rows.effects(state.workers["weights"])
        + (recalibrated * own)[:, None, None] * np.eye(len(state.classes))
    )
    for judge in np.flatnonzero(single > 1e-6).tolist():
        found[judge] += single[judge] * np.log(_single(state, judge))
    return np.asarray(found - found.mean(axis=2, keepdims=True))


def _own(history: State) -> State:
    """The state of `TwoLevel` inside that of an earlier run."""
    parts = [
        {name.removeprefix(_OWN): array for name, array in arrays.items() if name.startswith(_OWN)}
        for arrays in (history.workers, history.shared)
    ]
    return State(history.classes, history.worker_names, *parts)
