"""Attacks on what docs/reliability.md promises, with their counts.

    python benchmarks/reliability.py [--models 2000] [--kills 20] [--seed 0]

Prints one line of JSON per attack, `findings` empty where the promise held; exit status 1 if one did not.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "attacks"))


def models(count: int, seed: int) -> dict[str, Any]:
    """Forged and damaged models of chains, crowds and online EM."""
    import forged_models

    counts, findings = forged_models.run(count, seed)
    return {"tried": count, **counts, "findings": findings}


def kills(count: int, seed: int) -> dict[str, Any]:
    """Kills of `hutch serve` while clients teach it."""
    import serve_kills

    try:
        done = serve_kills.attack(count, clients=3, seed=seed, longest=1.0)
    except AssertionError as error:
        return {"tried": count, "findings": [str(error)]}
    return {"tried": count, "learned": len(done.learned), "findings": []}


ATTACKS: dict[str, Callable[[int, int], dict[str, Any]]] = {"models": models, "kills": kills}


def main() -> int:
    """Run the attacks; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=2000, help="models to forge; 0 for none")
    parser.add_argument("--kills", type=int, default=20, help="kills of a server; 0 for none")
    parser.add_argument("--seed", type=int, default=0)
    given, found = parser.parse_args(), False
    for name, attack in ATTACKS.items():
        if count := getattr(given, name):
            start = time.time()
            outcome = attack(count, given.seed)
            print(json.dumps({"attack": name, "seed": given.seed, "seconds": round(time.time() - start), **outcome}))
            found |= bool(outcome["findings"])
    return int(found)


if __name__ == "__main__":
    sys.exit(main())
