"""Sharded layers: merging one shard is the identity, and the order of shards does not matter."""

import numpy as np
import pytest

from hutch.core.chain.engine import Engine
from hutch.core.errors import ConfigError
from hutch.distributed.merging import Arrays, Sums, absorb, add, check_divisible, learned_from
from hutch.plugins.checks.chain import Bench, batches, bench, expect, finite, run
from hutch.plugins.manager import Plugins

_SHARDS = 3
REGISTRY = Plugins(only=()).registry
_LONG = (
    "search_",
    "explore_decaying",
    "interaction_grounded",
    "few_actions",
    "recall_tree",
    "eigen_memory",
    "memory_",
    "simulate_",
    "warm_start_",
    "bandit_per_class",
    "crowd_em",
    "multinomial",
    "nat_oem",
    "offset_tree",
)
"""How the names of layers begin that take seconds."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * name.startswith(_LONG)) for name in sorted(REGISTRY.reductions)],
)
def test_one_shard_is_itself_after_the_merge_and_the_order_of_several_does_not_matter(name: str) -> None:
    made = bench(REGISTRY.reductions[name], REGISTRY)
    engine, records = made.engine(), made.records()
    try:
        check_divisible(engine)
    except ConfigError:
        pytest.skip("declares no merging")
    first, rest = records[:60], records[60:]
    run(engine, first)
    before = copied(engine)
    whole = learned(made, before, rest)
    absorb(engine, whole)
    alone = made.engine()
    alone.restore(before)
    run(alone, rest)
    alike(copied(engine), copied(alone), "after the merge of one shard", 1e-6)
    size = len(rest) // _SHARDS // 3 * 3
    parts = [learned(made, before, rest[i * size : (i + 1) * size]) for i in range(_SHARDS)]
    merged = []
    for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0)):
        engine.restore(before)
        absorb(engine, add(*(parts[i] for i in order)))
        merged.append(copied(engine))
        finite(run(engine, records, learn=False), "predictions after the merge of three shards")
    for other in merged[1:]:
        alike(other, merged[0], "after shards were merged in another order", 1e-5)


def learned(bench: Bench, before: Arrays, records: list[dict[str, object]]) -> Sums:
    """The sums that a chain learns from records, starting from a state."""
    engine = bench.engine()
    engine.restore(before)
    for batch in batches(engine, records):
        engine.run_batch(batch)
    return learned_from(engine, before)


def copied(engine: Engine) -> Arrays:
    """Copies of everything that a model holds."""
    return {name: np.array(array) for name, array in engine.arrays().items()}


def alike(got: Arrays, wanted: Arrays, what: str, tolerance: float) -> None:
    """Fail if two states differ by more than rounding."""
    for name, array in wanted.items():
        if array.dtype.kind == "f":
            close = np.allclose(got[name], array, rtol=tolerance, atol=tolerance, equal_nan=True)
        else:
            close = np.array_equal(got[name], array)
        expect(bool(close), f"{what}: {name}", "other values", "the same")
