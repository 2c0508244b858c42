"""The dyadic learner against a plain NumPy twin, and what it promises of importance, order, values and resuming."""

import math
from typing import Any

import numpy as np
import pytest

from hutch.core import dyad
from hutch.core.batch import Batch
from hutch.core.chain.engine import Engine
from hutch.core.chain.reduction import LayerConfig
from hutch.core.chain.registry import Registry
from hutch.core.config.adapter import checked
from hutch.core.errors import ConfigError
from hutch.core.loss.losses import BUILTIN_LOSSES, Loss, LossChoice
from hutch.core.text.parser import ParserOptions, TextParser
from hutch.reductions.dyadic.layer import Dyadic, DyadicParameters
from hutch.reductions.dyadic.rates import COUNT, COUNT_BEFORE, HEADS, PRECISION, PRECISION_BEFORE
from hutch.reductions.dyadic.state import WEIGHT, normal_of

LOSSES = ("hinge", "logistic", "squared", "quantile", "expectile", "poisson")


def quartic(prediction, label, parameter):
    return (prediction - label) ** 4


def quartic_derivative(prediction, label, parameter):
    return 4.0 * (prediction - label) ** 3


REGISTRY = Registry()
REGISTRY.add("reductions", "dyadic", Dyadic, "test")
for loss in (*BUILTIN_LOSSES, Loss.plain("quartic", quartic, quartic_derivative)):
    REGISTRY.add("losses", loss.name, loss, "test")


def build(bits: int = 12, constant: bool = True, **parameters: Any) -> Engine:
    given = {"left": "u", "right": "i", **parameters}
    if isinstance(given.get("loss"), str):
        given["loss"] = LossChoice(given["loss"])
    layers = [LayerConfig("dyadic", checked(DyadicParameters, given))]
    return Engine(layers, REGISTRY, bits=bits, parser=ParserOptions(constant=constant))


def parse(engine: Engine, text: str) -> Batch:
    return TextParser(engine.parser).parse(text.encode())


def run(engine: Engine, text: str, learn: bool = True) -> Any:
    return engine.run_batch(parse(engine, text), learn=learn)[0].predictions


def lines(n: int, labels: str = "real", seed: int = 0) -> str:
    random = np.random.default_rng(seed)
    users, items = random.integers(0, 8, n), random.integers(0, 6, n)
    real = np.round(np.sin(users) + np.cos(2 * items) + np.sin(users) * np.cos(items), 3)
    y = {"real": real, "binary": np.where(real > 0, 1, -1), "count": np.floor(np.exp(real))}[labels]
    return "".join(f"{y[k]:g} |u u{users[k]} |i i{items[k]}\n" for k in range(n))


KIND = {"hinge": "binary", "logistic": "binary", "poisson": "count"}


class Twin:
    """The learner with power rates in plain NumPy: one feature a side, a dictionary of weights and factors."""

    def __init__(self, rank: int, loss: str, rate: float, shift: float, spread: float, rows: dict[str, int]) -> None:
        self.rank, self.loss, self.rate, self.shift, self.spread, self.rows = rank, loss, rate, shift, spread, rows
        self.w: dict[str, float] = {}
        self.f: dict[str, np.ndarray[Any, Any]] = {}

    def learn(self, y: float, user: str, item: str, h: float, t: float) -> float:
        zeros = np.zeros(self.rank)
        a, b = self.f.get(user, zeros) + self.shift, self.f.get(item, zeros) + self.shift
        names = (user, item, "1")
        wx = sum(self.w.get(name, 0.0) for name in names) - self.shift**2 * self.rank
        prediction = float(a @ b + wx)
        if self.loss == "hinge" and y * prediction >= 1:
            return prediction
        for name in (user, item):
            if name not in self.f:
                first = [self.spread * normal_of(np.uint64(0), np.uint64(self.rows[name]), d) for d in range(self.rank)]
                self.f[name] = np.array(first, np.float32).astype(float)
        a, b = self.f[user] + self.shift, self.f[item] + self.shift
        state = (np.sum((a + b) ** 2), np.sum((a - b) ** 2), 3.0, wx)
        s = dyad.step(self.loss, h, y, self.rate * math.sqrt(1e4 / (1e4 + t)), *state, dynamics="exact")
        c, d = math.cosh(s), math.sinh(s)
        self.f[user], self.f[item] = a * c - b * d - self.shift, b * c - a * d - self.shift
        for name in names:
            self.w[name] = self.w.get(name, 0.0) - s
        return prediction


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared"])
@pytest.mark.parametrize(("rank", "shift"), [(0, 0.0), (3, 0.0), (2, 1.0)])
def test_learns_as_the_plain_twin(loss: str, rank: int, shift: float) -> None:
    engine = build(bits=20, loss=loss, rank=rank, shift=shift, rates="power", learning_rate=0.4, dynamics="exact")
    text = lines(200, KIND.get(loss, "real"))
    probe = parse(engine, "".join(f"|u u{k} |i i{k}\n" for k in range(8)))
    rows = {f"{side}{k}": int(probe.indices[3 * k + j]) for k in range(8) for j, side in enumerate("ui")}
    twin = Twin(rank, loss, 0.4, shift, 0.05, rows)
    want = []
    for t, line in enumerate(text.splitlines()):
        label, user, item = line.replace("|u ", "").replace("|i ", "").split()
        want.append(twin.learn(float(label), user, item, 1.0, t))
    got = engine.run_batch(parse(engine, text))[0].raw
    np.testing.assert_allclose(got, want, rtol=0, atol=3e-4)


RATES_AND_LOSSES = [("posterior", "squared"), *(("power", loss) for loss in LOSSES)]


@pytest.mark.parametrize(("rates", "loss"), [*RATES_AND_LOSSES, ("power", "quartic")])
def test_every_loss_learns(rates: str, loss: str) -> None:
    labels = KIND.get(loss, "real")
    engine = build(loss=loss, rates=rates, rank=3, learning_rate=None if rates == "posterior" else 0.05)
    batch = parse(engine, lines(400, labels))
    first = engine.run_batch(batch)[0].losses.mean()
    for _ in range(10):
        engine.end_pass()
        last = engine.run_batch(batch)[0].losses.mean()
    assert last < 0.8 * first


@pytest.mark.parametrize("loss", LOSSES)
def test_importance_two_is_two_examples(loss: str) -> None:
    """Exactly so at a constant rate: nothing else stands between, and the prediction is the same."""
    options: dict[str, Any] = {"loss": loss, "rates": "power", "power_t": 0.0, "dynamics": "exact", "shift": 1.0}
    once, twice = build(**options), build(**options)
    for line in lines(60, KIND.get(loss, "real")).splitlines():
        label, rest = line.split(" ", 1)
        run(once, f"{label} 2 {rest}\n")
        run(twice, f"{line}\n{line}\n")
    np.testing.assert_allclose(once.weights, twice.weights, rtol=0, atol=2e-5)


def test_factors_do_not_depend_on_the_order_of_first_touch() -> None:
    text = lines(40, "binary").splitlines(keepends=True)
    engines = [build(loss="hinge", learning_rate=1e-6) for _ in range(2)]
    run(engines[0], "".join(text))
    run(engines[1], "".join(reversed(text)))
    np.testing.assert_allclose(engines[0].weights, engines[1].weights, rtol=0, atol=1e-4)
    assert np.count_nonzero(engines[0].weights[:, 1]) == 14


def test_the_unseen_are_predicted_without_perturbation() -> None:
    engine = build(loss="hinge", constant=False, spread=0.5, rank=4)
    run(engine, lines(50, "binary"))
    assert run(engine, "|u nobody |i i1\n", learn=False)[0] == run(engine, "|i i1\n", learn=False)[0]
    assert run(engine, "1 |u nobody |i nothing\n")[0] == 0.0


def test_linear_features_are_those_of_both_sides_and_of_all_other_namespaces() -> None:
    engine = build(loss="squared", rates="power", rank=0, constant=False)
    run(engine, "1 |u a:2 |i b |z c d:0.5\n")
    step = engine.weights[:, 0][engine.weights[:, 0] != 0]
    assert sorted(np.round(step / step.max(), 3)) == [0.25, 0.5, 0.5, 1.0]


def test_interactions_are_linear_features() -> None:
    engine = build(loss="squared", rates="power", rank=0, constant=False, interactions=[["u", "z"]])
    run(engine, "1 |u a |i b |z c d\n")
    assert np.count_nonzero(engine.weights[:, 0]) == 6


def test_values_scale_the_sides() -> None:
    """A side's vector is the sum of its features' vectors times their values."""
    engine = build(loss="squared", rates="power", constant=False, spread=0.4, rank=2)
    run(engine, "1 |u a |i b\n")
    run(engine, "1 |u c |i b\n")
    separate = [run(engine, f"|u {name} |i b\n", learn=False)[0] for name in "ac"]
    linear = run(engine, "|i b\n", learn=False)[0]
    both = run(engine, "|u a:2 c:-1 |i b\n", learn=False)[0]
    assert both - linear == pytest.approx(2 * (separate[0] - linear) - (separate[1] - linear), abs=1e-6)


def test_a_step_with_several_features_and_values_follows_the_flow() -> None:
    """Importance 1 in one exact step equals 4,000 plain gradient steps of importance 1/4,000."""
    line = "|u a:2 c:-0.5 |i b d:3\n"
    options: dict[str, Any] = {"loss": "squared", "rates": "power", "power_t": 0.0, "spread": 0.4, "rank": 2}
    whole, parts = build(dynamics="exact", **options), build(dynamics="exact", **options)
    run(whole, "3 1 " + line)
    run(parts, ("3 0.01 " + line) * 100)
    np.testing.assert_allclose(whole.weights, parts.weights, rtol=0, atol=1e-5)
    assert run(whole, line, learn=False)[0] == pytest.approx(3.0, abs=0.1)


def test_several_dyads_share_no_side() -> None:
    engine = build(loss="squared", rates="power", dyads=[["v", "j"]], spread=0.3, constant=False)
    text = "".join(f"{k % 3} |u u{k % 4} |i i{k % 3} |v v{k % 5}:2 |j j{k % 2}\n" for k in range(300))
    first = engine.run_batch(parse(engine, text))[0].losses.mean()
    for _ in range(5):
        last = engine.run_batch(parse(engine, text))[0].losses.mean()
    assert last < 0.2 * first
    with pytest.raises(ValueError, match="namespace 'i' on two sides"):
        DyadicParameters(left="u", right="i", dyads=[("i", "j")])


def test_namespaces_that_one_letter_cannot_tell_apart_are_refused() -> None:
    layers = [LayerConfig("dyadic", DyadicParameters(left="user", right="unit"))]
    with pytest.raises(ConfigError, match="goes by letter"):
        Engine(layers, REGISTRY, parser=ParserOptions(namespaces="letter"))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rates": "posterior", "loss": "hinge"}, "rates: got 'posterior' with loss 'hinge'"),
        ({"l2": 0.1}, "l2: got it with rates 'posterior'"),
        ({"interactions": [["u"]]}, "wanted 2 to"),
        ({"rank": -1}, "greater than or equal to 0"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        checked(DyadicParameters, {"left": "u", "right": "i", **parameters})


@pytest.mark.parametrize("rates", ["power", "posterior"])
def test_resuming_is_exact(rates: str) -> None:
    options: dict[str, Any] = {"loss": "squared", "rates": rates, "rank": 3}
    whole, first, second = build(**options), build(**options), build(**options)
    head, tail = lines(100), lines(100, seed=1)
    run(whole, head + tail)
    run(first, head)
    second.restore({name: array.copy() for name, array in first.arrays().items()})
    run(second, tail)
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(array, second.arrays()[name], err_msg=name)


@pytest.mark.parametrize(("rates", "loss"), RATES_AND_LOSSES)
def test_nothing_makes_a_weight_infinite(rates: str, loss: str) -> None:
    engine = build(loss=loss, rates=rates, rank=2, learning_rate=3.0)
    random = np.random.default_rng(5)
    text = []
    for k in range(400):
        x, z, h, y = 10 ** random.uniform(-30, 30, 4) * random.choice([-1, 1], 4)
        y = np.sign(y) if KIND.get(loss) == "binary" else abs(y) if loss == "poisson" else y
        text.append(f"{y:g} {abs(h):g} |u u{k % 5}:{x:g} |i i{k % 3}:{z:g}\n")
    run(engine, "".join(text))
    assert np.isfinite(engine.weights).all()
    assert np.isfinite(run(engine, "|u u1 |i i1\n", learn=False)).all()


def test_every_rate_is_bounded_over_five_orders() -> None:
    text = lines(2000, "binary")
    for rate in (1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3):
        engine = build(loss="hinge", learning_rate=rate, shift=1.0, rank=2)
        run(engine, text)
        assert np.isfinite(engine.weights).all()
        assert np.mean(np.sign(run(engine, text, learn=False)) != parse(engine, text).labels) < 0.35


def test_decay_shrinks_what_is_seen_and_nothing_else() -> None:
    plain, decayed = (build(loss="squared", rates="power", l2=l2, rank=2) for l2 in (0.0, 1.0))
    for engine in (plain, decayed):
        run(engine, "1 |u a |i b\n" + "1 |u c |i d\n" * 50)
    norms = [np.linalg.norm(engine.weights) for engine in (plain, decayed)]
    assert norms[1] < 0.9 * norms[0]


def test_predictions_of_squared_loss_stay_within_the_labels() -> None:
    engine = build(loss="squared", rank=2)
    batch = parse(engine, lines(300))
    for _ in range(5):
        predictions = engine.run_batch(batch)[0].predictions
        engine.end_pass()
    assert predictions.min() >= batch.labels.min() and predictions.max() <= batch.labels.max()


def test_posterior_rates_do_not_depend_on_the_unit_of_the_labels() -> None:
    """Ratings of 1 to 5 or of 10 to 50 are the same problem."""
    text = lines(300)
    scaled = "".join(f"{10 * float(line.split(' ', 1)[0]):g} {line.split(' ', 1)[1]}" for line in text.splitlines(True))
    small, large = build(rank=2, dynamics="exact"), build(rank=2, dynamics="exact")
    raw = [engine.run_batch(parse(engine, t))[0].raw[5:] for engine, t in ((small, text), (large, scaled))]
    np.testing.assert_allclose(10 * raw[0], raw[1], rtol=0, atol=2e-2)


def posterior_step(rows: Any, learned: Any, label: float, h: float, precision: float) -> Any:
    """One step of posterior rates (docs/explanation/dyadic.md); `rows` are those of user and item, float64.

    Returns linear weights and factors.
    """
    weight, mean, squares = (float(learned[f"label_{name}"]) for name in ("weight", "mean", "squares"))
    weight, off = weight + h, label - mean
    mean += off * h / weight
    deviation = math.sqrt((squares + h * off * (label - mean)) / weight)
    noise, w, factors = float(learned["noise"]), rows[:, WEIGHT].copy(), rows[:, HEADS["posterior"] :].copy()
    own = np.array([learned["left_precision"], learned["right_precision"]])
    most = np.maximum(rows[:, [COUNT, PRECISION]], rows[:, [COUNT_BEFORE, PRECISION_BEFORE]])
    rates, factor_rates = 1 / (own + most[:, 0] / noise), 1 / (precision + most[:, 1] / noise)
    scale = float(learned["pace"]) / (noise + factors.shape[1] * factor_rates.prod())
    seen = np.maximum(rows[:, COUNT] + h, rows[:, COUNT_BEFORE])
    partner = factor_rates[::-1]  # the variance of the other side's factor
    weight_decay = np.exp(-0.5 * h * scale * rates * noise * own / seen)
    factor_decay = np.exp(-0.5 * h * scale * factor_rates * (partner + noise * precision / seen))[:, None]
    w, factors = w * weight_decay, factors * factor_decay
    product = math.sqrt(factor_rates.prod())
    q, common = (factor_rates[1] / factor_rates[0]) ** 0.25, scale * product
    a, b = q * factors[0], factors[1] / q
    U, V, X = ((a + b) ** 2).sum(), ((a - b) ** 2).sum(), rates.sum() / product
    t = dyad.step("squared", h, (label - mean) / deviation, common, U, V, X, w.sum(), dynamics="exact")
    along, across = (a + b) * math.expm1(-t) / 2, (a - b) * math.expm1(t) / 2
    factors += np.array([(along + across) / q, (along - across) * q])
    return (w - t * rates / product) * weight_decay, factors * factor_decay


def test_a_step_of_posterior_rates_is_that_of_the_formulas() -> None:
    engine = build(rank=2, constant=False, dynamics="exact")
    run(engine, lines(120))
    engine.end_pass()
    run(engine, lines(40, seed=3))
    rows = parse(engine, "|u u1 |i i2\n").indices
    for label, h in ((2.5, 1.0), (-1.0, 3.0), (0.3, 0.2)):
        before, learned = engine.weights[rows].astype(np.float64), engine.layers[0].learned[0].copy()
        run(engine, f"{label} {h} |u u1 |i i2\n")
        w, factors = posterior_step(before, learned, label, h, 9.0)
        np.testing.assert_allclose(engine.weights[rows, WEIGHT], w, rtol=2e-6, atol=1e-7)
        np.testing.assert_allclose(engine.weights[rows, HEADS["posterior"] :][:, :2], factors, rtol=2e-6, atol=1e-7)


def test_posterior_rates_slow_down_from_pass_to_pass() -> None:
    engine = build(rank=2)
    for passes in range(4):
        assert engine.layers[0].learned["pace"][0] == pytest.approx(1 / (1 + 0.1 * passes))
        run(engine, lines(30))
        engine.end_pass()


@pytest.mark.parametrize("rates", ["power", "posterior"])
@pytest.mark.parametrize("rank", [0, 2])
def test_learning_reports_what_was_predicted_before(rates: str, rank: int) -> None:
    engine = build(rates=rates, rank=rank)
    run(engine, lines(100))
    before = run(engine, "1 |u u1 |i i1\n", learn=False)[0]
    assert run(engine, "1 |u u1 |i i1\n")[0] == before


def test_a_chain_compiles_the_kernels_of_its_own_loss_and_rates_alone() -> None:
    hinge, posterior = (build(loss=loss).layers[0].state[0] for loss in ("hinge", "squared"))
    assert [hinge[name] for name in ("measure", "decay", "observe", "see", "generic_step")] == [0] * 5
    assert all(posterior[name] for name in ("measure", "decay", "observe", "see"))
    assert hinge["step"] != posterior["step"]
