"""`hutch reproduce dyadic`, in small."""

import pytest

from hutch.reproduce import dyadic
from hutch.reproduce.dyadic import constant_error, sweep, tree_error
from hutch.reproduce.simulate import simulate_ratings


def test_ranks_and_rates_in_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dyadic, "_BITS", 17)
    ratings = simulate_ratings(tasks=600, raters=60, seed=1)
    train, test = ratings[300:], ratings[:300]
    errors = [tree_error(train, test, 5, rank=rank, learning_rate=0.5, l2=0.3, shift=0.0)[0] for rank in (0, 2)]
    assert max(errors) < 0.8 * constant_error(train, test)
    curves = sweep(train, test, rates=(0.1, 1.0, 1e4))
    assert None not in curves["aware"] and curves["gradient"][-1] is None
