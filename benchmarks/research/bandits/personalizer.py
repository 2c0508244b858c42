"""Regret of a caller that asks `hutch serve` through Microsoft's client of Azure Personalizer, in a known world.

    python benchmarks/research/bandits/personalizer.py [--events 2000] [--seeds 3] [--config configs/personalizer.yaml]

Three kinds of user, four articles, rewards of 0 or 1 with the chances below. Printed per seed: the regret, which is the
sum of what the best article would have given more on average, beside that of a caller that draws at random and of one
that always shows the first article; and the mean regret over the last quarter of the events.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hutch import Chain

ROOT = Path(__file__).parents[3]
CHANCES = {"ann": [0.8, 0.2, 0.3, 0.1], "bob": [0.1, 0.7, 0.3, 0.2], "cid": [0.2, 0.3, 0.15, 0.6]}
"""Of a click, by user and article."""
ARTICLES = ("sports", "politics", "food", "music")
HUTCH = [sys.executable, "-c", "from hutch.cli.main import main; main()"]


@contextmanager
def serving(config: Path, *options: str) -> Iterator[str]:
    """Serve a new model; gives the address."""
    with tempfile.TemporaryDirectory() as folder:
        Chain.from_config(config).save(Path(folder) / "loop")
        command = [*HUTCH, "serve", "loop", "--port", "0", *options]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            try:
                yield server.stdout.readline().strip()
            finally:
                server.send_signal(signal.SIGTERM)


def client_of(address: str) -> Any:
    """Microsoft's client of version 1.0."""
    from azure.cognitiveservices.personalizer import PersonalizerClient
    from msrest.authentication import CognitiveServicesCredentials

    return PersonalizerClient(address, CognitiveServicesCredentials(os.environ.get("HUTCH_TOKEN", "none")))


def regrets(client: Any, events: int, seed: int) -> list[float]:
    """What each of the choices gives less than the best one, on average."""
    from azure.cognitiveservices.personalizer.models import RankableAction, RankRequest

    world, found = random.Random(seed), []
    for _ in range(events):
        user = world.choice(list(CHANCES))
        actions = [RankableAction(id=name, features=[{"topic": name}]) for name in ARTICLES]
        answer = client.rank(RankRequest(actions=actions, context_features=[{"user": user}]))
        chance = CHANCES[user][ARTICLES.index(answer.reward_action_id)]
        client.events.reward(event_id=answer.event_id, value=float(world.random() < chance))
        found.append(max(CHANCES[user]) - chance)
    return found


def beside(events: int) -> tuple[float, float]:
    """The expected regret of a caller that draws at random, and of one that shows the first article."""
    uniform = sum(max(row) - sum(row) / len(row) for row in CHANCES.values()) / len(CHANCES)
    first = sum(max(row) - row[0] for row in CHANCES.values()) / len(CHANCES)
    return events * uniform, events * first


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--config", type=Path, default=ROOT / "configs" / "personalizer.yaml")
    options = parser.parse_args()
    uniform, first = beside(options.events)
    print(f"regret over {options.events} events: at random {uniform:.0f}, always the first article {first:.0f}")
    for seed in range(options.seeds):
        with serving(options.config.resolve()) as address:
            found = regrets(client_of(address), options.events, seed)
        last = found[-(len(found) // 4) :]
        print(f"seed {seed}: regret {sum(found):.0f}, per event of the last quarter {sum(last) / len(last):.3f}")


if __name__ == "__main__":
    main()
