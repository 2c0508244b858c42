"""The default crowd model beside Dawid-Skene on simulated crowds of many shapes, in one run.

    python benchmarks/crowd/shapes.py [--crowds N]

Sizes, classes, labels per item and workers are drawn anew for every crowd; each has spammers, adversaries, biased
workers and items of all difficulties (`hutch.crowd.simulate`). A difference within two standard errors of the paired
accuracies is noise.
"""

import argparse

import numpy as np

from hutch.crowd.models.calibration import accuracy, calibrate, log_loss
from hutch.crowd.models.dawid_skene import DawidSkene
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.simulate import SimulatedCrowd, simulate

MARGIN = 0.01


def drawn(seed: int) -> SimulatedCrowd:
    """A crowd of random shape: 60 to 2,000 items, 5 to 80 workers, 2 to 6 classes, 2 to 10 labels per item."""
    random = np.random.default_rng(10_000 + seed)
    items = int(np.exp(random.uniform(np.log(60), np.log(2000))))
    ratings = float(np.exp(random.uniform(np.log(2), np.log(10))))
    return simulate(items, int(random.integers(5, 81)), int(random.integers(2, 7)), ratings, seed=seed)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crowds", type=int, default=200, metavar="N", help="how many")
    arguments = parser.parse_args()
    scores = np.empty((arguments.crowds, 2, 3))
    gaps = np.empty((arguments.crowds, 2))
    for seed in range(arguments.crowds):
        crowd = drawn(seed)
        counts, hits = np.diff(crowd.labels.item_ptr), []
        for place, model in enumerate((TwoLevel(), DawidSkene())):
            q = model.fit(crowd.labels).posterior
            calibrated = log_loss(calibrate(q, counts), crowd.truth)
            scores[seed, place] = accuracy(q, crowd.truth), log_loss(q, crowd.truth), calibrated
            hits.append(q.argmax(axis=1) == crowd.truth)
        difference = hits[0].astype(float) - hits[1]
        gaps[seed] = difference.mean(), difference.std() / np.sqrt(len(difference))
    for place, name in enumerate(("two_level", "dawid_skene")):
        mean = scores[:, place].mean(axis=0)
        print(f"{name:<12} accuracy {mean[0]:.4f}   log-loss {mean[1]:.3f}, calibrated {mean[2]:.3f}")
    behind = gaps[:, 0] < -MARGIN
    print(f"behind by more than {MARGIN}: {behind.sum()} of {len(gaps)} crowds, the most {-gaps[:, 0].min():.3f}")
    print(f"of these beyond two standard errors: {np.sum(behind & (gaps[:, 0] < -2 * gaps[:, 1]))}")


if __name__ == "__main__":
    main()
