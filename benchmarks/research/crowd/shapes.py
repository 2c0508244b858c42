"""The default crowd model beside Dawid-Skene on simulated crowds of many shapes, in one run.

    python benchmarks/research/crowd/shapes.py [--crowds N] [--family NAME] [--first SEED] [--again N]

Sizes, classes, labels per item and workers are drawn anew for every crowd; each has spammers, adversaries, biased
workers and items of all difficulties (`hutch.crowd.simulate`). The other families change one thing: every worker labels
every item (complete), 10 to 35 % of the workers are adversaries (adversaries), items are equally difficult (alike) or
differ more (difficult). A difference within two standard errors of the paired accuracies is noise; --again draws each
crowd that is behind N times more, in the same shape. The oracle knows each worker's confusion, the class shares and how
difficulty is distributed: nothing is more accurate on average.
"""

import argparse
from collections.abc import Iterator
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from hutch.crowd import simulate as simulation
from hutch.crowd.data.labels import from_codes
from hutch.crowd.models.calibration import accuracy, calibrate, log_loss
from hutch.crowd.models.dawid_skene import DawidSkene
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.simulate import KINDS, SimulatedCrowd, simulate

MARGIN = 0.01
SPREADS = {"complete": 0.7, "alike": 0.0, "difficult": 1.2}
"""Standard deviation of log difficulty where labels are drawn here; that of `simulate` is 0.7."""
FAMILIES = ("usual", "adversaries", *SPREADS)
RATERS = 15
"""Workers of a complete crowd at most."""


def drawn(seed: int, family: str = "usual", again: int = 0) -> SimulatedCrowd:
    """A crowd of random shape: 60 to 2,000 items, 5 to 80 workers, 2 to 6 classes, 2 to 10 labels per item.

    Args:
        seed: of the shape and, with `again` 0, of the labels.
        family: one of `FAMILIES`.
        again: other labels of the same shape.
    """
    random = np.random.default_rng(10_000 + seed)
    items = int(np.exp(random.uniform(np.log(60), np.log(2000))))
    ratings = float(np.exp(random.uniform(np.log(2), np.log(10))))
    workers, classes = int(random.integers(5, 81)), int(random.integers(2, 7))
    kinds = dict(KINDS)
    if family == "adversaries":
        share = random.uniform(0.1, 0.35)
        kinds = {name: part * (1 - share) / (1 - KINDS["adversary"]) for name, part in KINDS.items()}
        kinds["adversary"] = share
    with patch.object(simulation, "KINDS", kinds):
        crowd = simulate(items, workers, classes, ratings, seed=1_000_000 * again + seed)
    return crowd if family not in SPREADS else redrawn(crowd, family, random)


def redrawn(crowd: SimulatedCrowd, family: str, random: np.random.Generator) -> SimulatedCrowd:
    """The crowd with redrawn labels: of every worker, or on items of another spread of difficulty."""
    labels = crowd.labels
    workers, items = labels.workers.astype(np.int64), labels.label_items.astype(np.int64)
    if family == "complete":
        present = min(len(labels.worker_names), RATERS)
        workers, items = np.tile(np.arange(present), labels.items), np.repeat(np.arange(labels.items), present)
    difficulty = np.exp(random.normal(0, SPREADS[family], labels.items))
    scores = np.log(np.maximum(crowd.confusions, 1e-300))[workers, crowd.truth[items]] * difficulty[items, None]
    codes = np.stack([workers, items, (scores + random.gumbel(size=scores.shape)).argmax(axis=1)], axis=1)
    made = from_codes(
        codes.astype(np.int32), labels.worker_names, labels.item_names, labels.classes, classes=labels.classes
    )
    return SimulatedCrowd(made, crowd.truth, crowd.kinds, crowd.confusions)


def oracle(crowd: SimulatedCrowd, spread: float) -> NDArray[np.float64]:
    """Posteriors (items, classes) of who knows everything but each item's class and difficulty."""
    labels = crowd.labels
    places, weights = np.polynomial.hermite_e.hermegauss(21)
    scores = np.log(np.maximum(crowd.confusions, 1e-300)) * np.exp(spread * places)[:, None, None, None]
    scores -= scores.max(axis=3, keepdims=True)
    scores -= np.log(np.exp(scores).sum(axis=3, keepdims=True))
    joint = np.add.reduceat(scores[:, labels.workers, :, labels.labels], labels.item_ptr[:-1], axis=0)
    shares = np.bincount(crowd.truth, minlength=len(labels.classes)) + 0.5
    joint += np.log(weights / weights.sum())[:, None] + np.log(shares / shares.sum())
    posterior = np.exp(joint - joint.max(axis=(1, 2), keepdims=True)).sum(axis=1)
    return np.asarray(posterior / posterior.sum(axis=1, keepdims=True))


def gap(crowd: SimulatedCrowd) -> float:
    """Accuracy of the default less that of Dawid-Skene."""
    found = [model.fit(crowd.labels).posterior for model in (TwoLevel(), DawidSkene())]
    return accuracy(found[0], crowd.truth) - accuracy(found[1], crowd.truth)


def measured(seeds: range, family: str) -> Iterator[tuple[list[tuple[float, float, float]], NDArray[np.float64]]]:
    """Of each crowd: accuracy, log-loss and calibrated log-loss of every method; which items each has right."""
    for seed in seeds:
        crowd = drawn(seed, family)
        counts = np.diff(crowd.labels.item_ptr)
        found = [model.fit(crowd.labels).posterior for model in (TwoLevel(), DawidSkene())]
        found.append(oracle(crowd, SPREADS.get(family, 0.7)))
        losses = [(log_loss(q, crowd.truth), log_loss(calibrate(q, counts), crowd.truth)) for q in found]
        scores = [(accuracy(q, crowd.truth), *loss) for q, loss in zip(found, losses, strict=True)]
        yield scores, np.array([q.argmax(axis=1) == crowd.truth for q in found], float)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crowds", type=int, default=200, metavar="N", help="how many")
    parser.add_argument("--family", choices=FAMILIES, default="usual", help="what they have in common")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="of the first crowd")
    parser.add_argument("--again", type=int, default=0, metavar="N", help="draws of each shape that is behind")
    arguments = parser.parse_args()
    seeds = range(arguments.first, arguments.first + arguments.crowds)
    everything = list(measured(seeds, arguments.family))
    means = np.mean([scores for scores, _ in everything], axis=0)
    for name, mean in zip(("two_level", "dawid_skene", "oracle"), means, strict=True):
        print(f"{name:<12} accuracy {mean[0]:.4f}   log-loss {mean[1]:.3f}, calibrated {mean[2]:.3f}")
    for place, name in ((0, "two_level"), (2, "oracle")):
        differences = [hits[place] - hits[1] for _, hits in everything]
        gaps = np.array([difference.mean() for difference in differences])
        errors = np.array([difference.std() / np.sqrt(len(difference)) for difference in differences])
        behind = gaps < -MARGIN
        print(f"{name} behind by more than {MARGIN}: {behind.sum()} of {len(gaps)} crowds, the most {-gaps.min():.3f}")
        print(f"  of these beyond two standard errors: {np.sum(behind & (gaps < -2 * errors))}")
        if arguments.again and not place:
            repeated(np.array(seeds)[behind], arguments.family, arguments.again)


def repeated(seeds: NDArray[np.int64], family: str, times: int) -> None:
    """Print what becomes of these shapes when other labels are drawn."""
    gaps = np.array([[gap(drawn(int(seed), family, again + 1)) for again in range(times)] for seed in seeds])
    means, errors = gaps.mean(axis=1), gaps.std(axis=1, ddof=1) / np.sqrt(times)
    print(f"  {times} more draws of each: {gaps.mean():+.4f} on average, {means.min():+.4f} in the worst shape")
    print(f"  shapes behind by more than {MARGIN} on average: {np.sum(means < -MARGIN)}", end="")
    print(f", beyond two standard errors: {np.sum(means < -MARGIN - 2 * errors)}")


if __name__ == "__main__":
    main()
