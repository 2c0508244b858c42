"""Attacks on what docs/reliability.md promises, with their counts.

    python benchmarks/reliability.py [--seed 0] [--share 0.01] [--keep] [NAME[=COUNT]...]
    python benchmarks/reliability.py --page

Each attack is a program of its own in benchmarks/attacks. Without names all are run, each with its share of the count
that is wanted. Prints one line of JSON per attack, `findings` empty where the promise held; exit status 1 if one broke.
`--keep` appends each to benchmarks/attacks/runs.jsonl, where what was found is put into words under `found`; `--page`
writes the table of docs/reliability.md from these lines.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "attacks"))

Found = tuple[dict[str, int], list[str]]


def _of(module: str, function: str = "run", **options: Any) -> Callable[[int, int], Found]:
    return lambda count, seed: getattr(import_module(module), function)(count, seed, **options)


def _serve_kills(what: str) -> Callable[[int, int], Found]:
    def attack(count: int, seed: int) -> Found:
        try:
            done = import_module("serve_kills").attack(count, clients=3, seed=seed, longest=1.0, what=what)
        except (RuntimeError, TimeoutError) as error:
            return {"killed": count}, [str(error)]
        return {"killed": count, f"{what} acknowledged": done.acknowledged}, []

    return attack


ATTACKS: dict[str, tuple[int, Callable[[int, int], Found]]] = {
    "commands-killed": (700, _of("kill_commands", "attack_all")),
    "page-killed": (100, _of("kill_page", "attack")),
    "serve-killed": (100, _serve_kills("examples")),
    "serve-killed-decisions": (50, _serve_kills("decisions")),
    "serve-killed-labels": (50, _serve_kills("labels")),
    "models-forged": (100_000, _of("forged_models")),
    "caches-damaged": (20_000, _of("damaged_caches")),
    "requests": (10_000, _of("hostile_requests", "attack")),
    "chains": (5_000, _of("hostile_chains")),
    "chains-deep": (2_000, _of("deep_chains")),
    "output-lost": (460, _of("lost_output", "attack")),
    "soak": (600, _of("soak", "attack")),
    "going-back": (1800, _of("going_back", "attack")),
}
"""By name: the count that is wanted, and what makes so many attempts."""


RUNS = Path(__file__).parent / "attacks" / "runs.jsonl"
PAGE = Path(__file__).parents[1] / "docs" / "reliability.md"
FAILURES = RUNS.with_name("nth_failure.jsonl")
_HEAD = "| command | tried | result | found |\n|---|---|---|---|\n"
_FAILED = "| command | what fails | how many | tried | result |\n|---|---|---|---|---|\n"


def row(run: dict[str, Any]) -> str:
    """A run as the page shows it: counts of the same end are added up, whatever they are of."""
    if "attack" in run:
        ends: Counter[str] = Counter()
        for what, times in run["counts"].items():
            ends[what.rpartition(": ")[2]] += times
        came = ", ".join(f"{times:,} {what.replace(', ', ' and ')}" for what, times in sorted(ends.items()) if times)
        command = f"`reliability.py --seed {run['seed']} {run['attack']}={run['tried']}`"
        run = {"found": "none", **run, "command": command, "tried": f"{run['tried']:,}", "came": came}
    return "| " + " | ".join(run[name] for name in ("command", "tried", "came", "found")) + " |\n"


def page(text: str) -> str:
    """The page with its tables of runs and of failures written anew."""
    for head, path, made in ((_HEAD, RUNS, row), (_FAILED, FAILURES, row_of_failures)):
        before, head, after = text.partition(head)
        rows = [made(json.loads(line)) for line in path.read_text().splitlines()]
        text = before + head + "".join(rows) + after[after.index("\n\n") + 1 :]
    return text


def row_of_failures(run: dict[str, Any]) -> str:
    """A command of `nth_failure.py` as the page shows it."""
    ends = ", ".join(f"{times} {what}" for what, times in run["ends"].items())
    return f"| `{run['command']}` | {run['failed']} | {run['found']} | {sum(run['ends'].values())} | {ends} |\n"


def main() -> int:
    """Run the attacks; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME[=COUNT]", help=f"of {', '.join(ATTACKS)}")
    parser.add_argument("--share", type=float, default=0.01, help="of the count that is wanted")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", action="store_true", help="append to benchmarks/attacks/runs.jsonl")
    parser.add_argument("--page", action="store_true", help="only write the table of docs/reliability.md")
    given, found = parser.parse_args(), False
    if given.page:
        PAGE.write_text(page(PAGE.read_text()))
        return 0
    for words in given.names or ATTACKS:
        name, _, count = words.partition("=")
        if name not in ATTACKS:
            parser.error(f"there is no attack {name!r}, wanted one of {', '.join(ATTACKS)}")
        wanted, attack = ATTACKS[name]
        tried, start = int(count or max(1, wanted * given.share)), time.time()
        counts, findings = attack(tried, given.seed)
        told = {"attack": name, "seed": given.seed, "tried": tried, "seconds": round(time.time() - start)}
        line = json.dumps({**told, "counts": dict(sorted(counts.items())), "findings": findings})
        print(line, flush=True)
        if given.keep:
            with RUNS.open("a") as file:
                file.write(line + "\n")
        found |= bool(findings)
    return int(found)


if __name__ == "__main__":
    sys.exit(main())
