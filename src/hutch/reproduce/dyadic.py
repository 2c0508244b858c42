"""`hutch reproduce dyadic`: linear and dyadic learners on simulated ratings."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.chain import Chain
from hutch.core.batch import Batch
from hutch.core.strict_json import dumps
from hutch.core.text.parser import TextParser
from hutch.pages.plots import new_figure, write_figure
from hutch.reproduce.simulate import Ratings, simulate_ratings

RANKS = (0, 1, 2, 3)
RATES = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2)
_BITS = 22
_DIVERGED = 1e30

SETTINGS: dict[str, tuple[int, dict[str, float]]] = {
    "one pass, shift 1, no decay": (1, {"learning_rate": 0.9, "l2": 0.0, "shift": 1.0}),
    "20 passes, shift 1, no decay": (20, {"learning_rate": 0.3, "l2": 0.0, "shift": 1.0}),
    "20 passes, decay 0.3": (20, {"learning_rate": 0.3, "l2": 0.3, "shift": 0.0}),
}
"""Passes and parameters of all ranks of one row of the table; rates are tuned for the linear learner."""

PUBLISHED = {"best constant": 0.701, "linear": 0.214, "rank 1": 0.198, "rank 2": 0.198, "rank 3": 0.199}
"""Error on the ratings of the source, which were never published."""

_VERDICT = """
What reproduces: no rate over five orders of magnitude makes an importance-aware learner diverge, plain gradient steps
do. What does not: on simulated ratings the dyad is not better than the linear learner. With decay of the weights it is
a tie, without it overfits the few ratings of a task; in one pass the shifted dyad gains, as its first steps are
longer. In the source a rank of three costs 1.6 times the linear learner."""


def split(seed: int = 0) -> tuple[Ratings, Ratings]:
    """Simulated ratings, 15/16 to learn from and 1/16 kept aside."""
    ratings = simulate_ratings(seed=seed)
    kept = len(ratings) // 16
    return ratings[kept:], ratings[:kept]


def constant_error(train: Ratings, test: Ratings) -> float:
    """Error of always saying the most frequent class."""
    return float(np.mean(test.labels != np.bincount(train.labels).argmax()))


_CURVES = {"importance aware": "aware", "under a scoring filter tree": "scoring", "plain gradient": "gradient"}


def learn_and_predict(chain: Chain, batch: Batch, kept: Batch, passes: int) -> tuple[NDArray[np.float32], float]:
    """Predictions of `kept` after passes over a batch, and CPU seconds of learning; kernels are compiled before."""
    chain.run_batch(kept, learn=False)
    start = time.process_time()
    for number in range(passes):
        chain.run_batch(batch)
        if number < passes - 1:
            chain.end_pass()
    seconds = time.process_time() - start
    predictions = chain.run_batch(kept, learn=False)[0].predictions
    return predictions, seconds


def tree_error(
    train: Ratings, test: Ratings, passes: int, tree: str = "filter_tree", /, **given: Any
) -> tuple[float, float, float]:
    """Error on `test`, CPU seconds and greatest weight of one dyadic learner under a tree."""
    dyadic = {"left": "rater", "right": "task", "loss": "hinge", **given}
    chain = Chain.from_config({"weights": {"bits": _BITS}, "chain": [{tree: {"classes": 5}}, {"dyadic": dyadic}]})
    batch, kept = (TextParser(chain.parser).parse(part.examples()) for part in (train, test))
    predictions, seconds = learn_and_predict(chain, batch, kept, passes)
    return float(np.mean(predictions != test.labels)), seconds, float(np.abs(chain.weights).max())


def sweep(train: Ratings, test: Ratings, rates: Sequence[float] = RATES) -> dict[str, list[float | None]]:
    """Errors after one pass of rank 2 at every rate, by importance-aware and by plain gradient steps.

    Returns:
        `rates`, `aware`, `scoring` (the same under a scoring filter tree) and `gradient`; None where it diverged.
    """
    found: dict[str, list[float | None]] = {"rates": list(rates), "aware": [], "scoring": [], "gradient": []}
    for rate in rates:
        given: dict[str, Any] = {"rank": 2, "shift": 1.0, "learning_rate": rate}
        found["aware"].append(tree_error(train, test, 1, **given)[0])
        found["scoring"].append(tree_error(train, test, 1, "scoring_filter_tree", **given)[0])
        error, _, most = tree_error(train, test, 1, **given, dynamics="gradient")
        found["gradient"].append(error if most < _DIVERGED else None)
    return found


def reproduce_dyadic(plots: Path | None, json: bool) -> None:
    """Run the comparison and print its tables, or one JSON object.

    Args:
        plots: directory for the curves; None draws none.
        json: print JSON instead of tables.
    """
    show = (lambda *texts, **how: None) if json else print
    train, test = split()
    errors: dict[str, Any] = {"best constant": constant_error(train, test)}
    show(f"{len(train)} simulated ratings to learn from, {len(test)} kept aside, hinge loss under a filter tree")
    show(f"best constant {errors['best constant']:.4f} (source: {PUBLISHED['best constant']})\n")
    show(f"{'error':<34}  linear  rank 1  rank 2  rank 3   CPU of rank 3 to linear", flush=True)
    for name, (passes, given) in SETTINGS.items():
        error, seconds, _ = zip(*(tree_error(train, test, passes, rank=rank, **given) for rank in RANKS), strict=True)
        errors[name] = {"error": error, "seconds": seconds}
        cells = "  ".join(f"{each:6.4f}" for each in error)
        show(f"{name:<34}  {cells}   {seconds[-1] / seconds[0]:.2f}", flush=True)
    show(f"{'source, on its own ratings':<34}  " + "  ".join(f"{v:6.3f}" for v in list(PUBLISHED.values())[1:]))
    curves = sweep(train, test)
    if plots is not None:
        _draw(plots / "dyadic-rates.png", curves)
    if json:
        print(dumps({"errors": errors, "sweep": curves, "published": PUBLISHED}))
        return
    print(f"\n{'learning rate, rank 2, one pass':<34}" + "".join(f"{rate:>9g}" for rate in curves["rates"]))
    for name, key in _CURVES.items():
        print(f"{name:<34}" + "".join(f"{'diverges' if e is None else f'{e:.4f}':>9}" for e in curves[key]))
    print(_VERDICT)


def _draw(path: Path, curves: dict[str, list[float | None]]) -> None:
    """Draw the errors over the learning rate; where the gradient diverges, its curve ends."""
    figure = new_figure(7, 4)
    axes = figure.add_subplot()
    for (label, key), marker in zip(_CURVES.items(), "osx", strict=True):
        kept = [pair for pair in zip(curves["rates"], curves[key], strict=True) if pair[1] is not None]
        axes.plot(*zip(*kept, strict=True), marker=marker, label=label)
    axes.set(xscale="log", xlabel="learning rate", ylabel="error on ratings kept aside", title="rank 2, one pass")
    axes.legend()
    write_figure(figure, path)
