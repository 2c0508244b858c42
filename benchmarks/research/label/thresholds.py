"""Rules that others have for one class: thresholds on a score, chosen on labels drawn by lot.

BARGAIN is its own package (`pip install bargain`; S. Zeighami, S. Shankar, A. Parameswaran, "Cut costs, not accuracy:
LLM-powered data processing with guarantees", SIGMOD 2025). SUPG is the rule of its paper (D. Kang, E. Gan, P. Bailis,
T. Hashimoto, M. Zaharia, "Approximate selection with guarantees using proxies", VLDB 2020): importance sampling by the
root of the score, and normal bounds.
"""

import contextlib
import io
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Found = tuple[NDArray[np.int64], int]
"""The items that are delivered, and the number of labels that people gave."""


def bargain(
    measure: str, score: Array, truth: NDArray[np.bool_], target: float, delta: float, budget: int, seed: int
) -> Found:
    """BARGAIN's own code: `recall`, `precision` with a budget, or `both`, which needs none.

    Args:
        measure: one of these.
        score: P(item is of the class), by the proxy (items).
        truth: what people say (items).
        target: of the measure.
        delta: probability of failure.
        budget: labels of people.
        seed: of its draws.
    """
    from BARGAIN import BARGAIN_P, BARGAIN_PR, BARGAIN_R, Oracle, Proxy

    class Scores(Proxy):  # type: ignore[misc]
        def get_preds_and_scores(self, indxs: Any, data_records: Any) -> tuple[Any, Any]:
            chosen = np.asarray(data_records).astype(int)
            return (score[chosen] > 0.5).astype(int), np.maximum(score, 1 - score)[chosen]

    class People(Oracle):  # type: ignore[misc]
        def get_pred(self, data_records: Any, indxs: Any = None) -> Any:
            chosen = np.asarray(data_records).astype(int)
            self.preds_dict.update(dict.fromkeys(chosen.tolist()))
            return truth[chosen].astype(int)

    people, rule = People(verbose=False), {"recall": BARGAIN_R, "precision": BARGAIN_P, "both": BARGAIN_PR}[measure]
    more: dict[str, Any] = {"verbose": False} if measure == "both" else {"budget": budget}
    asked = rule(Scores(verbose=False), people, delta=delta, target=target, seed=seed, **more)
    with contextlib.redirect_stdout(io.StringIO()):
        found = asked.process([str(k) for k in range(len(score))])
    return np.array(sorted(found), np.int64), people.get_number_preds()


def supg(
    measure: str, score: Array, truth: NDArray[np.bool_], target: float, delta: float, budget: int, seed: int
) -> Found:
    """SUPG's rule (IS-CI-R, IS-CI-P): `recall` or `precision` with a budget; arguments as of `bargain`."""
    random, items = np.random.default_rng(seed), len(score)
    root = np.sqrt(np.clip(score, 1e-9, 1))
    chance = 0.9 * root / root.sum() + 0.1 / items

    def draw(count: int, among: NDArray[np.int64]) -> tuple[NDArray[np.int64], Array]:
        q = chance[among] / chance[among].sum()
        places = random.choice(len(among), count, p=q)
        return among[places], 1 / (q[places] * len(among))

    everything = np.arange(items)
    if measure == "recall":
        drawn, weight = draw(budget, everything)
        hit = truth[drawn] * weight
        order = np.argsort(-score[drawn], kind="stable")
        reached = np.cumsum(hit[order])

        def threshold(level: float) -> float:
            return (
                float(score[drawn][order][np.searchsorted(reached, level * reached[-1] - 1e-12)])
                if reached[-1]
                else 0.0
            )

        first = threshold(target)
        above, below = hit * (score[drawn] >= first), hit * (score[drawn] < first)
        up, down = bound(above, delta / 2, 1), max(bound(below, delta / 2, -1), 0.0)
        cut = threshold(min(up / (up + down), 1.0)) if up + down > 0 else 0.0
        chosen = drawn
    else:
        drawn, weight = draw(budget // 2, everything)
        positives = bound(truth[drawn] * weight, delta / 2, 1) * items
        best = np.argsort(-score, kind="stable")[: min(items, max(budget, math.ceil(positives / target)))]
        more, weight = draw(budget - budget // 2, best)
        candidates = np.sort(score[more])[::-1][99::100]
        cut = np.inf
        for level in candidates:
            here = score[more] >= level
            if here.sum() > 1 and bound((truth[more] * weight)[here], delta / 2 / max(len(candidates), 1), -1) >= (
                target * bound(weight[here], 0.5, 0)
            ):
                cut = float(level)
        chosen = np.concatenate([drawn, more])
    return np.union1d(np.flatnonzero(score >= cut), chosen[truth[chosen]]), len(np.unique(chosen))


def bound(values: Array, delta: float, side: int) -> float:
    """The mean of values, and the paper's normal bound above (1) or below (-1) it."""
    return float(values.mean() + side * values.std() / math.sqrt(len(values)) * math.sqrt(2 * math.log(1 / delta)))


RULES: dict[str, Callable[..., Found]] = {"bargain": bargain, "supg": supg}
