"""The one-coin model: a worker is right with one probability, whatever the class."""

from typing import Annotated, ClassVar

import numpy as np

from hutch.core.parameters import Within
from hutch.crowd.data.labels import Labels
from hutch.crowd.models.dawid_skene import CountModel
from hutch.crowd.models.model import Array, Parameters, State

LEAST, MOST = 0.02, 0.995
"""A worker is right with at least `LEAST` / classes, at most `MOST`."""
TELLING = 0.9
"""How probable it is that the labels of a worker depend on the class, before any is seen."""


class OneCoinParameters(Parameters):
    """Parameters of `OneCoin`.

    Attributes:
        strength: pseudo-labels of the crowd's mean skill in each worker's.
        class_anchor: weight of the vote shares in the class prior.
        habits: whether a worker whose labels a habit explains better tells nothing.
    """

    strength: Annotated[float, Within(gt=0)] = 4.0
    class_anchor: Annotated[float, Within(ge=0)] = 0.2
    habits: bool = True


class OneCoin(CountModel):
    """A worker gives the right label with probability r_w and any other with (1 - r_w) / (K - 1).

    For few labels per worker; it fails where workers confuse particular classes. Demartini et al., WWW 2012 (ZenCrowd).
    The E step leaves each label's own share out of its worker's skill, and the vote shares anchor the class prior. A
    worker whose labels are explained better by a habit, frequencies that no class changes, tells nothing (compared by
    BIC, G. Schwarz, Annals of Statistics 6, 1978). Without these, the largest class swallows the others.
    """

    name = "one_coin"
    summary = "one accuracy for each worker"
    Parameters: ClassVar[type[Parameters]] = OneCoinParameters
    parameters: OneCoinParameters

    def start(self, labels: Labels, history: State | None) -> State:
        """Vote shares as posteriors, which anchor the class prior."""
        state = super().start(labels, history)
        state.scratch["class_counts"] += self.parameters.class_anchor * state.items["posterior"].sum(axis=0)
        return state

    def expect(self, labels: Labels, state: State, learned: bool) -> tuple[float, float]:
        """q_i(k) proportional to pi_k prod_w coin(r_w, l = k), r_w without the label's own share."""
        q, classes = state.items["posterior"], len(state.classes)
        right, wrong = self._likelihoods(labels, state, learned)
        cells = labels.label_items.astype(np.int64) * classes + labels.labels
        scores = np.bincount(cells, np.log(right / wrong), labels.items * classes).astype(np.float64)
        scores = scores.reshape(labels.items, classes)
        scores += np.bincount(labels.label_items, np.log(wrong), labels.items)[:, None]
        with np.errstate(divide="ignore"):
            scores += np.log(self.class_prior(state))
        known = labels.gold >= 0
        scores[known] = np.where(np.eye(classes, dtype=bool)[labels.gold[known]], scores[known], -np.inf)
        top = scores.max(axis=1, keepdims=True)
        fresh = np.exp(scores - top)
        total = fresh.sum(axis=1, keepdims=True)
        fresh /= total
        change = float(np.abs(fresh - q).max(initial=0.0))
        q[...] = fresh
        return float((top + np.log(total)).sum() / max(labels.items, 1)), change

    def predicted(self, labels: Labels, state: State) -> float:
        """Log-probability of each label given the others of its item and worker, summed."""
        right, wrong = self._likelihoods(labels, state, learned=True)
        own = state.items["posterior"][labels.label_items, labels.labels]
        return float(-np.log(own / right + (1 - own) / wrong).sum())

    def skill(self, state: State) -> Array:
        """r_w (workers)."""
        right, given, mean = self._counts(state)
        strength = self.parameters.strength
        return _leaned((right + strength * mean) / (given + strength), self._telling(state), len(state.classes))

    def confusions(self, state: State) -> Array:
        """r_w on the diagonal, the rest shared."""
        classes = len(state.classes)
        skill = self.skill(state)[:, None, None]
        return np.where(np.eye(classes), skill if classes > 1 else 1.0, (1 - skill) / max(classes - 1, 1))

    def class_prior(self, state: State) -> Array:
        """Class counts plus one each, or the given prior."""
        return self.prior_of(state.shared["class_counts"] + 1)

    def _counts(self, state: State) -> tuple[Array, Array, float]:
        """Right labels and labels of each worker; the mean skill."""
        counts = state.workers["counts"]
        right, given = np.trace(counts, axis1=1, axis2=2), counts.sum(axis=(1, 2))
        return right, given, float((right.sum() + 1) / (given.sum() + 2))

    def _telling(self, state: State) -> Array:
        """How probable it is that a worker's labels depend on the class (workers)."""
        classes, said = len(state.classes), state.workers["counts"].sum(axis=2)
        if classes < 2 or not self.parameters.habits:
            return np.ones(len(said))
        (right, given, mean), strength = self._counts(state), self.parameters.strength
        skill = _leaned((right + strength * mean) / (given + strength), 1.0, classes)
        coin = right * np.log(skill) + (given - right) * np.log((1 - skill) / (classes - 1))
        given = np.maximum(given, 1)
        habit = (said * np.log(np.maximum(said / given[:, None], 1e-12))).sum(axis=1)
        odds = coin - habit + (classes - 1) / 2 * np.log(given) + np.log(TELLING / (1 - TELLING))
        return np.asarray(1 / (1 + np.exp(-np.clip(odds, -50, 50))))

    def _likelihoods(self, labels: Labels, state: State, learned: bool) -> tuple[Array, Array]:
        """P(label | class) of each label if the class is the label, and if it is another (labels)."""
        right, given, mean = self._counts(state)
        own = state.items["posterior"][labels.label_items, labels.labels] if learned else 0.0
        strength, classes = self.parameters.strength, len(state.classes)
        rest = given[labels.workers] - learned + strength
        skill = (right[labels.workers] - own + strength * mean) / np.maximum(rest, strength)
        if classes < 2:
            return np.ones(len(labels)), np.ones(len(labels))
        skill = _leaned(skill, self._telling(state)[labels.workers], classes)
        return skill, np.asarray((1 - skill) / (classes - 1))


def _leaned(skill: Array, telling: float | Array, classes: int) -> Array:
    """Skills within their bounds, and as far as they tell nothing those of guesses."""
    guess = 1 / max(classes, 1)
    return np.asarray(telling * np.clip(skill, LEAST * guess, MOST) + (1 - telling) * guess)
