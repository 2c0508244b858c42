"""CPU time of `hutch vw` and of Vowpal Wabbit on logged decisions: whole processes, in turns.

    pip install vowpalwabbit==9.11.9
    python benchmarks/speed/decisions.py [--decisions 100000] [--rounds 3] [--only NAME]

Each decision has 4 actions of 10 features and 10 features that they share; `-q UA` makes 120 features of an action.
Printed are the least user and system seconds of the rounds, and the mean losses, which must agree; then the
microseconds of CPU that a decision takes which a Python program hands to `Workspace.learn`, and to a `Chain` as a text
and as a record.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from hutch import Chain

_BIN = Path(sys.executable).parent
TASKS = {
    "epsilon": ("text", "--cb_explore_adf -q UA"),
    "squarecb": ("text", "--cb_explore_adf --squarecb -q UA"),
    "regcb": ("text", "--cb_explore_adf --regcb -q UA"),
    "epsilon, dsjson": ("dsjson", "--cb_explore_adf --dsjson -q UA"),
}


ONE_BY_ONE = "one by one"


def _features(rng: random.Random, letter: str, count: int) -> dict[str, float]:
    names = rng.sample(range(count), 10)
    return {f"{letter}{k}": 1 if rng.random() < 0.5 else round(rng.random() + 0.005, 2) for k in names}


def write_data(folder: Path, decisions: int) -> None:
    """The same decisions as text and as JSON."""
    rng = random.Random(7)
    with open(folder / "text", "w") as text, open(folder / "dsjson", "w") as log:
        for _ in range(decisions):
            shared, chosen = _features(rng, "u", 200), rng.randrange(4)
            actions = [_features(rng, "a", 500) for _ in range(4)]
            cost = round(
                min(1.0, max(0.0, sum(int(name[1:]) for name in actions[chosen]) / 5000 + rng.gauss(0, 0.2))), 3
            )
            text.write("shared |U " + _words(shared) + "\n")
            for k, action in enumerate(actions):
                text.write((f"{k}:{cost}:0.25 " if k == chosen else "") + "|A " + _words(action) + "\n")
            text.write("\n")
            label = {
                "_label_cost": cost,
                "_label_probability": 0.25,
                "_label_Action": chosen + 1,
                "_labelIndex": chosen,
            }
            context = {"U": shared, "_multi": [{"A": action} for action in actions]}
            line = {**label, "a": [1, 2, 3, 4], "c": context, "p": [0.25] * 4}
            log.write(json.dumps(line, separators=(",", ":")) + "\n")


def _words(features: dict[str, float]) -> str:
    return " ".join(name if value == 1 else f"{name}:{value}" for name, value in features.items())


def seconds_and_loss(command: list[str], folder: Path) -> tuple[float, str]:
    """User and system seconds of a process, and the loss that it prints."""
    with open(folder / "told", "w") as told:
        plain = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        process = subprocess.Popen(command, cwd=folder, stderr=told, stdout=subprocess.DEVNULL, env=plain)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    found = (folder / "told").read_text()
    if process.returncode:
        raise RuntimeError(found)
    [loss] = re.findall(r"^average loss = (\S+)", found, re.MULTILINE)
    return usage.ru_utime + usage.ru_stime, loss


CHAIN = [
    "explore_epsilon",
    "contextual_bandit",
    "cost_sensitive_with_features",
    {"linear": {"interactions": [["U", "A"]]}},
]


def workspace(module: str) -> Callable[[str], object]:
    """What a `Workspace` learns with."""
    learn: Callable[[str], object] = import_module(module).Workspace("--cb_explore_adf -q UA --quiet").learn
    return learn


def record_of(text: str) -> dict[str, Any]:
    """A decision's lines as a record."""
    lines = text.strip().splitlines()
    found: dict[str, Any] = {"actions": []}
    for k, line in enumerate(lines):
        label, features = line.split("|")
        namespace, *words = features.split()
        pairs = [word.partition(":") for word in words]
        row = {namespace: {name: float(value or 1) for name, _, value in pairs}}
        if k == 0:
            found["shared"] = row
            continue
        found["actions"].append(row)
        if label:
            found["chosen"] = k - 1
            _, found["cost"], found["probability"] = map(float, label.split(":"))
    return found


def microseconds(learn: Callable[[Any], object], decisions: Sequence[Any], rounds: int) -> float:
    """The least mean CPU time of a decision."""
    best = float("inf")
    for _ in range(rounds):
        begun = time.process_time()
        for decision in decisions:
            learn(decision)
        best = min(best, time.process_time() - begun)
    return best / len(decisions) * 1e6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=[*TASKS, ONE_BY_ONE])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_data(folder, options.decisions)
        print(f"{'':16}{'hutch':>8}{'VW':>8}{'ratio':>7}  losses")
        for task, (data, arguments) in TASKS.items():
            if options.only not in (None, task):
                continue
            words = ["-d", data, *arguments.split()]
            tools = {"hutch": [str(_BIN / "hutch"), "vw", *words], "VW": [str(_BIN / "vw"), *words]}
            if not (_BIN / "vw").exists():
                tools["VW"] = [sys.executable, "-m", "vowpalwabbit", *words]
            seconds_and_loss(tools["hutch"], folder)  # compiles
            least, losses = dict.fromkeys(tools, float("inf")), dict.fromkeys(tools, "")
            for _ in range(options.rounds):
                for tool, command in tools.items():
                    used, losses[tool] = seconds_and_loss(command, folder)
                    least[tool] = min(least[tool], used)
            ratio = least["hutch"] / least["VW"]
            told = f"{losses['hutch']} {losses['VW']}"
            print(f"{task:16}{least['hutch']:8.2f}{least['VW']:8.2f}{ratio:7.2f}  {told}", flush=True)
        if options.only in (None, ONE_BY_ONE):
            some = (folder / "text").read_text().split("\n\n", 2000)[:-1]
            ways = workspace("hutch.vw"), workspace("vowpalwabbit")
            ours, theirs = (microseconds(learn, some, options.rounds) for learn in ways)
            print(f"{ONE_BY_ONE:16}{ours:8.1f}{theirs:8.1f}{ours / theirs:7.2f}  µs")
            chain = Chain.from_config({"chain": CHAIN})
            found = (microseconds(call, some, options.rounds) for call in (chain.learn, chain.predict))
            print("{:26}{:8.1f}{:8.1f}".format("Chain.learn, .predict", *found), " µs")
            records = list(map(record_of, some))
            found = (microseconds(call, records, options.rounds) for call in (chain.learn, chain.predict))
            print("{:26}{:8.1f}{:8.1f}".format("the same with records", *found), " µs")


if __name__ == "__main__":
    main()
