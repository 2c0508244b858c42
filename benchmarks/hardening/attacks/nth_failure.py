"""For every command that writes: the n-th write, sync, rename, statement of the store or allocation fails, for every n.

    python benchmarks/hardening/attacks/nth_failure.py [--every N] [COMMAND...]

Each time the command must say so or have done all the same, leave each file old or new, and run again give what it
would have given; tests/reliability/failing.py says what fails. Of the allocations, which are many, every N-th is tried.
Prints a line of JSON per command and kind of failure, and keeps these lines in nth_failure.jsonl, of which
`benchmarks/hardening/reliability.py --page` makes a table.
"""

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))
from tests.reliability.failing import COMMANDS, Attempts, prepare  # noqa: E402

RUNS = Path(__file__).with_suffix(".jsonl")


def main() -> int:
    """Try the commands that are named, or all; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="COMMAND", help=f"of {', '.join(COMMANDS)}")
    parser.add_argument("--every", type=int, default=1, metavar="N")
    given = parser.parse_args()
    rows = [json.loads(line) for line in RUNS.read_text().splitlines()] if RUNS.exists() else []
    told, broken = sys.stdout, 0
    with tempfile.TemporaryDirectory() as folder, open(Path(folder) / "said", "w+") as said:
        sys.stdout, sys.stderr = open(os.devnull, "w"), said

        def say() -> str:
            said.flush()
            said.seek(0)
            text = said.read()
            said.seek(0)
            said.truncate()
            return text

        os.chdir(folder)
        prepare()
        for name in given.names or COMMANDS:
            attempts = Attempts(name, say)
            for memory in (False, True):
                ends, found = Counter[str](), attempts.count(memory)
                for nth in range(1, found + 1, given.every if memory else 1):
                    try:
                        ends[attempts.fail(nth, memory)] += 1
                    except Exception as error:
                        ends["broken"] += 1
                        print(f"{type(error).__name__}: {error}"[:1000], file=sys.__stderr__)
                broken += ends["broken"]
                what = "allocations" if memory else "writes, syncs, renames, statements"
                row = {"command": name, "failed": what, "found": found, "ends": dict(ends)}
                rows = [each for each in rows if (each["command"], each["failed"]) != (name, what)] + [row]
                print(json.dumps(row), file=told, flush=True)
        os.chdir(ROOT)
        sys.stdout, sys.stderr = told, sys.__stderr__
    RUNS.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
