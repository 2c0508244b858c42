"""The joint step of the scoring filter tree over dyads: the gradient flow of a difference of two scores."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from hutch.core import dyad
from hutch.core.chain.engine import Engine
from hutch.core.chain.reduction import Kernels, LayerConfig
from hutch.core.chain.registry import Registry
from hutch.core.dyad.curve import growth_
from hutch.core.loss.losses import BUILTIN_LOSSES, LossChoice
from hutch.core.text.parser import ParserOptions, TextParser
from hutch.reductions.dyadic.layer import Dyadic, DyadicParameters
from hutch.reductions.filter_tree import FilterTreeParameters
from hutch.reductions.linear.layer import Linear, LinearParameters
from hutch.reductions.scoring_filter_tree import ScoringFilterTree

SLOPES = {
    "hinge": lambda p: -1.0 if p < 1 else 0.0,
    "logistic": lambda p: -1 / (1 + np.exp(p)),
    "squared": lambda p: p - 1,
}
RANK, RATE = 2, 0.3

REGISTRY = Registry()
for reduction in (Dyadic, Linear, ScoringFilterTree):
    REGISTRY.add("reductions", reduction.name, reduction, "test")
for loss in BUILTIN_LOSSES:
    REGISTRY.add("losses", loss.name, loss, "test")


def moved_(a: Any, b: Any, shrink: float, grow: float) -> Any:
    """a and b after the step s whose `growth_` is given."""
    along, across = (a + b) * shrink, (a - b) * grow
    return a + (along + across), b + (along - across)


def build(loss: str, classes: int = 2, **given: Any) -> Engine:
    defaults = {"left": "u", "right": "i", "rank": RANK, "spread": 0.4, "power_t": 0.0, "dynamics": "exact"}
    parameters = {**defaults, "rates": "power", "learning_rate": RATE, "loss": LossChoice(loss), **given}
    tree = LayerConfig("scoring_filter_tree", FilterTreeParameters(classes=classes))
    layers = [tree, LayerConfig("dyadic", DyadicParameters(**parameters))]
    return Engine(layers, REGISTRY, bits=12, parser=ParserOptions(constant=False))


def run(engine: Engine, text: str, learn: bool = True, **options: Any) -> Any:
    return engine.run_batch(TextParser(engine.parser).parse(text.encode()), learn=learn, **options)[0]


def rows_of(engine: Engine) -> np.ndarray[Any, Any]:
    """Of classes 1 and 2: rows of the user and of the item, each a weight and a factor."""
    first = TextParser(engine.parser).parse(b"|u a |i b\n").indices.astype(np.int64) * 2
    return np.array([engine.weights[(first + k) % len(engine.weights), : 1 + RANK] for k in range(2)], np.float64)


def flow(rows: np.ndarray[Any, Any], loss: str, importance: float, shift: float) -> np.ndarray[Any, Any]:
    """The gradient flow of loss(score of class 1 - score of class 2), integrated numerically."""

    def slopes(_: float, flat: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        z = flat.reshape(2, 2, 1 + RANK)
        sides = z[:, :, 1:] + shift
        scores = z[:, :, 0].sum(axis=1) + (sides[:, 0] * sides[:, 1]).sum(axis=1)
        F, change = SLOPES[loss](scores[0] - scores[1]), np.empty_like(z)
        for k, sign in enumerate((-1.0, 1.0)):
            change[k, :, 0] = sign * F
            change[k, 0, 1:], change[k, 1, 1:] = sign * F * sides[k, 1], sign * F * sides[k, 0]
        return RATE * change.ravel()

    found = solve_ivp(slopes, (0, importance), rows.ravel(), rtol=1e-9, atol=1e-11, max_step=importance / 400)
    return found.y[:, -1].reshape(2, 2, 1 + RANK)


@pytest.mark.parametrize("loss", SLOPES)
@pytest.mark.parametrize("shift", [0.0, 1.0])
@pytest.mark.parametrize("importance", [0.2, 1.5, 20.0])
def test_a_match_follows_the_flow_of_the_difference(loss: str, shift: float, importance: float) -> None:
    engine = build(loss, shift=shift)
    run(engine, "1 |u a |i b\n2 2 |u a |i b\n")
    before = rows_of(engine)
    assert before[:, :, 1:].all()
    run(engine, f"1 {importance:g} |u a |i b\n")
    wanted = flow(before, loss, importance, shift)
    assert np.abs(wanted - before).max() > 1e-3
    np.testing.assert_allclose(rows_of(engine), wanted, rtol=0, atol=2e-5 if loss == "hinge" else 2e-6)


numbers = st.floats(-2.0, 2.0).map(lambda x: round(x, 3))
vectors = st.tuples(*[st.lists(numbers, min_size=3, max_size=3).map(np.array) for _ in range(4)])


@pytest.mark.parametrize("loss, tolerance", [("hinge", 1e-12), ("squared", 1e-9), ("logistic", 1e-9)])
@settings(max_examples=40, deadline=None)
@given(vectors, numbers, numbers, st.floats(0.01, 5.0), st.integers(2, 6))
def test_n_matches_of_importance_h_over_n_equal_one_of_h(loss, tolerance, vectors, w, v, h, n):
    """In float64: class 1 has factors a and b and the weight w, its opponent c, d and v."""

    def match(state: Any, importance: float) -> Any:
        a, b, c, d, w, v = state
        U, V = np.sum((a + b) ** 2) + np.sum((c - d) ** 2), np.sum((a - b) ** 2) + np.sum((c + d) ** 2)
        s = dyad.step(loss, importance, 1.0, 0.5, U, V, 4.0, w - v)
        (a, b), (c, d) = moved_(a, b, *growth_(s)), moved_(c, d, *growth_(-s))
        return a, b, c, d, w - 2 * s, v + 2 * s

    parts = (*vectors, w, v)
    whole = match(parts, h)
    for _ in range(n):
        parts = match(parts, h / n)
    scale = 1 + max(np.abs(np.hstack(whole)).max(), np.abs(np.hstack((*vectors, w, v))).max())
    np.testing.assert_allclose(np.hstack(parts), np.hstack(whole), rtol=0, atol=tolerance * scale)


def test_importance_three_is_three_examples() -> None:
    once, thrice = build("logistic", rates="power"), build("logistic", rates="power")
    for engine in (once, thrice):
        run(engine, "1 |u a |i b\n2 2 |u a |i b\n")
    run(once, "1 3 |u a |i b\n")
    run(thrice, "1 |u a |i b\n" * 3)
    np.testing.assert_allclose(once.weights, thrice.weights, rtol=0, atol=2e-6)
    scores = run(once, "|u a |i b\n", learn=False, scores=True).scores[0]
    assert scores[0] > scores[1]


def test_decay_takes_its_part_of_both_scores() -> None:
    """Without factors the two scores are opposite at all times, decayed or not; the margin of hinge loss is 1."""
    engine = build("hinge", spread=0.0, l2=0.4)
    run(engine, "1 |u a |i b\n" * 20)
    weights = rows_of(engine)[:, :, 0]
    np.testing.assert_allclose(weights[0], -weights[1], rtol=1e-5)
    assert 0.5 < weights[0].sum() - weights[1].sum() < 0.99


def test_posterior_rates_learn_classes() -> None:
    random = np.random.default_rng(1)
    users = random.integers(0, 9, 900)
    text = "".join(f"{1 + u // 3} |u u{u} |i i{k % 5}\n" for k, u in enumerate(users))
    engine = build("squared", classes=3, rates="posterior", spread=None, learning_rate=None)
    for _ in range(3):
        run(engine, text)
        engine.end_pass()
    assert np.mean(run(engine, text, learn=False).predictions != 1 + users // 3) < 0.02
    assert np.isfinite(engine.weights).all()


def test_resuming_is_exact() -> None:
    whole, first, second = (build("logistic", classes=3) for _ in range(3))
    head, tail = ("".join(f"{1 + (k * s) % 3} |u u{k % 5} |i i{k % 4}\n" for k in range(60)) for s in (1, 2))
    run(whole, head + tail)
    run(first, head)
    second.restore({name: array.copy() for name, array in first.arrays().items()})
    run(second, tail)
    np.testing.assert_array_equal(whole.weights, second.weights)


class Flips(ScoringFilterTree):
    """The tree, asked for the least importance that changes its mind in place of a prediction."""

    name = "flips"

    @property
    def kernels(self) -> Kernels:
        """`importance_to` in place of `predict`."""
        own = super().kernels
        assert own.importance_to is not None
        return Kernels(own.learn, own.importance_to, calls=("importance_to",))


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_the_importance_that_changes_the_mind_does_just_that(loss: str) -> None:
    REGISTRY.reductions.setdefault("flips", Flips)
    layers = build(loss).layers
    specs = [LayerConfig(name, layer.parameters) for name, layer in zip(("flips", "dyadic"), layers, strict=True)]
    engine = Engine(specs, REGISTRY, bits=12, parser=ParserOptions(constant=False))
    run(engine, "2 3 |u a |i b\n1 |u c |i b\n")
    needed = float(run(engine, "|u a |i b\n", learn=False).predictions[0])
    assert 0 < needed < np.inf
    run(engine, f"1 {needed!r} |u a |i b\n")
    rows = rows_of(engine)
    scores = rows[:, :, 0].sum(axis=1) + (rows[:, 0, 1:] * rows[:, 1, 1:]).sum(axis=1)
    assert scores[0] == pytest.approx(scores[1], abs=1e-5)


PLAIN = {"adaptive": False, "normalized": False, "power_t": 0.0, "learning_rate": 0.2}
RANGE = {"min_prediction": -50.0, "max_prediction": 50.0}


def test_split_steps_are_those_of_two_learners_that_see_each_other_as_base() -> None:
    """Half a step, the other's, the other half; who begins changes from example to example."""
    linear = LayerConfig("linear", LinearParameters(**PLAIN, **RANGE))
    tree = LayerConfig("scoring_filter_tree", FilterTreeParameters(classes=2))
    engine = Engine([tree, linear], REGISTRY, bits=8, parser=ParserOptions(constant=False))
    players = [Engine([linear], REGISTRY, bits=8, parser=ParserOptions(constant=False)) for _ in range(2)]

    def score(player: int) -> float:
        return float(run(players[player], "|u a b:0.5\n", learn=False).raw[0])

    def step(player: int, label: float, importance: float) -> None:
        run(players[player], f"{label:g} {importance:g} {-score(1 - player)!r} |u a b:0.5\n")

    for number, (label, importance) in enumerate([(1, 1.0), (2, 2.0), (2, 0.5), (1, 3.0), (1, 0.25)]):
        run(engine, f"{label} {importance:g} |u a b:0.5\n")
        order = [(label - 1, 1.0), (2 - label, -1.0)]
        first, second = order if number % 2 == 0 else order[::-1]
        step(*first, importance / 2)
        step(*second, importance)
        step(*first, importance / 2)
    scores = run(engine, "|u a b:0.5\n", learn=False, scores=True).scores[0]
    np.testing.assert_allclose(scores, [score(0), score(1)], rtol=1e-5)


def test_the_importance_that_changes_the_mind_moves_both_scores() -> None:
    """Of split steps: at constant rates and far from the margin of hinge loss, both scores move rate x² per unit."""
    REGISTRY.reductions.setdefault("flips", Flips)
    parameters = LinearParameters(**PLAIN, **RANGE, loss=LossChoice("hinge"))
    layers = [LayerConfig("flips", FilterTreeParameters(classes=2)), LayerConfig("linear", parameters)]
    engine = Engine(layers, REGISTRY, bits=8, parser=ParserOptions(constant=False))
    run(engine, "2 0.5 |u a\n")  # scores -0.1 and 0.1
    needed = float(run(engine, "|u a\n", learn=False).predictions[0])
    assert needed == pytest.approx(0.2 / (2 * PLAIN["learning_rate"]), rel=1e-5)


def test_any_other_learner_takes_split_steps() -> None:
    layers = [
        LayerConfig("scoring_filter_tree", FilterTreeParameters(classes=3)),
        LayerConfig("linear", LinearParameters()),
    ]
    engine = Engine(layers, REGISTRY, bits=12)
    run(engine, "".join(f"{1 + k % 3} |u u{k % 3}\n" for k in range(60)))
    assert run(engine, "|u u1\n", learn=False).predictions[0] == 2
