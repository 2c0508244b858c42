"""Decay of weights whose features do not occur: lazily applied, it is that of a learner that decays all."""

import math
from typing import Any

import numpy as np
import pytest

from hutch.core import dyad
from hutch.core.batch import Batch
from hutch.core.chain.engine import Engine
from hutch.core.chain.reduction import LayerConfig
from hutch.core.chain.registry import Registry
from hutch.core.loss.losses import BUILTIN_LOSSES, LossChoice
from hutch.core.text.parser import ParserOptions, TextParser
from hutch.reductions.dyadic.layer import Dyadic, DyadicParameters
from hutch.reductions.dyadic.state import normal_of
from hutch.reductions.filter_tree import FilterTree, FilterTreeParameters

USERS, ITEMS, RANK, SPREAD, ETA, DECAY = 6, 4, 2, 0.4, 0.3, 0.2

REGISTRY = Registry()
REGISTRY.add("reductions", "dyadic", Dyadic, "test")
REGISTRY.add("reductions", "filter_tree", FilterTree, "test")
for loss in BUILTIN_LOSSES:
    REGISTRY.add("losses", loss.name, loss, "test")


def dyadic(**given: Any) -> LayerConfig:
    defaults = {"left": "u", "right": "i", "rank": RANK, "spread": SPREAD, "learning_rate": ETA, "decay": DECAY}
    loss = LossChoice(given.pop("loss", "squared"))
    return LayerConfig("dyadic", DyadicParameters(**{**defaults, "rates": "power", "loss": loss, **given}))


def build(**given: Any) -> Engine:
    return Engine([dyadic(**given)], REGISTRY, bits=14, parser=ParserOptions(constant=False))


def parse(engine: Engine, text: str) -> Batch:
    return TextParser(engine.parser).parse(text.encode())


def examples(n: int, seed: int = 0) -> list[tuple[float, float, int, int]]:
    """Label, importance, user and item; the last user and the last item come first and never again."""
    random = np.random.default_rng(seed)
    users, items = random.integers(0, USERS - 1, n), random.integers(0, ITEMS - 1, n)
    users[0], items[0] = USERS - 1, ITEMS - 1
    labels = np.round(np.sin(users) + np.cos(2 * items) * np.cos(users), 3)
    return list(
        zip(labels.tolist(), random.choice([0.5, 1.0, 3.0], n).tolist(), users.tolist(), items.tolist(), strict=True)
    )


def text_of(rows: list[tuple[float, float, int, int]]) -> str:
    return "".join(f"{y:g} {h:g} |u u{u} |i i{i}\n" for y, h, u, i in rows)


class Dense:
    """All weights in NumPy, float64, all decayed half before and half after the step of every example."""

    def __init__(self, engine: Engine, adaptive: bool) -> None:
        self.adaptive, n = adaptive, USERS + ITEMS
        text = "".join(f"|u u{u} |i i0\n" for u in range(USERS)) + "".join(f"|u u0 |i i{i}\n" for i in range(ITEMS))
        batch = parse(engine, text)
        self.rows = [*batch.indices[0 : 2 * USERS : 2], *batch.indices[2 * USERS + 1 :: 2]]
        self.w, self.factor, self.G, self.H = np.zeros(n), np.zeros((n, RANK)), np.zeros(n), np.zeros(n)

    def predict(self, u: int, i: int) -> float:
        return float(self.w[u] + self.w[i] + self.factor[u] @ self.factor[i])

    def shrink(self, exponent: float) -> None:
        own, factors = (1 / np.sqrt(1 + g) if self.adaptive else np.ones(len(self.w)) for g in (self.G, self.H))
        self.w *= np.exp(-exponent * own)
        self.factor *= np.exp(-exponent * factors)[:, None]

    def learn(self, t: int, y: float, h: float, u: int, i: int) -> float:
        i += USERS
        before = self.predict(u, i)
        eta = ETA if self.adaptive else ETA * math.sqrt(1e4 / (1e4 + t))
        for k in (u, i):
            if not self.factor[k].any():
                self.factor[k] = [SPREAD * normal_of(np.uint64(0), np.uint64(self.rows[k]), d) for d in range(RANK)]
        self.shrink(0.5 * DECAY * eta * h)
        linear, (alpha, beta) = np.ones(2), np.ones(2)
        if self.adaptive:
            linear, (alpha, beta) = 1 / np.sqrt(1 + self.G[[u, i]]), 1 / np.sqrt(1 + self.H[[u, i]])
        r, q = math.sqrt(alpha * beta), (beta / alpha) ** 0.25
        a, b, p = q * self.factor[u], self.factor[i] / q, self.predict(u, i)
        U, V = np.sum((a + b) ** 2), np.sum((a - b) ** 2)
        s = dyad.step("squared", h, y, eta * r, U, V, linear.sum() / r, p - float(a @ b))
        gained = [np.mean(self.factor[i] ** 2), np.mean(self.factor[u] ** 2)]
        self.factor[u], self.factor[i] = (
            (math.cosh(s) * a - math.sinh(s) * b) / q,
            (math.cosh(s) * b - math.sinh(s) * a) * q,
        )
        self.w[[u, i]] -= s / r * linear
        self.shrink(0.5 * DECAY * eta * h)
        self.G[[u, i]] += h * (p - y) ** 2
        self.H[[u, i]] += h * (p - y) ** 2 * np.array(gained)
        return before


@pytest.mark.parametrize("rates", ["power", "adaptive"])
def test_what_never_occurs_again_decays_as_in_a_dense_learner(rates: str) -> None:
    engine = build(rates=rates, dynamics="exact")
    dense, rows = Dense(engine, rates == "adaptive"), examples(300)
    want = [dense.learn(t, *row) for t, row in enumerate(rows)]
    np.testing.assert_allclose(engine.run_batch(parse(engine, text_of(rows)))[0].raw, want, rtol=0, atol=2e-6)
    pairs = [(u, i) for u in range(USERS) for i in range(ITEMS)]
    batch = parse(engine, "".join(f"|u u{u} |i i{i}\n" for u, i in pairs))
    got = engine.run_batch(batch, learn=False)[0].raw
    np.testing.assert_allclose(got, [dense.predict(u, USERS + i) for u, i in pairs], rtol=0, atol=2e-6)
    assert 0 < abs(dense.w[USERS - 1]) < 1e-2 * ETA  # the test would see if nothing decayed


def test_predicting_changes_nothing() -> None:
    engine = build()
    engine.run_batch(parse(engine, text_of(examples(50))))
    before = engine.weights.copy()
    first, second = (engine.run_batch(parse(engine, text_of(examples(50, 1))), learn=False)[0].raw for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(engine.weights, before)


@pytest.mark.parametrize("rates", ["power", "adaptive"])
def test_resuming_is_exact(rates: str) -> None:
    whole, first, second = (build(rates=rates) for _ in range(3))
    head, tail = text_of(examples(80)), text_of(examples(80, 1))
    whole.run_batch(parse(whole, head + tail))
    first.run_batch(parse(first, head))
    second.restore({name: array.copy() for name, array in first.arrays().items()})
    second.run_batch(parse(second, tail))
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(array, second.arrays()[name], err_msg=name)


def test_importance_two_is_two_examples_but_for_the_split() -> None:
    """Splitting decay from the step errs by the square of the importance."""
    apart = []
    for scale in (0.05, 0.1):
        once, twice = (build(power_t=0.0, dynamics="exact") for _ in range(2))
        once.run_batch(parse(once, text_of([(y, 2 * h * scale, u, i) for y, h, u, i in examples(1)])))
        twice.run_batch(parse(twice, text_of([(y, h * scale, u, i) for y, h, u, i in examples(1)] * 2)))
        line = f"|u u{USERS - 1} |i i{ITEMS - 1}\n"
        one, two = (float(engine.run_batch(parse(engine, line), learn=False)[0].raw[0]) for engine in (once, twice))
        apart.append(abs(one - two))
    assert 0 < apart[1] < 10 * apart[0] < 1e-3


def test_each_sub_model_has_a_clock_of_its_own() -> None:
    """Below a tree, a match decays with the examples that it learns from."""
    layers = [LayerConfig("filter_tree", FilterTreeParameters(classes=3)), dyadic(loss="hinge")]
    engine = Engine(layers, REGISTRY, bits=14, parser=ParserOptions(constant=False))
    engine.run_batch(parse(engine, "3 |u a |i b\n" * 5))  # class 3 plays the last match alone
    assert (engine.layers[1].saved()["clock"] > 0).tolist() == [False, True]


def test_no_decay_takes_no_room() -> None:
    assert build(decay=0.0).weights.shape[1] == 4 and build(decay=0.0, rank=5).weights.shape[1] == 8


def test_extremes_stay_finite() -> None:
    engine = build(decay=1e30, learning_rate=1e30)
    rows = examples(60)
    engine.run_batch(
        parse(engine, text_of([(y * 1e20, 10.0 ** (k - 30), u, i) for k, (y, _, u, i) in enumerate(rows)]))
    )
    assert np.isfinite(engine.weights).all()
    assert np.isfinite(engine.run_batch(parse(engine, text_of(rows)), learn=False)[0].raw).all()
