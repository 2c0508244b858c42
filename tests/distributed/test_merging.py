"""Merging what chains learned: against plain NumPy, and what no chain may be divided for."""

from typing import Any

import numpy as np
import pytest

from hutch import Chain
from hutch.core.chain.declarations import Parallel
from hutch.core.errors import ConfigError, PluginError
from hutch.distributed.merging import absorb, add, check_divisible, learned_from

LINES = [f"{i % 2 * 2 - 1} |user u{i % 5} |item i{i % 7} |words w{i % 3} v{i % 11}" for i in range(90)]
SAVED = ("norms", "regularization", "learning_rate")
DYADIC = {"dyadic": {"left": "user", "right": "item", "rank": 3}}


def learned(config: Any, before: dict[str, Any], lines: list[str]) -> tuple[Chain, Any]:
    chain = Chain.from_config(config)
    chain.restore(before)
    chain.learn(lines)
    return chain, learned_from(chain, before)


def copied(chain: Chain) -> dict[str, Any]:
    return {name: np.array(array) for name, array in chain.arrays().items()}


@pytest.mark.parametrize("step", [1.0, 2.0])
def test_rows_become_the_mean_of_those_that_changed_them(step: float) -> None:
    config = {"chain": ["linear"], "weights": {"bits": 8}}
    start = Chain.from_config(config)
    start.learn(LINES[:20])
    before = copied(start)
    shards = [learned(config, before, LINES[20 + i :: 3]) for i in range(3)]
    absorb(start, add(*(sums for _, sums in shards)), step)
    then, now = before["weights"], np.stack([chain.weights for chain, _ in shards])
    changed = (now != then).any(axis=2)
    assert 0 < changed.sum(axis=0).min(initial=9, where=changed.any(axis=0)) < changed.sum(axis=0).max() == 3
    mean = then.astype(np.float64)
    for row in np.flatnonzero(changed.any(axis=0)):
        mean[row] = now[changed[:, row], row].astype(np.float64).mean(axis=0)
    mean[:, 0] = then[:, 0] + step * (mean[:, 0] - then[:, 0])
    assert np.allclose(start.weights, mean, rtol=1e-6, atol=1e-9)
    assert start.statistics.examples == len(LINES)
    assert start.statistics.sum_loss == pytest.approx(
        before["shared.sum_loss"] + sum(c.statistics.sum_loss - before["shared.sum_loss"] for c, _ in shards)
    )


def test_moments_of_labels_are_those_of_all_labels() -> None:
    random = np.random.default_rng(0)
    labels = random.normal(30, 2, 90)
    lines = [f"{y} |user u{i % 5} |item i{i % 7}" for i, y in enumerate(labels)]
    config = {"chain": [DYADIC], "weights": {"bits": 8}}
    start = Chain.from_config(config)
    start.learn(lines[:30])
    before = copied(start)
    absorb(start, add(*(learned(config, before, lines[30 + i :: 3])[1] for i in range(3))))
    found = start.layers[0].learned[0]
    assert found["label_weight"] == 90
    assert found["label_mean"] == pytest.approx(labels.mean(), rel=1e-6)
    assert found["label_squares"] == pytest.approx(((labels - labels.mean()) ** 2).sum(), rel=1e-5)


def test_one_shard_has_the_bits_of_one_process() -> None:
    config = {"chain": [{"one_against_all": {"classes": 3}}, "linear"], "weights": {"bits": 8}}
    lines = [f"{i % 3 + 1} |words w{i % 3} v{i % 11}" for i in range(60)]
    start = Chain.from_config(config)
    before = copied(start)
    alone, sums = learned(config, before, lines)
    absorb(start, sums)
    for name, array in alone.arrays().items():
        assert np.array_equal(array, start.arrays()[name]), name


@pytest.mark.parametrize(
    ("chain", "names"),
    [
        ([{"linear": {"l1": 1e-6}}], ["linear"]),
        (["active", {"ppca": {"dimension": 4, "rank": 2, "namespace": "x"}}, "linear"], ["active", "ppca"]),
    ],
)
def test_what_cannot_be_divided_is_named(chain: list[Any], names: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        check_divisible(Chain.from_config({"chain": chain}))
    assert [line.partition(":")[0].partition(".")[2] for line in str(caught.value).splitlines()] == names


@pytest.mark.parametrize(
    ("merging", "message"),
    [
        ({"norms": "add"}, "merging lacks 'learning_rate'"),
        (
            {**dict.fromkeys(SAVED, "add"), "x": "add"},
            "names an array",
        ),
        (dict.fromkeys(SAVED, "sum"), "got 'sum', wanted one of"),
        (dict.fromkeys(SAVED, "mean:y"), "got 'mean:y'"),
    ],
)
def test_a_wrong_declaration_is_told(merging: dict[str, str], message: str) -> None:
    chain = Chain.from_config({"chain": ["linear"]})
    chain.layers[0].parallel = Parallel(merging=merging)
    with pytest.raises(PluginError, match=message):
        check_divisible(chain)
