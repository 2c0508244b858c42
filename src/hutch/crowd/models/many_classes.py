"""The model for many classes: coins whose errors the crowd shares, over the classes that each item was given."""

from collections.abc import Mapping
from dataclasses import astuple
from typing import Annotated, ClassVar

import numpy as np

from hutch.core.chain.limits import Limits
from hutch.core.parameters import Within
from hutch.crowd.data.labels import Labels
from hutch.crowd.models import many_classes_kernels as kernels
from hutch.crowd.models.calibration import towards_prior
from hutch.crowd.models.halves import exponent_of_agreement
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
from hutch.crowd.models.one_coin import LEAST, MOST, TELLING, OneCoinParameters
from hutch.crowd.models.trust import Trust, some_of


class ManyClassesParameters(OneCoinParameters):
    """Parameters of `ManyClasses`.

    Attributes:
        spread: pseudo-errors of each class, the same for every wrong label.
    """

    iterations: Annotated[int, Within(ge=1, le=100_000)] = 20
    spread: Annotated[float, Within(gt=0)] = 100.0


class ManyClasses(CrowdModel):
    """A worker is right with probability r_w, and errs as the crowd does.

        p(k | k, w) = r_w,   p(l | k, w) = (1 - r_w) (C[k, l] + B / (K - 1)) / (C[k] + B)

    Coins and habits are those of `OneCoin`. C are the wrong labels that the posteriors expect, of all workers who tell,
    and B is `spread`. The E step leaves each label's own share out of its worker's skill, and all of its item's out of
    C and of the class prior: the labels of one item would else confirm each other. An item's candidates are the classes
    that it was given; all others have one posterior, which the class prior divides. Time and memory grow with the
    labels, not with their product with the classes, but for the one table C of the crowd.
    """

    name = "many_classes"
    summary = "one accuracy for each worker, errors that the crowd shares; for many classes"
    room: ClassVar[tuple[int, int]] = (0, 8)
    crowd_tables: ClassVar[int] = 8
    Parameters: ClassVar[type[Parameters]] = ManyClassesParameters
    limits: ClassVar[Mapping[str, Limits]] = dict.fromkeys(
        ("right", "said", "cells", "class_counts", "mass", "trust"), Limits(-1e-6)
    )
    parameters: ManyClassesParameters
    settlements = 2
    """The first tells which workers look at the items, and the second weighs their errors by it."""

    @staticmethod
    def made(state: State) -> bool:
        """Whether a state is one of this model."""
        return "cells" in state.shared

    def start(self, labels: Labels, history: State | None) -> State:
        """Vote shares as posteriors, which anchor the class prior; counts of the history."""
        workers, classes = len(labels.worker_names), len(labels.classes)
        old = history or State([], [])
        state = State(
            classes=labels.classes,
            worker_names=labels.worker_names,
            workers={
                "right": grown(old.workers.get("right"), (workers,)),
                "said": grown(old.workers.get("said"), (workers, classes)),
            },
            shared={
                "cells": grown(old.shared.get("cells"), (classes, classes)),
                "class_counts": grown(old.shared.get("class_counts"), (classes,)),
                "mass": grown(old.shared.get("mass"), (1,)),
                "trust": grown(old.shared.get("trust"), (4,)),
            },
            items={
                "rest": np.empty(labels.items),
                "ratings": np.diff(labels.item_ptr).astype(np.float64),
                "gold": labels.gold.astype(np.float64),
            },
            labels={"posterior": np.empty(len(labels)), "label": labels.labels.astype(np.float64)},
        )
        state.scratch = {name: array.copy() for name, array in (state.workers | state.shared).items()}
        q, anchor = state.labels["posterior"], self.parameters.class_anchor
        kernels.vote_shares(labels.item_ptr, labels.labels, labels.gold, classes, q, state.items["rest"])
        counted = np.diff(labels.item_ptr)
        share = np.where(labels.gold[labels.label_items] >= 0, 0.0, 1 / np.maximum(counted, 1)[labels.label_items])
        votes = np.bincount(labels.labels, share, classes) + np.bincount(
            labels.gold[labels.gold >= 0], minlength=classes
        )
        state.scratch["class_counts"] += anchor * votes
        state.scratch["mass"] += (1 + anchor) * ((counted > 0) | (labels.gold >= 0)).sum()
        self._look(state)
        return state

    def fit(self, labels: Labels, history: State | None = None, over: Over = InProcess) -> Fit:
        """Batch EM; whether halves of the workers predict each other is found once and kept."""
        found = super().fit(labels, history, over)
        trust = found.state.shared["trust"]
        if len(labels) and self.parameters.rho is None and not trust.any():
            halves = exponent_of_agreement(some_of(labels), self, self.class_prior(found.state))
            trust[...] = astuple(Trust(1.0, halves))
        return found

    def count(self, labels: Labels, state: State) -> Sums:
        """Expected right labels, labels by class, wrong labels of the crowd, and classes."""
        workers, classes = state.workers["said"].shape
        sums = {
            "right": np.zeros(workers),
            "said": np.zeros((workers, classes)),
            "cells": np.zeros((classes, classes)),
            "class_counts": np.zeros(classes),
        }
        kernels.count_labels(
            labels.item_ptr, labels.workers, labels.labels, labels.gold, state.labels["posterior"],
            state.scratch["telling"], *sums.values(),
        )  # fmt: skip
        return sums

    def settle(self, state: State, sums: Sums) -> None:
        """Counts of the history plus these, and which workers look at the items."""
        for name, counted in sums.items():
            kept = state.workers if name in state.workers else state.shared
            kept[name][...] = state.scratch[name] + counted
        state.shared["mass"][...] = state.scratch["mass"]
        self._look(state)

    def expect(self, labels: Labels, state: State, learned: bool) -> tuple[float, float]:
        """E step over the candidates, without what the item itself adds to the crowd."""
        objective, change = kernels.expect(
            labels.item_ptr, labels.workers, labels.labels, labels.gold, self._crowd(state), learned,
            state.labels["posterior"], state.items["rest"],
        )  # fmt: skip
        return objective / max(labels.items, 1), change

    def posterior(self, state: State) -> Array:
        """Those of the candidates; what is left is divided as the class prior is."""
        ratings, gold = (state.items[name].astype(np.int64) for name in ("ratings", "gold"))
        rest, codes = state.items["rest"], state.labels["label"].astype(np.int64)
        items = np.repeat(np.arange(len(rest)), ratings)
        found = np.tile(self.class_prior(state), (len(rest), 1))
        known = np.flatnonzero(gold >= 0)
        found[known] = 0.0
        found[known, gold[known]] = 1.0
        found[items, codes] = 0.0
        found *= (rest / np.maximum(found.sum(axis=1), 1e-300))[:, None]
        found[items, codes] = state.labels["posterior"]
        return np.asarray(found / np.maximum(found.sum(axis=1, keepdims=True), 1e-300))

    def probability(self, labels: Labels, fit: Fit) -> Array:
        """Tempered posteriors, drawn towards the class prior; those of `calibrate` if rho is given."""
        if self.parameters.rho is not None or not len(labels):
            return super().probability(labels, fit)
        counts = np.diff(labels.item_ptr)
        exponents, votes = Trust(1.0, 1.0).exponents(counts), labels.vote_share() * counts[:, None]
        return towards_prior(fit.posterior, self.class_prior(fit.state), exponents, votes)

    def others(self, labels: Labels, state: State, learned: bool = True) -> Array:
        """The posterior without the label's own factor."""
        skill, classes = self.skill(state)[labels.workers], len(state.classes)
        likelihood = (1 - skill)[:, None] * self._errors(state)[:, labels.labels].T
        likelihood[np.arange(len(labels)), labels.labels] = skill if classes > 1 else 1.0
        return without_own(labels, self.posterior(state), likelihood)

    def skill(self, state: State) -> Array:
        """r_w (workers)."""
        classes, telling = max(len(state.classes), 1), state.scratch["telling"]
        return np.asarray(telling * self._coins(state) + (1 - telling) / classes)

    def confusions(self, state: State) -> Array:
        """r_w on the diagonal, else the errors of the crowd."""
        classes = len(state.classes)
        skill = self.skill(state) if classes > 1 else np.ones(len(state.worker_names))
        rows = (1 - skill)[:, None, None] * self._errors(state)
        rows[:, np.arange(classes), np.arange(classes)] = skill[:, None]
        return np.asarray(rows)

    def population(self, state: State) -> Array:
        """The crowd's mean skill and errors."""
        classes = len(state.classes)
        mean = np.clip(_mean_skill(state), LEAST / max(classes, 1), MOST)
        skill = TELLING * mean + (1 - TELLING) / max(classes, 1) if classes > 1 else 1.0
        return np.where(np.eye(classes), skill, (1 - skill) * self._errors(state))

    def class_prior(self, state: State) -> Array:
        """Class counts plus one each, or the given prior."""
        return self.prior_of(state.shared["class_counts"] + 1)

    def _errors(self, state: State) -> Array:
        """P(label | class) of a wrong label (classes, labels); 0 on the diagonal."""
        cells, spread, classes = state.shared["cells"], self.parameters.spread, len(state.classes)
        errors = (cells + spread / max(classes - 1, 1)) / (cells.sum(axis=1, keepdims=True) + spread)
        np.fill_diagonal(errors, 0.0)
        return np.asarray(errors)

    def _coins(self, state: State) -> Array:
        """Skills of workers who look at the items (workers)."""
        right, given, strength = state.workers["right"], state.workers["said"].sum(axis=1), self.parameters.strength
        skill = (right + strength * _mean_skill(state)) / (given + strength)
        return np.asarray(np.clip(skill, LEAST / max(len(state.classes), 1), MOST))

    def _look(self, state: State) -> None:
        """Set how probable it is that a worker's labels depend on the class, from the counts (workers)."""
        right, said, classes = state.workers["right"], state.workers["said"], len(state.classes)
        given, skill = said.sum(axis=1), self._coins(state)
        telling = np.ones(len(right))
        if classes > 1 and self.parameters.habits:
            coin = right * np.log(skill) + (given - right) * np.log((1 - skill) / (classes - 1))
            many = np.maximum(given, 1)
            habit = (said * np.log(np.maximum(said / many[:, None], 1e-12))).sum(axis=1)
            odds = coin - habit + (classes - 1) / 2 * np.log(many) + np.log(TELLING / (1 - TELLING))
            telling = 1 / (1 + np.exp(-np.clip(odds, -50, 50)))
        state.scratch["telling"] = telling

    def _crowd(self, state: State) -> kernels.Crowd:
        own, classes = self.parameters, len(state.classes)
        fixed = self.fixed_prior(classes)
        return kernels.Crowd(
            right=state.workers["right"],
            given=state.workers["said"].sum(axis=1),
            telling=state.scratch["telling"],
            mean=_mean_skill(state),
            cells=state.shared["cells"],
            totals=state.shared["cells"].sum(axis=1),
            class_counts=state.shared["class_counts"],
            mass=float(state.shared["mass"][0]),
            fixed=np.zeros(0) if fixed is None else fixed,
            strength=float(own.strength),
            spread=float(own.spread),
            anchor=float(own.class_anchor),
            least=LEAST,
            most=MOST,
        )


def _mean_skill(state: State) -> float:
    return float((state.workers["right"].sum() + 1) / (state.workers["said"].sum() + 2))
