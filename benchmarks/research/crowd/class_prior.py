"""Log-loss of a crowd whose classes are as common as they are: the default beside votes and the class shares alone.

    python benchmarks/research/crowd/class_prior.py [--seeds N]

Simulated: comments of which 3 % are toxic, labelled by three of 3 or of 20 moderators; a class of .3 or 1 %; the same
with all workers taken as judges, whose probabilities are drawn towards equal shares. votes have one pseudo-vote each,
divided as all votes are.
"""

import argparse

import numpy as np

from hutch.crowd.aggregate import aggregate
from hutch.crowd.data.labels import from_triples
from hutch.crowd.models.calibration import log_loss
from hutch.crowd.models.two_level import TwoLevel

KINDS = {
    "toxic 3 %, 3 moderators": (0.03, 3, 3, 500, 0.8, 0.92),
    "toxic 3 %, 20 moderators": (0.03, 20, 3, 2000, 0.75, 0.9),
    "rare 1 %, 3 workers": (0.01, 3, 3, 3000, 0.9, 0.99),
    "rare .3 %, 3 workers": (0.003, 3, 3, 3000, 0.9, 0.99),
}
"""Share, workers, labels per item, items, sensitivity and specificity."""


def crowd(seed: int, share: float, workers: int, per: int, items: int, sensitivity: float, specificity: float):
    """Triples, and the truth by item."""
    random = np.random.default_rng(seed)
    truth, rows = random.random(items) < share, []
    for item in range(items):
        for worker in random.choice(workers, per, replace=False):
            positive = random.random() < (sensitivity if truth[item] else 1 - specificity)
            rows.append((f"w{worker}", str(item), "yes" if positive else "no"))
    return rows, truth.astype(int)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4)
    seeds = parser.parse_args().seeds
    print(f"{'log-loss':26}{'default':>9}{'votes':>9}{'shares':>9}{'judges':>9}")
    for name, kind in KINDS.items():
        found = []
        for seed in range(seeds):
            rows, truth = crowd(seed, *kind)
            labels = from_triples(rows, classes=["no", "yes"])
            truth = truth[[int(each) for each in labels.item_names]]
            counts = labels.vote_share() * np.diff(labels.item_ptr)[:, None]
            votes = (counts + counts.sum(axis=0) / counts.sum()) / (counts.sum(axis=1, keepdims=True) + 1)
            alone = np.tile(np.bincount(truth, minlength=2) / len(truth), (len(truth), 1))
            several = (
                aggregate(labels).probability,
                votes,
                alone,
                aggregate(labels, TwoLevel(judges=True)).probability,
            )
            found.append([log_loss(each, truth) for each in several])
        print(f"{name:26}" + "".join(f"{value:9.3f}" for value in np.mean(found, axis=0)))


if __name__ == "__main__":
    main()
