"""Random chains of four to six layers: refused with a reason, or they learn, predict, resume to the bit and ask.

    python benchmarks/hardening/attacks/deep_chains.py [COUNT] [SEED]

Layers are all that are shipped and those of the examples, each with one of a few settings. A third of the chains are
drawn at random; the others grow from their base learner, a layer at a time that the chain below takes, so that most
are accepted. They run in forked processes under limits of time and memory. A finding is a death, no end in time, an
exception that is no HutchError, a refusal that names no layer of the chain, NaN, nothing learned, a model that
predicting changes, one that resumes to other bits, or an active layer that never asks.
"""

import random
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from harness import Found, in_forks, main

from hutch.chain import Chain
from hutch.core.errors import ConfigError, DataError, HutchError
from hutch.plugins.manager import installed

_MEMORY, _SECONDS = 900 << 20, 150
_C = {"classes": 3}
_WORDS = {"namespace": "w", "dimension": 8, "features": "named"}
_ROW: dict[str, Any] = {
    "namespace": "w", "dimension": 8, "rank": 2, "features": "hashed", "block": 4, "warm_up": 6
}  # fmt: skip
_DYADIC = {"left": "w", "right": "u", "rank": 2}
_GIVEN: dict[str, list[dict[str, Any]]] = {
    "active": [
        {"budget": 0.5, "memory": 0.02},
        {"rule": "iwal", "mellowness": 1.0},
        {"rule": "vw", "mellowness": 1.0},
        {"rule": "margin", "budget": 0.5, "memory": 0.02},
    ],
    "bayesian_linear": [{**_WORDS, "loss": "logistic", "rank": 2}, {**_WORDS, "loss": "squared"}],
    "crowd_em": [{**_C, "worker": "u", "slots": 4}, {**_C, "worker": "u", "slots": 8, "passes": 2}],
    "dyadic": [_DYADIC, {**_DYADIC, "loss": "logistic", "l2": 0.01}],
    "error_correcting_tournament": [{**_C, "errors": 1}, _C],
    "explore_bag": [{"policies": 2}],
    "explore_cover": [{"policies": 2}],
    "explore_first": [{"decisions": 4}],
    "explore_top": [{"count": 2}],
    "linear": [{"loss": "logistic"}, {}, {"interactions": [["w", "u"]]}, {"l1": 1e-4, "adaptive": False}],
    "link": [{"function": "logistic"}, {}],
    "multinomial": [_C, {**_C, "probabilities": False}],
    "nat_oem": [{"mode": "step"}, {"boundary": "label"}, {"boundary": "drift"}],
    "ngrams": [{"size": 2}, {"size": 3, "skips": 1}],
    "one_against_all": [_C, {**_C, "probabilities": True}],
    "pairwise": [{"worker": "u", "slots": 8}, {}],
    "ppca": [_ROW, {**_ROW, "keep": True}],
}
"""Settings of layers; all others have three classes, where they have classes, and else their defaults."""
_BASES = ("linear", "linear", "dyadic", "ftrl_proximal", "pistol", "coin_betting", "bayesian_linear")


def _lines(takes: str, labelled: bool, begin: int, end: int) -> list[str]:
    """Examples, or blocks of them, that can be learned from the namespace `w`."""
    dice = random.Random(7)
    found = list[str]()
    for i in range(end):
        truth = dice.randrange(3)
        text = f"|w w{truth}:1 n{dice.randrange(4)}:0.5 |u r{i % 4}"
        rows: list[tuple[str, str]] = [("1" if truth else "-1", text)]
        if takes == "multiclass":
            rows = [(f"{1 + (truth if j else dice.randrange(3))}", f"{text[:-2]}r{j}") for j in range(2)]
        elif takes == "cost_sensitive":
            rows = [(" ".join(f"{k + 1}:{float(k != truth)}" for k in range(3)), text)]
        elif takes == "logged_class":
            chosen = dice.randrange(3)
            rows = [(f"{chosen + 1}:{float(chosen != truth)}:0.33", text)]
        elif takes == "action_costs":
            rows = [(f"{k}:{float(k != truth)}", f"|w w{k} c{truth} |u r{i % 4}") for k in range(3)]
        elif takes == "logged_action":
            chosen = dice.randrange(3)
            rows = [
                (f"0:{float(k != truth)}:0.33" if k == chosen else "", f"|w w{k} c{truth} |u r{i % 4}")
                for k in range(3)
            ]
        if i >= begin:
            found += [f"{label} {features}" if labelled else features for label, features in rows]
            if takes not in ("simple", "cost_sensitive", "logged_class"):
                found.append("")
    return found


def _layer(dice: random.Random, name: str) -> dict[str, Any]:
    fields = installed().registry.reductions[name].Parameters.__dataclass_fields__
    return {name: dice.choice(_GIVEN.get(name, [_C if "classes" in fields else {}]))}


def _chain(layers: list[dict[str, Any]], seed: int = 3) -> Chain:
    return Chain.from_config({"weights": {"bits": 12}, "seed": seed, "chain": layers})


def made(number: int, seed: int, names: list[str]) -> list[dict[str, Any]]:
    """The layers of a chain."""
    dice = random.Random(f"{seed}/{number}")
    depth, grown = dice.randint(4, 6), dice.random() < 2 / 3
    if not grown:
        return [_layer(dice, dice.choice(names)) for _ in range(depth - 1)] + [_layer(dice, dice.choice(_BASES))]
    layers = [_layer(dice, dice.choice(_BASES))]
    for _ in range(60):
        more = [_layer(dice, dice.choice(names)), *layers]
        try:
            _chain(more)
        except HutchError:
            continue
        layers = more
        if len(layers) == depth:
            break
    return layers


def _learned(chain: Chain) -> dict[str, Any]:
    """All but what predicting may change: statistics, and what a simulation has drawn."""
    kept = (item for item in chain.arrays().items() if not item[0].startswith("shared.") and "draws" not in item[0])
    return {name: array.copy() for name, array in kept}


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(np.array_equal(array, other[name], equal_nan=True) for name, array in one.items())


def _outputs(chain: Chain, lines: list[str], learn: bool) -> dict[str, Any]:
    found: dict[str, list[Any]] = {"predictions": [], "losses": [], "queries": []}
    for batch in chain.batches(lines):
        outputs, _ = chain.run_batch(batch, learn=learn)
        last = batch.group != np.append(batch.group[1:], -1) if chain.whole_groups else slice(None)
        for name in found:
            found[name] += np.ravel(getattr(outputs, name)[last]).tolist()
    return {name: np.array(values) for name, values in found.items()}


def try_chain(layers: list[dict[str, Any]], path: Path) -> str:
    """What comes of a chain: refused, sound, or what is wrong with it."""
    try:
        whole, first = _chain(layers), _chain(layers)
    except ConfigError as error:
        named = any(next(iter(layer)) in str(error) for layer in layers)
        return "refused" if named else f"FOUND: a refusal that names no layer: {error}"
    takes = whole.takes.value
    before, after = (_lines(takes, True, begin, begin + 16) for begin in (0, 16))
    untouched = _learned(whole)
    early = _outputs(whole, before, True)
    first.learn(before)
    if not np.isfinite(first.weights).all():
        return "overflowed, which is said"
    first.save(path)
    second = Chain.load(path)
    later = _outputs(whole, after, True)
    if not _same(later, _outputs(second, after, True)) or not _same(_learned(whole), _learned(second)):
        return "FOUND: resumed, it has other bits"
    if _same(untouched, _learned(whole)):
        return "FOUND: nothing was learned"
    kept = _learned(whole)
    predicted = _outputs(whole, after, False)
    if not _same(kept, _learned(whole)):
        return "FOUND: predicting changes it"
    asked = _outputs(whole, _lines(takes, False, 0, 32), True)
    for found in (early, later, predicted, asked):
        for name, values in found.items():
            if np.isnan(values).any() and np.isfinite(whole.weights).all():
                return f"FOUND: NaN in {name}"
    rules = [next(iter(layer.values())).get("rule") for layer in layers if "active" in layer]
    if rules and rules[0] != "iwal" and not any((each["queries"] > 0).any() for each in (early, later, asked)):
        return "FOUND: it never asks"
    return f"sound, {len(layers)} layers"


def run(count: int, seed: int) -> Found:
    """Try so many chains."""
    warnings.simplefilter("ignore")
    for folder in (Path(__file__).parents[3] / "examples").iterdir():
        sys.path.insert(0, str(folder))
    from hutch_top import ExploreTop

    registry = installed().registry
    registry.reductions[ExploreTop.name] = ExploreTop
    names = sorted(name for name, cls in registry.reductions.items() if not cls.is_base)
    counts: Counter[str] = Counter()
    findings: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"

        def case(number: int) -> str:
            try:
                return try_chain(made(number, seed, names), path)
            except DataError:
                return "refused, as it learns from other labels"

        for number, outcome in in_forks(count, case, memory=_MEMORY, seconds=_SECONDS, batch=100):
            good = outcome.startswith(("refused", "sound, ", "overflowed, "))
            counts[outcome if good else "FOUND"] += 1
            if not good:
                findings.append(f"seed {seed} number {number}: {outcome}: {made(number, seed, names)}")
    return counts, findings


if __name__ == "__main__":
    main(__doc__, run, 2000)
