"""Every pair and triple of the shipped layers over each base learner: refused, or sound.

A program, because a chain that is not sound may end its process: it prints a line before each chain that it runs, and
one for what came of it, which `test_walk.py` reads. Its arguments are the depth (2: one layer over a base, 3: two, 4:
three), the share of the chains to run, and a file for the outcomes: a sound chain has a digest of all that it predicted
and learned, so that two versions can be compared.
"""

import hashlib
import itertools
import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.chain.engine import Engine
from hutch.core.chain.reduction import Labels, LayerConfig
from hutch.core.chain.registry import Registry
from hutch.core.config.adapter import checked
from hutch.core.data.sources import to_batches
from hutch.core.errors import ConfigError
from hutch.core.text.parser import ParserOptions
from hutch.plugins.manager import installed

BITS, CLASSES, ITEMS = 12, 3, 16

LAYERS: dict[str, tuple[str, dict[str, Any]]] = {
    "active": ("active", {"budget": 0.5, "memory": 0.02}),
    "active iwal": ("active", {"rule": "iwal", "mellowness": 1.0}),
    "active vw": ("active", {"rule": "vw", "mellowness": 1.0}),
    "active margin": ("active", {"rule": "margin", "budget": 0.5, "memory": 0.02}),
    "binary": ("binary", {}),
    "cost_sensitive_filter_tree": ("cost_sensitive_filter_tree", {"classes": CLASSES}),
    "cost_sensitive_one_against_all": ("cost_sensitive_one_against_all", {"classes": CLASSES}),
    "cost_sensitive_scoring_filter_tree": ("cost_sensitive_scoring_filter_tree", {"classes": CLASSES}),
    "crowd_em": ("crowd_em", {"classes": CLASSES, "worker": "worker", "slots": 8}),
    "error_correcting_tournament": ("error_correcting_tournament", {"classes": CLASSES, "errors": 1}),
    "filter_tree": ("filter_tree", {"classes": CLASSES}),
    "hedge": ("hedge", {"copies": [{}, {}]}),
    "link": ("link", {"function": "logistic"}),
    "low_rank_quadratic": ("low_rank_quadratic", {"pairs": [{"namespaces": ["left", "right"], "rank": 2}]}),
    "nat_oem": ("nat_oem", {"mode": "step"}),
    "ngrams": ("ngrams", {"size": 2}),
    "one_against_all": ("one_against_all", {"classes": CLASSES}),
    "ppca": ("ppca", {"namespace": "words", "dimension": 4, "features": "hashed", "rank": 2, "block": 3, "warm_up": 4}),
    "random_features": ("random_features", {"namespace": "words", "count": 4}),
    "scoring_filter_tree": ("scoring_filter_tree", {"classes": CLASSES}),
    "standardise": ("standardise", {}),
}  # fmt: skip
BASES: dict[str, tuple[str, dict[str, Any]]] = {
    "linear": ("linear", {"loss": "logistic"}),
    "dyadic": ("dyadic", {"left": "left", "right": "right", "rank": 2, "loss": "logistic"}),
}


def stacks(depth: int) -> Iterator[tuple[str, ...]]:
    """The names of all chains of so many layers, the base learner included."""
    return itertools.product(*[LAYERS] * (depth - 1), BASES)


def configured(names: tuple[str, ...], known: Registry) -> list[LayerConfig]:
    found = []
    for name in names:
        layer, given = (LAYERS | BASES)[name]
        found.append(LayerConfig(layer, checked(known.reductions[layer].Parameters, given)))
    return found


def records(takes: Labels) -> list[dict[str, Any]]:
    """Items of two lines each, learnable from the namespace `words`; every third has no label."""
    random, found, truths = np.random.default_rng(0), [], list[int]()
    for i in range(2 * ITEMS):
        truth = int(random.integers(CLASSES)) if i % 2 == 0 else truths[-1]
        truths.append(truth)
        label: Any = truth + 1
        if takes is Labels.SIMPLE:
            label = 1.0 if truth else -1.0
        elif takes is Labels.COST_SENSITIVE:
            label = {k + 1: float(k != truth) for k in range(CLASSES)}
        record = {
            "worker": [f"v{i % 3}"],
            "left": {f"l{random.integers(4)}": 1.0},
            "right": {f"r{random.integers(4)}": 1.0},
            "words": {f"w{truth}": 1.0, f"n{random.integers(4)}": 0.5},
        }
        found.append(record if i % 6 == 5 else {"label": label, **record})
    return found


class Unsound(Exception):
    """The fault of a chain that was not refused."""


@cache
def batch_of(parser: ParserOptions, start: int, stop: int, labelled: bool) -> Batch:
    """Some of the examples, as a chain sees them that reads its input so."""
    takes = Labels(parser.label)
    examples = records(takes)[start:stop]
    if not labelled:
        examples = [{name: value for name, value in record.items() if name != "label"} for record in examples]
    [batch] = to_batches(examples, parser)
    batch.group[:] = np.arange(start, stop) // 2
    return batch


def outputs(
    engine: Engine, start: int, stop: int, learn: bool, labelled: bool = True
) -> dict[str, NDArray[np.float32]]:
    """Predictions, losses and queries of the last lines of groups, else of all."""
    batch = batch_of(engine.parser, start, stop, labelled)
    found, _ = engine.run_batch(batch, learn=learn)
    last = batch.group != np.append(batch.group[1:], -1) if engine.whole_groups else slice(None)
    return {name: getattr(found, name)[last] for name in ("predictions", "losses", "queries", "raw")}


def learned(engine: Engine) -> dict[str, NDArray[Any]]:
    return {name: array.copy() for name, array in engine.arrays().items()}


def check_finite(found: dict[str, NDArray[Any]], when: str) -> None:
    for name, array in found.items():
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise Unsound(f"{when}: {name} is not a number")


def check_same(got: dict[str, NDArray[Any]], wanted: dict[str, NDArray[Any]], when: str) -> None:
    for name, array in wanted.items():
        if not np.array_equal(array, got[name], equal_nan=True):
            raise Unsound(f"{when}: {name} differs")


def digest(*found: dict[str, NDArray[Any]]) -> str:
    code = hashlib.sha256()
    for arrays in found:
        for name, array in sorted(arrays.items()):
            code.update(name.encode() + np.ascontiguousarray(array).tobytes())
    return code.hexdigest()[:16]


def try_chain(layers: list[LayerConfig], known: Registry) -> str:
    """Train, resume, predict and ask.

    Returns:
        A digest of predictions and of all that was learned.

    Raises:
        ConfigError: the chain is refused.
        Unsound: it is not, and should have been.
    """
    whole, first, second = (Engine(layers, known, bits=BITS, seed=3) for _ in range(3))
    untouched = learned(whole)
    outputs(whole, 0, ITEMS, True)
    early = outputs(first, 0, ITEMS, True)
    later = outputs(whole, ITEMS, 2 * ITEMS, True)
    second.restore(learned(first))
    check_same(outputs(second, ITEMS, 2 * ITEMS, True), later, "resumed")
    check_same(learned(second), learned(whole), "resumed")
    for when, found in (("first half", early), ("second half", later), ("learned", learned(whole))):
        check_finite(found, when)
    if all(np.array_equal(array, untouched[name]) for name, array in learned(whole).items() if "shared" not in name):
        raise Unsound("nothing was learned")
    asks = any(layer.name == "active" and layer.parameters.rule != "iwal" for layer in whole.layers)
    before = learned(whole)
    predicted = outputs(whole, 0, 2 * ITEMS, False)
    check_finite(predicted, "predicting")
    after = learned(whole)
    check_same(
        {name: array for name, array in after.items() if "shared." not in name},
        {name: array for name, array in before.items() if "shared." not in name},
        "after predicting",
    )
    asked = outputs(whole, 0, 2 * ITEMS, True, labelled=False)
    check_finite(asked, "asking")
    if asks and not ((early["queries"] > 0).any() or (later["queries"] > 0).any() or (asked["queries"] > 0).any()):
        raise Unsound("it never asks")
    return digest(early, later, predicted, asked, learned(whole))


def walk(depth: int, share: float = 1.0) -> Iterator[tuple[str, str]]:
    """Each chain, or a random share of them, and what came of it; a line on standard output goes before each run."""
    known, random = installed().registry, np.random.default_rng(depth)
    for names in stacks(depth):
        if random.random() >= share:
            continue
        chain = " / ".join(names)
        print(json.dumps({"chain": chain}), flush=True)
        try:
            outcome = f"sound {try_chain(configured(names, known), known)}"
        except (ConfigError, ValueError) as error:
            outcome = f"refused {error}"
        except Exception as error:
            outcome = f"unsound {type(error).__name__}: {error}"
        print(json.dumps({"chain": chain, "outcome": outcome}), flush=True)
        yield chain, outcome


if __name__ == "__main__":
    outcomes = dict(walk(int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 1.0))
    if len(sys.argv) > 3:
        Path(sys.argv[3]).write_text(json.dumps(outcomes, indent=0))
