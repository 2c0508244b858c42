"""No chain that is accepted crashes, learns nothing, never asks, or says NaN: see `walk.py`."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("walk.py")


def outcomes_of(depth: int, share: float) -> dict[str, str]:
    """The outcome of each chain; a chain that ends the process has none."""
    command = [sys.executable, "-X", "faulthandler", str(PROGRAM), str(depth), str(share)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    found: dict[str, str] = {line["chain"]: line.get("outcome", "ended the process") for line in lines}
    assert done.returncode == 0, f"{list(found.items())[-1]}: {done.stderr[-2000:]}"
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("depth", "share", "sound"), [(2, 1.0, 35), (3, 1.0, 300), (4, 0.1, 200)])
def test_every_chain_is_refused_with_a_reason_or_sound(depth: int, share: float, sound: int) -> None:
    found = outcomes_of(depth, share)
    bad = {chain: outcome for chain, outcome in found.items() if outcome.split()[0] not in ("sound", "refused")}
    assert not bad
    counts = Counter(outcome.split()[0] for outcome in found.values())
    assert counts["sound"] >= sound, "too few chains are sound for this test to say much"
    for chain, outcome in found.items():
        if outcome.startswith("refused"):
            assert any(name in outcome for name in chain.replace("/", " ").split()), f"{chain}: {outcome}"
