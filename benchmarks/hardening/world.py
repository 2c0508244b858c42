"""Histories of the simulated world of tests/reliability/world.py: how many, what happened in them, what was wrong.

    python benchmarks/hardening/world.py --histories 100000 --processes 2     # from seed 0
    python benchmarks/hardening/world.py --seed 445                           # one history, with what happened in it

Prints one line of JSON; exit status 1 if something was wrong, with the seeds that show it.
"""

import argparse
import contextlib
import gc
import json
import os
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.reliability.histories import run  # noqa: E402
from tests.reliability.world import Crash, Templates  # noqa: E402

MEMORY = "/dev/shm"


def share(begin: int, end: int, until: float, plain: bool) -> tuple[int, dict[str, int], dict[int, str]]:
    """Run the histories of some seeds, as far as the time reaches: how many, what happened, what was wrong."""
    templates, counts, wrong = Templates(), Counter[str](), dict[int, str]()
    gc.freeze()  # else every collection looks at Numba
    with (
        contextlib.redirect_stderr(open(os.devnull, "w")),
        tempfile.TemporaryDirectory(dir=MEMORY if os.path.isdir(MEMORY) else None) as folder,
    ):
        for seed in range(begin, end):
            if time.perf_counter() > until:
                return seed - begin, counts, wrong
            try:
                found = run(seed, templates, Path(folder), operated=not plain)
            except (Exception, Crash) as error:
                wrong[seed] = f"{type(error).__name__}: {error}"
                continue
            counts.update(found.counts)
            counts.update(life.partition(":")[0] for life in found.lives)
            counts["learn requests"] += found.requests
    return end - begin, counts, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=int, default=1000)
    parser.add_argument("--begin", type=int, default=0, help="the first seed")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after so long")
    parser.add_argument("--seed", type=int, help="one history")
    parser.add_argument("--plain", action="store_true", help="without an operator who copies, restores and upgrades")
    given = parser.parse_args()
    if given.seed is not None:
        found = run(given.seed, Templates(), operated=not given.plain)
        print("\n".join([*found.trace, *found.lives]))
        return 0
    begun = time.perf_counter()
    size = -(-given.histories // given.processes)
    begins = range(given.begin, given.begin + given.histories, size)
    counts, wrong, done = Counter[str](), dict[int, str](), 0
    with ProcessPoolExecutor(given.processes) as pool:
        ends = [min(begin + size, given.begin + given.histories) for begin in begins]
        for some, what, bad in pool.map(
            share, begins, ends, [begun + given.seconds] * len(ends), [given.plain] * len(ends)
        ):
            done += some
            counts.update(what)
            wrong |= bad
    seconds = time.perf_counter() - begun
    print(json.dumps({"histories": done, "per_hour": round(done / seconds * 3600), "wrong": wrong, **counts}))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
