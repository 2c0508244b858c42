"""Regret of a caller that asks `hutch serve` through Microsoft's client of Azure Personalizer, in a known world.

    python benchmarks/research/bandits/personalizer.py [--events 2000] [--seeds 3] [--config configs/personalizer.yaml]
    python benchmarks/research/bandits/personalizer.py --apprentice 0.2

Three kinds of user, four articles, rewards of 0 or 1 with the chances below. Printed per seed: the regret, which is the
sum of what the best article would have given more on average, beside that of a caller that draws at random and of one
that always shows the first article; and the mean regret over the last quarter of the events.

With `--apprentice` the model is the apprentice of two callers, one that always shows sports and one that shows each
user the best article, and draws in that share of the events: printed is what the loop says of each in the end.
"""

import argparse
import gc
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any
from urllib.request import urlopen

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
    for event in range(events):
        if event % 100 == 0:
            gc.collect()  # this client leaves the connection of each call open until then
        user = world.choice(list(CHANCES))
        actions = [RankableAction(id=name, features=[{"topic": name}]) for name in ARTICLES]
        answer = client.rank(RankRequest(actions=actions, context_features=[{"user": user}]))
        chance = CHANCES[user][ARTICLES.index(answer.reward_action_id)]
        client.events.reward(event_id=answer.event_id, value=float(world.random() < chance))
        found.append(max(CHANCES[user]) - chance)
    return found


def apprentice(address: str, share: float, events: int, seed: int, own: Callable[[str], str]) -> str:
    """What a loop says of itself and of a caller who would show a user one article.

    Args:
        address: of the server.
        share: of the events in which the model draws.
        events: number of them.
        seed: of the world.
        own: the caller's article for a user, who puts it first.
    """
    from azure.ai.personalizer import PersonalizerAdministrationClient, PersonalizerClient
    from azure.core.credentials import AzureKeyCredential

    world, key = random.Random(seed), AzureKeyCredential("none")
    settings = {"learningMode": "Apprentice", "explorationPercentage": share}
    PersonalizerAdministrationClient(address, key).update_service_configuration(settings)
    with PersonalizerClient(address, key) as client:
        for _ in range(events):
            user = world.choice(list(CHANCES))
            names = sorted(ARTICLES, key=own(user).__ne__)
            actions = [{"id": name, "features": [{"topic": name}]} for name in names]
            answer = client.rank({"actions": actions, "contextFeatures": [{"user": user}]})
            chance = CHANCES[user][ARTICLES.index(answer["rewardActionId"])]
            client.reward(answer["eventId"], {"value": float(world.random() < chance)})
    with urlopen(f"{address}/v1/loop") as answered:
        said: str = json.load(answered)["apprentice"]["said"]
    return said


def best(user: str) -> str:
    """The best article for a user."""
    return ARTICLES[CHANCES[user].index(max(CHANCES[user]))]


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
    parser.add_argument("--apprentice", type=float, metavar="SHARE")
    options = parser.parse_args()
    if options.apprentice is not None:
        callers = {"sports": lambda user: "sports", "the best": best}
        for (name, own), seed in product(callers.items(), range(options.seeds)):
            with serving(options.config.resolve()) as address:
                said = apprentice(address, options.apprentice, options.events, seed, own)
            print(f"seed {seed}, a caller that shows {name}: {said}")
        return
    uniform, first = beside(options.events)
    print(f"regret over {options.events} events: at random {uniform:.0f}, always the first article {first:.0f}")
    for seed in range(options.seeds):
        with serving(options.config.resolve()) as address:
            found = regrets(client_of(address), options.events, seed)
        last = found[-(len(found) // 4) :]
        print(f"seed {seed}: regret {sum(found):.0f}, per event of the last quarter {sum(last) / len(last):.3f}")


if __name__ == "__main__":
    main()
