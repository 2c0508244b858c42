"""The ordinal model: polytomous Rasch, with a discrimination, a bias and a scale of each worker."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np

from hutch.core.chain.limits import Limits
from hutch.core.parameters import Within
from hutch.crowd.data.labels import Labels
from hutch.crowd.models import ordinal_kernels as kernels
from hutch.crowd.models.calibration import calibrate
from hutch.crowd.models.dawid_skene import CountModel
from hutch.crowd.models.model import Array, Fit, Parameters, State, Sums, grown

START = np.array([8.0, 0.0, 0.0])
"""Prior mean of the tilts: labels stay close to the class."""
SPREAD = np.array([4.0, 1.0, 1.0])
"""Prior variances of the tilts."""
TRUST = 5.0
"""Pseudo-workers of these means and variances."""
RIDGE = 50.0
"""Precision of the thresholds around 0, where a class's own label is the most probable."""
FLOOR = 0.05
"""Share of the class prior in the posteriors."""
_ROUNDS = 2  # of tilts and thresholds in an M step
_LONGEST = 2.0  # largest step of a threshold


class OrdinalParameters(Parameters):
    """Parameters of `Ordinal`.

    Attributes:
        class_anchor: weight of the vote shares in the class prior.
    """

    iterations: Annotated[int, Within(ge=1)] = 20
    rho: Annotated[float, Within(ge=0)] = 0.2
    class_anchor: Annotated[float, Within(ge=0)] = 0.2


class Ordinal(CountModel):
    """Classes are degrees; a worker has three numbers instead of a row for each class.

        log p(l | k, w) = t[l] - h_w (u_l - u_k)^2 / 2 + b_w u_l + c_w u_l^2 + const

    u are the places of the classes, from -1 to 1; h is the worker's discrimination, b their bias, c their scale. It is
    the polytomous Rasch model (D. Andrich, Psychometrika 43, 1978) with a discrimination of each worker, as P. Mineiro
    used it for crowds of raters (2011). Tilts have a normal prior whose mean discrimination and variances are learned.
    """

    name = "ordinal"
    summary = "ordered classes: discrimination, bias and scale of each worker"
    ordinal = True
    Parameters: ClassVar[type[Parameters]] = OrdinalParameters
    limits: ClassVar[Mapping[str, Limits]] = {
        **dict.fromkeys(("counts", "class_counts"), Limits(-1e-6)),
        **dict.fromkeys(("tilts", "tilt_mean", "thresholds"), Limits(-1e3, 1e3)),
        "tilt_variance": Limits(1e-6, 1e6),
    }
    parameters: OrdinalParameters

    def start(self, labels: Labels, history: State | None) -> State:
        """Vote shares as posteriors, tilts at their mean."""
        state = super().start(labels, history)
        state.scratch["class_counts"] += self.parameters.class_anchor * state.items["posterior"].sum(axis=0)
        old = history or State([], [], shared={"tilt_mean": START, "tilt_variance": SPREAD})
        tilts = grown(old.workers.get("tilts"), (len(labels.worker_names), 3))
        tilts[len(old.worker_names) :] = old.shared["tilt_mean"]
        state.workers["tilts"] = tilts
        state.shared |= {name: old.shared[name].copy() for name in ("tilt_mean", "tilt_variance")}
        state.shared["thresholds"] = grown(old.shared.get("thresholds"), (len(labels.classes),))
        return state

    def settle(self, state: State, sums: Sums) -> None:
        """Tilts and thresholds by Newton steps from the counts, then the tilts' prior."""
        super().settle(state, sums)
        counts, tilts, shared = state.workers["counts"], state.workers["tilts"], state.shared
        classes = len(state.classes)
        spread, pull, bend = np.empty_like(tilts), np.empty(classes), np.empty((classes, classes))
        for _ in range(_ROUNDS):
            kernels.fit_tilts(
                counts, places(classes), shared["thresholds"], shared["tilt_mean"], 1 / shared["tilt_variance"], tilts,
                spread, pull, bend,
            )  # fmt: skip
            step = np.linalg.solve(bend + RIDGE * np.eye(classes), pull - RIDGE * shared["thresholds"])
            shared["thresholds"] += step * min(1.0, _LONGEST / max(np.abs(step).max(initial=0.0), 1e-9))
        seen = counts.sum(axis=(1, 2)) > 0
        mass = seen.sum() + TRUST
        shared["tilt_mean"][0] = (tilts[seen, 0].sum() + TRUST * START[0]) / mass
        off = (tilts[seen] - shared["tilt_mean"]) ** 2 + spread[seen]
        shared["tilt_variance"][...] = (off.sum(axis=0) + TRUST * SPREAD) / mass

    def expect(self, labels: Labels, state: State, learned: bool) -> tuple[float, float]:
        """q_i(k) proportional to pi_k prod_w p(l | k, w)."""
        table = np.log(np.maximum(self.confusions(state), 1e-12)).transpose(0, 2, 1)
        return self.expect_with(labels, state, table)

    def confusions(self, state: State) -> Array:
        """Rows of the model."""
        classes = len(state.classes)
        rows = np.empty((len(state.workers["tilts"]), classes, classes))
        kernels.rows(places(classes), state.shared["thresholds"], state.workers["tilts"], rows)
        return rows

    def probability(self, labels: Labels, fit: Fit) -> Array:
        """Tempered posteriors; the spread mass goes to the class prior: equal shares would pull to the middle."""
        rho = self.parameters.rho
        found = calibrate(fit.posterior, np.diff(labels.item_ptr), rho, floor=0.0)
        return np.asarray((1 - FLOOR) * found + FLOOR * self.class_prior(fit.state)) if rho else found

    def class_prior(self, state: State) -> Array:
        """Class counts plus one in all, or the given prior."""
        return self.prior_of(state.shared["class_counts"] + 1.0 / len(state.classes))


def places(classes: int) -> Array:
    """Places of the classes, from -1 to 1.

    >>> places(5).tolist()
    [-1.0, -0.5, 0.0, 0.5, 1.0]
    """
    return np.linspace(-1, 1, classes) if classes > 1 else np.zeros(classes)
