"""A model of decisions under another explorer: the layers below go on where they were."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hutch.chain import Chain
from hutch.core.chain.model_of_chain import load_chain_model
from hutch.other_explorers import with_explorers

BELOW = ["contextual_bandit", "cost_sensitive_with_features", "linear"]


def decisions(count: int, seed: int) -> list[str]:
    random, lines = np.random.default_rng(seed), []
    for _ in range(count):
        good, chosen = random.integers(3, size=2)
        for k in range(3):
            label = f"0:{float(k != good)}:0.333 " if k == chosen else ""
            lines.append(f"{label}|a {'good' if k == good else 'bad'} x{random.integers(5)}")
        lines.append("")
    return lines


def moved(chain: Chain, layers: list[Any], folder: Path) -> Chain | None:
    chain.save(folder / "model")
    config = Chain.from_config({"chain": layers}).config.to_dict()
    found = with_explorers(*load_chain_model(folder / "model"), config)
    return None if found is None else Chain.from_arrays(*found, "model", config=config)


@pytest.mark.parametrize("before", [["explore_epsilon"], [], ["sample_action", "explore_softmax"]])
@pytest.mark.parametrize("after", [["explore_squarecb"], [], [{"explore_softmax": {"rate": 2}}]])
def test_what_was_learned_below_goes_on(tmp_path: Path, before: list[Any], after: list[Any]) -> None:
    first, second = decisions(200, 0), decisions(50, 1)
    old = Chain.from_config({"chain": [*before, *BELOW]})
    old.learn(first)
    new = moved(old, [*after, *BELOW], tmp_path)
    assert new is not None
    names = [name for name in new.arrays() if ".linear." in name or name == "weights"]
    depth = len(before) - len(after)
    for name in names:
        number = int(name.split(".")[1]) + depth if name != "weights" else 0
        was = old.arrays()[name if name == "weights" else f"layer.{number}.{name.split('.', 2)[2]}"]
        np.testing.assert_array_equal(new.arrays()[name], was)
    assert new.statistics.examples == old.statistics.examples
    scores = [moved(chain, BELOW, tmp_path).predict(second) for chain in (old, new)]  # type: ignore[union-attr]
    np.testing.assert_array_equal(*scores)
    new.learn(second)
    new.save(tmp_path / "again")
    np.testing.assert_array_equal(Chain.load(tmp_path / "again").weights, new.weights)


@pytest.mark.parametrize(
    "layers",
    [
        [{"explore_bag": {"policies": 4}}, *BELOW],  # several models
        ["explore_epsilon", *BELOW[:2], "coin_betting"],
        ["linear"],
    ],
)
def test_other_layers_below_are_not_the_same_model(tmp_path: Path, layers: list[Any]) -> None:
    old = Chain.from_config({"chain": ["explore_epsilon", *BELOW]})
    assert moved(old, layers, tmp_path) is None
