"""Chains in YAML that are damaged, extreme or absurd: refused with a message, or they learn and predict numbers.

    python benchmarks/hardening/attacks/hostile_chains.py [COUNT] [SEED]

Sound chains have bytes, values, keys and layers changed; a tenth are bombs: deep, long, repeated. They run in forked
processes under limits of time and memory. A finding is a death, no end in time, an exception that is no HutchError, an
empty message, or a chain that was accepted and predicts something else than numbers without a warning.
"""

import copy
import json
import random
import tempfile
import warnings
from collections import Counter
from collections.abc import Collection
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from harness import Found, in_forks, main
from sound_chains import CHAINS

from hutch.chain import Chain
from hutch.core.errors import HutchError
from hutch.plugins.manager import installed

_MEMORY, _SECONDS = 900 << 20, 90
_VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 2, 31, 32, 62, 1 << 31, 1 << 62, 1 << 64, 10**30, 10**200, 0.5, -0.5, 1e-320),
    *(1e30, 1e308, float("inf"), float("-inf"), float("nan"), "", "x", "linear", "nan", "-1", "0x10", "a" * 5000, "\0"),
    *("é\u2028", "../../etc/passwd", "!!python/name:os.system", [], {}, [[]], [None], [1, 2, 3], ["a"], [["w", "u"]]),
    *([["w"] * 9], {"a": 1}, {"linear": {}}, {"x": {"y": {}}}, ["linear"], {1: 2}, [[["a", "b"], ["c", "d"]]], "all"),
]
_TOKENS = [
    "{",
    "}",
    "[",
    "]",
    ":",
    "- ",
    "&a ",
    "*a",
    "<<: *a",
    "!!int ",
    "!!binary ",
    "|\n",
    ">\n",
    "'",
    '"',
    "\t",
    "#",
]
_TOKENS += ["---\n", "...\n", "%YAML 9.9\n", "? ", "\0", "\ufeff", "\u2028", "1e999", "9" * 5000, "\\", "=", "@", "`"]


def _bomb(dice: random.Random) -> str:
    size = dice.choice([10, 200, 3000, 100_000])
    names = zip("bcdefgh", "abcdefg", strict=True)
    nine = "".join(f"{name}: &{name} [{','.join(['*' + below] * 9)}]\n" for name, below in names)
    chain = "chain: [linear]\n"
    return dice.choice(
        [
            "chain: " + "[" * size + "]" * size,
            "chain: " + "{a: " * size + "1" + "}" * size,
            "a: &a [x]\n" + nine + "chain: *h\n",
            "chain:\n" + "- binary\n" * size + "- linear\n",
            "chain:\n- linear: {interactions: [" + "[a, b]," * size + "]}\n",
            "chain:\n- linear: {interactions: [[" + "a," * size + "]]}\n",
            "chain:\n- ngrams: {size: " + str(size) + "}\n- linear\n",
            "chain:\n" + "- one_against_all: {classes: 100}\n" * min(size, 9) + "- linear\n",
            "chain: [" + "linear," * size + "]\n",
            "chain:\n" + "- " * size + "a\n",
            "#" * 10 * size + "\n" + chain,
            "x" * size + ": 1\n" + chain,
            chain + "seed: " + "9" * size + "\n",
            "".join(f"a{i}: 1\n" for i in range(size)),
            chain + chain,
            chain + "weights: &w {bits: *w}\n",
            "chain: &c [linear, *c]\n",
            "? " * size,
        ]
    )


def _places(node: Any) -> list[tuple[Any, Any]]:
    keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    return [place for key in keys for place in [(node, key), *_places(node[key])]]


def _parameter(dice: random.Random, config: dict[str, Any]) -> None:
    """Set some parameter of a layer to some value."""
    layers = [next(iter(entry.items())) for entry in config["chain"] if isinstance(entry, dict)]
    if not layers:
        return
    name, given = dice.choice(layers)
    if name in (known := installed().registry.reductions) and isinstance(given, dict):
        given[dice.choice([field.name for field in fields(known[name].Parameters)] or ["x"])] = copy.deepcopy(
            dice.choice(_VALUES)
        )


def made(number: int, seed: int, names: list[str]) -> tuple[str, list[str]]:
    """A chain as text, and examples of the chain that it was made from."""
    dice = random.Random(f"{seed}/{number}")
    layers, lines = CHAINS[dice.choice(names)]
    plain = [entry if isinstance(entry, dict) else {entry: {}} for entry in copy.deepcopy(layers)]
    config: dict[str, Any] = {"weights": {"bits": 10}, "chain": plain, "seed": 0, "input": {}}
    how = dice.random()
    if how < 0.1:
        return _bomb(dice), lines
    for _ in range(dice.choice([1, 1, 2, 3])):
        if how < 0.4:
            _parameter(dice, config)
        elif how < 0.7:
            node, key = dice.choice(_places(config))
            if isinstance(node, dict) and dice.random() < 0.2:
                node[dice.choice(["x", "", "linear", "bits", 1, None])] = node.pop(key)
            else:
                node[key] = copy.deepcopy(dice.choice(_VALUES))
        elif isinstance(config.get("chain"), list):
            other = dice.choice(CHAINS[dice.choice(names)][0])
            place = dice.randrange(len(config["chain"]) + 1)
            config["chain"][place : place + dice.randrange(2)] = [copy.deepcopy(other)] * dice.randrange(3)
        if not isinstance(config.get("chain"), list) or not all(
            isinstance(e, dict | str) and e for e in config["chain"]
        ):
            break
    text = json.dumps(config) if dice.random() < 0.3 else yaml.safe_dump(config, allow_unicode=True)
    if dice.random() < 0.25:
        for _ in range(dice.randint(1, 3)):
            place = dice.randrange(len(text) + 1)
            token = dice.choice(_TOKENS) if dice.random() < 0.7 else chr(dice.randrange(1, 300))
            text = text[:place] + token + text[place + dice.randrange(3) :]
    return text, lines


def _try(text: str, lines: list[str], path: Path) -> str:
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            chain = Chain.from_config(path)
            chain.learn(lines)
            found = chain.predict(lines)
            chain.save(path.with_name("model"))
        except HutchError as error:
            return "refused" if str(error).strip() else "refused without a message"
    if said:
        return "accepted with a warning"
    return "accepted" if np.isfinite(found).all() else "predicts no numbers, and says nothing"


def run(count: int, seed: int, only: Collection[str] = ()) -> Found:
    """Try so many chains.

    Args:
        count: how many.
        seed: of the changes.
        only: the sound chains to begin from; empty: all.
    """
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    findings: list[str] = []
    names = sorted(only or CHAINS)
    for name in names:  # compiles kernels before memory is limited
        Chain.from_config({"weights": {"bits": 10}, "chain": CHAINS[name][0]}).learn(CHAINS[name][1])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chain.yaml"

        def case(number: int) -> str:
            return _try(*made(number, seed, names), path)

        for number, outcome in in_forks(count, case, memory=_MEMORY, seconds=_SECONDS):
            good = outcome in ("refused", "accepted", "accepted with a warning")
            counts[outcome if good else "FOUND"] += 1
            if not good:
                findings.append(f"seed {seed} number {number}: {outcome}: {made(number, seed, names)[0][:400]!r}")
    return counts, findings


if __name__ == "__main__":
    main(__doc__, run, 5000)
