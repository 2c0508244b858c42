"""Low-rank quadratic features: turns, dropout, fields, and which chains may have them."""

from typing import Any

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError


def build(*pairs: str, above: tuple[Any, ...] = (), below: Any = "linear", rank: int = 2, **given: Any) -> Chain:
    named = [{"namespaces": list(pair), "rank": rank} for pair in pairs]
    layers = [*above, {"low_rank_quadratic": {"pairs": named, **given}}, below]
    return Chain.from_config({"weights": {"bits": 18}, "chain": layers})


@pytest.mark.parametrize("lines", [["1 |a x:2 y |b u v:0.5"], ["1 |a x:2 y |b u v:0.5"] * 3])
def test_sides_of_a_pair_take_turns(lines: list[str]) -> None:
    """One more line before, from which nothing is learned, lets the other side begin."""

    def weights(pair: str, lines: list[str]) -> Any:
        chain = build(pair)
        chain.learn(lines)
        return chain.weights

    later = weights("ab", ["|c z", *lines])
    np.testing.assert_array_equal(later, weights("ba", lines))
    assert not np.array_equal(later, weights("ab", lines))


def test_dropout_leaves_out_half_of_the_latent_features() -> None:
    counts = []
    for dropout in (False, True):
        chain = build("ab", rank=200, dropout=dropout)
        chain.learn(["1 |a x |b y"])
        counts.append(np.count_nonzero(chain.weights[:, 0]) - 3)  # the line's own features and the constant
    assert counts[0] == 400 and 260 < counts[1] < 340  # drawn in one of the two rounds, or in both: three quarters


@pytest.mark.parametrize(("field_aware", "count"), [(False, 3), (True, 6)])
def test_fields_have_latent_weights_for_each_other_field(field_aware: bool, count: int) -> None:
    chain = build("ab", "ac", "bc", rank=4, field_aware=field_aware)
    chain.learn(["9 |a x |b y |c z"])
    assert np.count_nonzero(chain.weights[:, 0]) == 4 + 4 * count


def test_learns_what_no_linear_model_can() -> None:
    random = np.random.default_rng(0)
    found = random.integers(0, 30, (6000, 3))
    y = np.where((found[:, 0] + found[:, 1]) % 2, 1.0, -1.0) * np.where(found[:, 2] < 15, 1.0, 0.5)
    lines = [f"{y[k]} |a {a} |b {b} |c {c}" for k, (a, b, c) in enumerate(found)]
    chain = build("ab", "ac", "bc", field_aware=True, below={"linear": {"adaptive": False, "normalized": False,
                  "learning_rate": 0.05, "power_t": 0}})  # fmt: skip
    chain.learn(lines[:5000])
    error = chain.predict(lines[5000:]) - y[5000:]
    assert np.mean(error**2) < 0.2 * np.var(y)


@pytest.mark.parametrize(
    ("pairs", "given", "message"),
    [
        ((), {}, "at least 1"),
        (("ab",), {"field_aware": True, "dropout": True}, "wanted pairs of one rank"),
        (("ab",), {"below": {"dyadic": {"left": "a", "right": "b"}}}, "got 'dyadic' below it, wanted 'linear'"),
        (("ab",), {"below": "coin_betting"}, "got 'coin_betting' below it, wanted 'linear'"),
    ],
)
def test_chains_that_do_not_fit_are_refused(pairs: tuple[str, ...], given: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build(*pairs, **given)
