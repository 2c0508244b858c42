"""Every layer gives the same bits as machine code and interpreted by CPython; with HUTCH_CHECKED=1 also with checks."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hutch.core.kernel.decorators import INTERPRETED
from hutch.core.loss.losses import LossLabels
from hutch.plugins.checks.chain import Bench, bench, learned, run
from hutch.plugins.manager import Plugins

REGISTRY = Plugins(only=()).registry
USUAL = 9  # examples, in three groups
LONG = {"multinomial": 3, "nat_oem": 9, "ppca": 9, "bayesian_linear": 9, "crowd_em": 24, "action_per_class": 24}
LONG |= dict.fromkeys(
    ("few_actions", "explore_decaying", "interaction_grounded", "recall_tree", "eigen_memory_tree"),
    USUAL("explore_decaying", "interaction_grounded", "recall_tree", "eigen_memory_tree", "memory_tree"),
    USUAL,
)
"""Examples of layers that are slow in CPython, some of which stand above 4096 dimensions, or slow to compile."""
_LONG = ("search_", "simulate_", "warm_start_", "bandit_per_class", "crowd_em", "multinomial", "nat_oem", "offset_tree")
"""How the names of layers begin that take seconds."""
OTHERS: dict[str, dict[str, Any]] = {
    "active": {"rule": "iwal"},
    "dyadic": {"left": "left", "right": "right", "rank": 3, "dynamics": "exact", "interactions": [["left", "words"]]},
    "linear": {"adaptive": False, "normalized": False, "l1": 1e-4, "l2": 1e-4, "interactions": [["left", "right"]]},
    "one_against_all": {"classes": 3},
}
"""Parameters that run other kernels than the defaults."""


@contextmanager
def interpreted() -> Iterator[None]:
    INTERPRETED.add("1")
    try:
        yield
    finally:
        INTERPRETED.remove("1")


def outcome(made: Bench, count: int) -> tuple[Any, Any, dict[str, Any]]:
    """Predictions while learning and afterwards, and all that was learned."""
    engine, records = made.engine(), made.records(2 * count, seed=7)
    return run(engine, records[:count]), run(engine, records[count:], learn=False), learned(engine)


def compare(made: Bench, count: int) -> None:
    first, then, state = outcome(made, count)
    with interpreted():
        again, later, other = outcome(made, count)
    assert again.tobytes() == first.tobytes()
    assert later.tobytes() == then.tobytes()
    assert list(other) == list(state)
    assert [name for name, array in state.items() if array.tobytes() != other[name].tobytes()] == []
    assert any(array.any() for array in state.values() if array.dtype.kind == "f")  # something was learned


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in LONG or name.startswith(_LONG)))
        for name in REGISTRY.reductions
    ],
)
def test_layers(name: str) -> None:
    compare(bench(REGISTRY.reductions[name], REGISTRY), LONG.get(name, USUAL))


@pytest.mark.parametrize("name", REGISTRY.losses)
def test_losses(name: str) -> None:
    made = bench(REGISTRY.reductions["linear"], REGISTRY, {"loss": name})
    labels = (0.0, 3.0) if REGISTRY.losses[name].labels == LossLabels.COUNT else made.labels
    compare(Bench(made.layers, REGISTRY, labels), USUAL)


@pytest.mark.parametrize("name", OTHERS)
def test_other_parameters(name: str) -> None:
    compare(bench(REGISTRY.reductions[name], REGISTRY, OTHERS[name]), LONG.get(name, USUAL))
