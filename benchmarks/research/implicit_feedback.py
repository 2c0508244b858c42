"""Clicks alone: how near ranks come to those of the truth, beside popularity and the package `implicit`.

    pip install implicit; python benchmarks/research/implicit_feedback.py [--events 30000] [--seeds 3]

400 users and 200 items; user u takes item i with a probability in proportion to e^(.8 a·b + popularity), with four
normal factors each. The share is that of the ten items ranked first for each user, in what the ten most probable ones
would get.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch import Chain

USERS, ITEMS, FACTORS, FIRST = 400, 200, 4, 10
Events = tuple[NDArray[Any], NDArray[Any]]
Way = Callable[[Events], NDArray[np.float64]]
BASES: dict[str, dict[str, Any]] = {
    "`fields`, rank 8": {"fields": {"rank": 8}},
    "`dyadic`, rank 8": {"dyadic": {"left": "user", "right": "item", "rank": 8, "loss": "logistic"}},
}


def hutch(*layers: Any) -> Way:
    """The scores of a chain that learned the events once."""

    def scores(events: Events) -> NDArray[np.float64]:
        chain = Chain.from_config({"chain": list(layers)})
        chain.learn([f"1 |user u{u} |item i{i}" for u, i in zip(*events, strict=True)])
        pairs = [f"|user u{u} |item i{i}" for u in range(USERS) for i in range(ITEMS)]
        return chain.predict(pairs).reshape(USERS, ITEMS).astype(float)

    return scores


def popularity(events: Events) -> NDArray[np.float64]:
    """How often each item was taken."""
    return np.tile(np.bincount(events[1], minlength=ITEMS), (USERS, 1)).astype(float)


def implicit(name: str, **settings: Any) -> Way:
    """The scores of a model of `implicit`."""

    def scores(events: Events) -> NDArray[np.float64]:
        from implicit.als import AlternatingLeastSquares
        from implicit.bpr import BayesianPersonalizedRanking
        from scipy.sparse import coo_matrix

        made = {"als": AlternatingLeastSquares, "bpr": BayesianPersonalizedRanking}[name]
        model = made(factors=8, random_state=0, **settings)
        counts = coo_matrix((np.ones(len(events[0])), events), (USERS, ITEMS)).tocsr()
        model.fit(counts.astype(np.float32), show_progress=False)
        return np.asarray(model.user_factors @ model.item_factors.T, float)

    return scores


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=30_000)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    ways: dict[str, Way] = {"popularity": popularity}
    for name, base in BASES.items():
        ways[f"{name}, no negatives"] = hutch(base)
        for negatives in (1, 4, 10):
            ways[f"{name}, {negatives} drawn"] = hutch(
                {"sampled_negatives": {"namespace": "item", "negatives": negatives}}, base
            )
    ways |= {"implicit 0.7.3, ALS": implicit("als"), "implicit 0.7.3, BPR": implicit("bpr")}
    print("| | share | CPU s |\n|---|---|---|")
    for name, way in ways.items():
        shares, begun = [], time.process_time()
        for seed in range(options.seeds):
            random = np.random.default_rng(seed)
            likes = 0.8 * random.normal(size=(USERS, FACTORS)) @ random.normal(size=(FACTORS, ITEMS))
            chances = np.exp(likes + random.normal(size=ITEMS))
            chances /= chances.sum(axis=1, keepdims=True)
            users = random.integers(0, USERS, options.events)
            below = np.cumsum(chances, axis=1)[users]
            items = np.minimum((below < random.random((options.events, 1))).sum(axis=1), ITEMS - 1)
            try:
                scores = way((users, items))
            except ModuleNotFoundError:
                break
            best = np.sort(chances, axis=1)[:, -FIRST:].sum(axis=1)
            found = np.take_along_axis(chances, np.argsort(-scores, axis=1)[:, :FIRST], axis=1).sum(axis=1)
            shares.append(float(np.mean(found / best)))
        if shares:
            print(
                f"| {name} | {np.mean(shares):.3f} | {(time.process_time() - begun) / options.seeds:.2f} |", flush=True
            )


if __name__ == "__main__":
    main()
