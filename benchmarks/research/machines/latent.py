"""PPCA by shards beside the closed form, in nats per row, and the seconds that each takes.

python benchmarks/research/machines/latent.py [--rows 70000] [--features 200] [--rank 10]
"""

import argparse
import time

import numpy as np

from hutch.distributed import em
from hutch.em.fit import Settings
from hutch.em.ppca.model import closed_form, log_likelihood


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("--rows", 70_000), ("--features", 200), ("--rank", 10), ("--iterations", 100)):
        arguments.add_argument(name, type=int, default=default)
    given = arguments.parse_args()
    random = np.random.default_rng(0)
    axes = random.normal(size=(2 * given.rank, given.features)) / np.arange(1, 2 * given.rank + 1)[:, None]
    rows = random.normal(size=(given.rows, 2 * given.rank)) @ axes + random.normal(size=(given.rows, given.features))
    begun = time.process_time()
    best = float(log_likelihood(rows, closed_form(rows, given.rank)).mean())
    print(f"closed form               {best:12.4f}              {time.process_time() - begun:6.1f} CPU s")
    for regularizer in ("exact", "none"):
        for shards in (1, 4, 16):
            begun = time.process_time()
            settings = Settings(rank=given.rank, regularizer=regularizer)
            learner = em(rows, settings, shards=shards, iterations=given.iterations)
            found = float(log_likelihood(rows, learner.parameters).mean())
            name = "sketches" if regularizer == "exact" else "batch EM"
            spent = time.process_time() - begun
            print(f"{name}, {shards:>2} shards       {found:12.4f}  {found - best:+.6f}   {spent:6.1f} CPU s")


if __name__ == "__main__":
    main()
