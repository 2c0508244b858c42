"""One decision at a time through a chain: fast, and to the bit what a batch of it is."""

from typing import Any

import numpy as np
import pytest

from hutch import Chain

COSTS = [["cost_sensitive_with_features", "linear"]]
LOGGED = [
    ["explore_epsilon", "contextual_bandit", "cost_sensitive_with_features", "linear"],
    ["sample_action", {"explore_softmax": {}}, "contextual_bandit", "cost_sensitive_with_features", "linear"],
]


def decisions(costs: bool) -> list[list[str]]:
    """Decisions of two to four actions, some shared lines, some unlabelled."""
    random = np.random.default_rng(4)
    found = []
    for i in range(40):
        actions, chosen = int(random.integers(2, 5)), 0
        lines = [f"shared |u x{i % 3}"] if i % 2 else []
        for a in range(actions):
            label = ""
            if costs and i % 5:
                label = f"{a + 1}:{(a + i) % 3} "
            elif i % 5 and a == chosen:
                label = f"0:{i % 2}:0.5 "
            lines.append(f"{label}|a a{a} b:{0.5 + a}")
        found.append(lines)
    return found


@pytest.mark.parametrize("layers", [*COSTS, *LOGGED])
def test_a_decision_is_a_batch_of_one(layers: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    one, many = (Chain.from_config({"weights": {"bits": 10}, "chain": layers}) for _ in range(2))
    monkeypatch.setattr(many, "predictions_of_one", lambda examples, learn: None)
    fast = 0
    for k, lines in enumerate(decisions(layers in COSTS)[1:]):
        given: Any = "\n".join(lines) if k % 2 else lines
        fast += one.predictions_of_one(lines, False) is not None
        if k % 3:
            before, counters = one.predict(given), one.shared.copy()
            assert before.dtype == np.float32
            if layers[0] != "sample_action":  # draws again
                np.testing.assert_array_equal(before, many.predict(given))
            assert counters == one.shared
        if layers[0] != "sample_action":
            np.testing.assert_array_equal(one.learn(given), many.learn(given))
    assert fast == 39 and one.statistics == many.statistics
    for name, array in one.arrays().items():
        if layers[0] != "sample_action":
            np.testing.assert_array_equal(array, many.arrays()[name], name)


def test_what_is_no_usual_decision_is_left_to_batches() -> None:
    chain = Chain.from_config({"weights": {"bits": 10}, "chain": LOGGED[0]})
    with pytest.warns(UserWarning, match="no example had a label"):
        chain.learn("|a x\n|a y")
    chain.learn("0:1:0.5 |a x\n|a y")
    assert chain.predictions_of_one("|a x\n|a y\n\n|a z\n|a w", False) is None  # two decisions
    assert len(chain.predict("|a x\n|a y\n\n|a z\n|a w")) == 4
    assert chain.predictions_of_one("file.vw", False) is None
    with pytest.warns(UserWarning, match="bad probability"):
        chain.learn("0:1:7 |a x\n|a y")
