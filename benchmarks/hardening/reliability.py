"""Attacks on the guarantees of docs/reliability.md, with their counts.

    python benchmarks/hardening/reliability.py [--seed 0] [--share 0.01] [--keep] [NAME[=COUNT]...]
    python benchmarks/hardening/reliability.py --page

Each attack is a program of its own in `attacks/`. Without names all are run, each with its share of the count that is
wanted. Prints one line of JSON per attack, `findings` empty if it found nothing; exit status 1 if it did.
`--keep` appends each to `attacks/runs.jsonl`, where `found` describes violations in words; `--page` writes the counts
of docs/reliability.md and the tables of benchmarks/results/reliability.md from these lines.
"""

import argparse
import json
import re
import sys
import time
from collections import Counter, defaultdict
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
FAILURES = RUNS.with_name("nth_failure.jsonl")
DOCS = Path(__file__).parents[2] / "docs"
PAGES = (DOCS / "reliability.md", DOCS.parent / "benchmarks" / "results" / "reliability.md")
PROGRAMS = {
    "commands-killed": ("kill_commands", "kills"),
    "page-killed": ("kill_page", "kills"),
    "serve-killed": ("serve_kills", "kills"),
    "serve-killed-decisions": ("serve_kills", "kills"),
    "serve-killed-labels": ("serve_kills", "kills"),
    "models-forged": ("forged_models", "models"),
    "caches-damaged": ("damaged_caches", "files"),
    "requests": ("hostile_requests", "requests"),
    "chains": ("hostile_chains", "chains"),
    "chains-deep": ("deep_chains", "chains"),
    "output-lost": ("lost_output", "commands"),
    "soak": ("soak", "seconds"),
    "going-back": ("going_back", "seconds"),
}
"""By attack: its program, and what it counts."""
_RUNS = "| command | tried | result | violations |\n|---|---|---|---|\n"
_FAILED = "| command | writes, syncs, renames, statements | allocations |\n|---|---|---|\n"
_GUARANTEES = "| guarantee | mechanism | tested by | tried | violations |\n|---|---|---|---|---|\n"


def page(text: str) -> str:
    """The page with its generated tables and counts written again."""
    runs = [_run(json.loads(line)) for line in RUNS.read_text().splitlines()]
    failures = [json.loads(line) for line in FAILURES.read_text().splitlines()]
    text = _filled(text, _RUNS, lambda _: [_line(run) for run in runs])
    text = _filled(text, _FAILED, lambda _: _failure_lines(failures))
    counts = _counts(runs)
    counts["nth_failure"]["failures"] = sum(sum(run["ends"].values()) for run in failures)
    return _filled(text, _GUARANTEES, lambda lines: [_counted(line, counts) for line in lines])


def _filled(text: str, head: str, lines_of: Callable[[list[str]], list[str]]) -> str:
    """The text with new lines below the head of a table, if it has this table."""
    before, head, after = text.partition(head)
    if not head:
        return before
    end = after.find("\n\n") + 1 if not after.startswith("\n") else 0
    return before + head + "".join(line + "\n" for line in lines_of(after[:end].splitlines())) + after[end:]


def _run(run: dict[str, Any]) -> dict[str, str]:
    """A run in words: command, tried, result, found. Counts with the same end are added up."""
    if "attack" not in run:
        return run
    ends: Counter[str] = Counter()
    for what, times in run["counts"].items():
        ends[what.rpartition(": ")[2]] += times
    return {
        "command": f"`reliability.py --seed {run['seed']} {run['attack']}={run['tried']}`",
        "tried": f"{run['tried']:,} {PROGRAMS[run['attack']][1]}",
        "came": ", ".join(f"{times:,} {what.replace(', ', ' and ')}" for what, times in sorted(ends.items()) if times),
        "found": run.get("found", "none"),
    }


def _line(run: dict[str, str]) -> str:
    return "| " + " | ".join(run[name] for name in ("command", "tried", "came", "found")) + " |"


def _failure_lines(failures: list[dict[str, Any]]) -> list[str]:
    """A line per command: of how many failures which ends were seen."""
    cells: dict[str, list[str]] = {}
    for run in failures:
        ends = ", ".join(f"{times} {'reported' if what == 'said' else what}" for what, times in run["ends"].items())
        cells.setdefault(run["command"], []).append(f"{ends} of {run['found']}")
    return [f"| `{command}` | {' | '.join(found)} |" for command, found in cells.items()]


def _counts(runs: list[dict[str, str]]) -> dict[str, Counter[str]]:
    """By program: how much of what was tried, and the number of violations."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for run in runs:
        attack = re.search(r"([a-z-]+)=\d", run["command"])
        program = re.search(r"(\w+)\.(?:py|run)\b", run["command"])
        tried = re.match(r"(\d[\d,]*) (\w+)", run["tried"])
        if tried and (attack or program):
            name = PROGRAMS[attack[1]][0] if attack else program[1] if program else ""
            counts[name][tried[2]] += int(tried[1].replace(",", ""))
            violations = re.match(r"\d+", run["found"])
            counts[name]["violations"] += int(violations[0]) if violations else 0
    return counts


def _counted(line: str, counts: dict[str, Counter[str]]) -> str:
    """A guarantee with the counts of the programs that test it."""
    cells = [cell.strip() for cell in line[1:-1].split("|")]
    total: Counter[str] = Counter()
    for name in re.findall(r"(\w+)\.py`", cells[2]):
        total.update(counts.get(name, {}))
    if not total:
        return line
    violations = total.pop("violations", 0)
    tried = ", ".join(f"{number:,} {what}" for what, number in total.items())
    return "| " + " | ".join([*cells[:3], tried, str(violations)]) + " |"


def main() -> int:
    """Run the attacks; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME[=COUNT]", help=f"of {', '.join(ATTACKS)}")
    parser.add_argument("--share", type=float, default=0.01, help="of the count that is wanted")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", action="store_true", help="append to benchmarks/hardening/attacks/runs.jsonl")
    parser.add_argument("--page", action="store_true", help="only write the tables of the pages")
    given, found = parser.parse_args(), False
    if given.page:
        for path in PAGES:
            path.write_text(page(path.read_text()))
        return 0
    for words in given.names or ATTACKS:
        name, _, count = words.partition("=")
        if name not in ATTACKS:
            parser.error(f"there is no attack {name!r}, wanted one of {', '.join(ATTACKS)}")
        wanted, attack = ATTACKS[name]
        tried, start = int(count or max(1, wanted * given.share)), time.time()
        counts, findings = attack(tried, given.seed)
        made = {"attack": name, "seed": given.seed, "tried": tried, "seconds": round(time.time() - start)}
        line = json.dumps({**made, "counts": dict(sorted(counts.items())), "findings": findings})
        print(line, flush=True)
        if given.keep:
            with RUNS.open("a") as file:
                file.write(line + "\n")
        found |= bool(findings)
    return int(found)


if __name__ == "__main__":
    sys.exit(main())
