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
from collections.abc import Mapping, Sequence
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
        tempfile.tempdir = folder  # copies that are made to be verified
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


ROWS = {
    "machine or server dies": ["crashed"],
    "server ends with an error, such as a full disk": ["failed"],
    "server stops in order": ["stopped"],
    "write, sync, rename, statement or allocation fails": [" error"],
    "backup while the server learns: proved": ["operator: backup: proved"],
    "the same, and the machine dies": ["operator: backup: died with the machine"],
    "copy by hand, model first": ["operator: copy by hand"],
    "`hutch serve restore`": ["operator: restore"],
    "the same, where later entries would go: named first": ["operator: restore: later entries named"],
    "the same, and the machine dies: a start in between refuses": ["operator: start after half a restore: refused"],
    "the same: a start in between finds the old or the new state whole": [
        "operator: start after half a restore: whole"
    ],
    "restore by hand": ["operator: restore by hand: stopped", "operator: restore by hand: by hand"],
    "an earlier save is put back: learned again": ["operator: an earlier save: learned again"],
    "some older files are put back: refused by name": [
        "operator: old files: refused",
        "operator: an earlier save: refused",
    ],
    "the same: nothing is missing": ["operator: old files: harmless"],
    "the same, with the whole log: a restore": ["operator: old files: the whole log"],
    "upgrade to a version that learns the same": ["operator: upgrade"],
    "start of a version that learns otherwise: refused, receipts differ": ["operator: another version: refused"],
    "the same: no client was told anything else": ["operator: another version: equal"],
    "second server, with locks: refused": ["operator: a second server, with locks"],
    "second server, without locks: the first one stops": ["operator: a second server, without locks"],
    "decision learned with the default, as no reward came in time": ["learned by default"],
    "learn requests and rewards": ["learn requests"],
}
"""What happens in histories, and the counts that say how often; one that begins with a blank stands for all with it."""


def table(counts: Mapping[str, int]) -> str:
    """What happened, as a table in Markdown."""

    def often(names: Sequence[str]) -> int:
        ends = [sum(n for what, n in counts.items() if what.endswith(f":{name}")) for name in names if name[0] == " "]
        return sum(ends) + sum(counts.get(name, 0) for name in names)

    return "\n".join(
        ["| what happens | times |", "|---|---|", *(f"| {what} | {often(of):,} |" for what, of in ROWS.items())]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=int, default=1000)
    parser.add_argument("--begin", type=int, default=0, help="the first seed")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after so long")
    parser.add_argument("--seed", type=int, help="one history")
    parser.add_argument("--table", action="store_true", help="print what operators did as a table instead")
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
    if given.table:
        print(table(counts))
        return 1 if wrong else 0
    print(json.dumps({"histories": done, "per_hour": round(done / seconds * 3600), "wrong": wrong, **counts}))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
