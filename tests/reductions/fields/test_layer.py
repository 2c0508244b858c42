"""`fields` against a plain NumPy twin, and what it promises of importance, rates, values and resuming."""

import math
from typing import Any

import numpy as np
import pytest

from hutch.core import dyad
from hutch.core.batch import Batch
from hutch.core.chain.engine import Engine
from hutch.core.chain.reduction import Kernels, LayerConfig
from hutch.core.chain.registry import Registry
from hutch.core.config.adapter import checked
from hutch.core.errors import ConfigError, DataError
from hutch.core.loss.losses import BUILTIN_LOSSES, Loss, LossChoice
from hutch.core.text.parser import ParserOptions, TextParser
from hutch.reductions.dyadic.state import normal_of
from hutch.reductions.fields.layer import Fields, FieldsParameters

LOSSES = ("hinge", "logistic", "squared", "quantile", "expectile", "poisson")
KIND = {"hinge": "binary", "logistic": "binary", "poisson": "count"}
STILL: dict[str, Any] = {"l2": 0.0, "partner_variance": 0.0, "adaptation": 0.0}
"""Nothing but the step changes weights."""


def quartic(prediction, label, parameter):
    return (prediction - label) ** 4


def quartic_derivative(prediction, label, parameter):
    return 4.0 * (prediction - label) ** 3


REGISTRY = Registry()
REGISTRY.add("reductions", "fields", Fields, "test")
for loss in (*BUILTIN_LOSSES, Loss.plain("quartic", quartic, quartic_derivative)):
    REGISTRY.add("losses", loss.name, loss, "test")


def build(bits: int = 16, constant: bool = True, **parameters: Any) -> Engine:
    given = dict(parameters)
    if isinstance(given.get("loss"), str):
        given["loss"] = LossChoice(given["loss"])
    layers = [LayerConfig("fields", checked(FieldsParameters, given))]
    return Engine(layers, REGISTRY, bits=bits, parser=ParserOptions(constant=constant))


def parse(engine: Engine, text: str) -> Batch:
    return TextParser(engine.parser).parse(text.encode())


def run(engine: Engine, text: str, learn: bool = True) -> Any:
    return engine.run_batch(parse(engine, text), learn=learn)[0].predictions


def lines(n: int, labels: str = "real", seed: int = 0) -> str:
    """What depends on three pairs of four fields."""
    random = np.random.default_rng(seed)
    u, i, c, d = random.integers(0, [[8], [6], [4], [3]], (4, n))
    real = np.round(np.sin(u) * np.cos(i) + np.sin(2 * i) * np.cos(c) + np.sin(3 * u) * np.sin(d) + 0.3 * c, 3)
    y = {"real": real, "binary": np.where(real > 0.4, 1, -1), "count": np.floor(np.exp(real))}[labels]
    return "".join(f"{y[k]:g} |u u{u[k]} |i i{i[k]} |c c{c[k]} |d d{d[k]}\n" for k in range(n))


def mix(number: int) -> int:
    """SplitMix64's last steps."""
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    number = (number ^ (number >> 27)) * 0x94D049BB133111EB % 2**64
    return number ^ (number >> 31)


class Twin:
    """The learner in plain NumPy, for examples without repeated features: dictionaries of weights and vectors."""

    def __init__(self, engine: Engine, loss: str, curvature: Any, rank: int, **given: float) -> None:
        self.loss, self.curvature, self.rank, self.rows = loss, curvature, rank, len(engine.weights)
        self.rate, self.P, self.l2 = given["learning_rate"], given["precision"], given["l2"]
        self.share, self.adaptation, self.lift, self.gains = given["partner_variance"], given["adaptation"], 0.0, 0.0
        self.w: dict[int, list[float]] = {}
        self.v: dict[tuple[int, int], Any] = {}

    def first(self, index: int, name: int) -> Any:
        row = mix(index ^ mix((name + 0x9E3779B97F4A7C15) % 2**64)) & (self.rows - 1)
        numbers = [normal_of(np.uint64(0), np.uint64(row), d) for d in range(self.rank)]
        return np.array([0.3 / math.sqrt(self.rank) * np.array(numbers), np.zeros(self.rank)])

    def learn(self, y: float, h: float, fields: list[tuple[int, list[tuple[int, float]]]], constant: int) -> float:
        flat = [feature for _, features in fields for feature in features] + [(constant, 1.0)]
        pairs = [(f, g) for f in range(len(fields)) for g in range(f + 1, len(fields))]
        used = [(f, g) for pair in pairs for f, g in (pair, pair[::-1])]

        def side(f: int, g: int) -> Any:
            return sum(x * self.v.get((i, fields[g][0]), np.zeros((2, self.rank)))[0] for i, x in fields[f][1])

        linear = sum(self.w.get(i, [0.0, 0.0])[0] * x for i, x in flat)
        prediction = float(linear + sum(side(f, g) @ side(g, f) for f, g in pairs))
        for f, g in used:
            for i, _ in fields[f][1]:
                self.v.setdefault((i, fields[g][0]), self.first(i, fields[g][0]))
        for i, _ in flat:
            self.w.setdefault(i, [0.0, 0.0])
        more = 1.0 + 1.0 / (self.rate * math.exp(self.lift))
        rate = {key: 1.0 / (self.P * more + value[1]) for key, value in self.v.items()}
        linear_rate = {i: 1.0 / (4.0 * more + self.w[i][1]) for i, _ in flat}
        sides = {(f, g): side(f, g) for f, g in used}
        metric = {(f, g): sum(x * x * rate[i, fields[g][0]] for i, x in fields[f][1]) for f, g in used}
        score = float(linear + sum(sides[f, g] @ sides[g, f] for f, g in pairs))
        X = sum(linear_rate[i] * x * x for i, x in flat)
        K = A = B = 0.0
        for f, g in pairs:
            a, b, alpha, beta = sides[f, g], sides[g, f], metric[f, g], metric[g, f]
            m, q = alpha * b * b + beta * a * a, 4 * alpha * beta
            K, A, B = K + m.sum(), A + (q * a * b).sum(), B + (q * m).sum()
        z = math.sqrt(B / K)
        U, V = 2 * (K + A / z) / z, 2 * (K - A / z) / z
        t = dyad.step(self.loss, h, y, z / 2, U, V, 2 * X / z, score - (U - V) / 4, dynamics="exact")
        s = 2 * t / z
        slope, curvature = self.curvature(score, y)
        reached = float(dyad.prediction(t, U, V, 2 * X / z, score - (U - V) / 4))
        ratio = slope / self.curvature(reached, y)[0]
        if self.loss == "poisson" and not 1.001 < ratio < 1e6:
            curvature = math.exp(reached)
        far = not 1.001 < ratio < 1e6
        information = h * curvature if far else math.log(ratio) * s / (score - reached)
        gain = -slope * (score - self.w[constant][0]) * h
        if self.adaptation and gain:
            self.gains += gain * gain
            towards = (1.5 if gain > 0 else 1.0) * gain / math.sqrt(self.gains)
            self.lift = max(0.0, self.lift + self.adaptation * towards)
        for i, x in flat:
            self.w[i][0] -= s * linear_rate[i] * x
            self.w[i][1] += information * x * x
        for f, g in used:
            a, b, alpha, beta = sides[f, g], sides[g, f], metric[f, g], metric[g, f]
            root = s * np.sqrt(alpha * beta)
            change = a * (np.cosh(root) - 1) - alpha * s * b * np.sinh(root) / root
            for i, x in fields[f][1]:
                own, D = self.v[i, fields[g][0]], rate[i, fields[g][0]]
                fall = D * (h * self.l2 + self.share * information * x * x * beta)
                own[0] = (own[0] + x * D / alpha * change) * np.exp(-fall)
                own[1] += information * x * x * b * b
        return prediction


def logistic(p: float, y: float) -> tuple[float, float]:
    sigma = 1 / (1 + math.exp(-p))
    return -y / (1 + math.exp(y * p)), sigma * (1 - sigma)


def poisson(p: float, y: float) -> tuple[float, float]:
    return math.exp(p) - y, math.exp(p)


def hinge(p: float, y: float) -> tuple[float, float]:
    return (-y, 1.0) if y * p < 1 else (0.0, 0.0)


TWINS = {"logistic": logistic, "poisson": poisson}
TEXTS = {"one feature each": lambda labels: lines(150, labels)}
"""Examples by what is special about them."""


def several(labels: str) -> str:
    """Several features with values in two fields, a field that is not always there, importances."""
    random, found = np.random.default_rng(3), []
    for line in lines(150, labels, seed=2).splitlines():
        label, rest = line.split(" ", 1)
        first, more = random.choice(8, 2, replace=False)
        words = f"w{first}:{random.uniform(0.2, 2):.3f} w{more}:{random.uniform(-1, 1):.3f}"
        if random.random() < 0.3:
            rest = rest.partition(" |d")[0]
        found.append(f"{label} {random.choice([0.5, 1, 3])} {rest} |w {words}\n")
    return "".join(found)


TEXTS["several, with values"] = several


@pytest.mark.parametrize("loss", TWINS)
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("decay", [False, True])
def test_learns_as_the_plain_twin(loss: str, text: str, decay: bool) -> None:
    given: dict[str, float] = {"learning_rate": 2.0, "precision": 0.7, **STILL}
    if decay:
        given.update(l2=0.02, partner_variance=0.2, adaptation=0.5)
    engine = build(bits=22, loss=loss, rank=3, dynamics="exact", **given)
    batch = parse(engine, TEXTS[text](KIND[loss]))
    twin = Twin(engine, loss, TWINS[loss], 3, **given)
    want = []
    for k in range(len(batch)):
        fields = [
            (int(name), list(zip(indices.tolist(), values.tolist(), strict=True)))
            for name, indices, values in batch.row(k)
        ]
        [(constant, _)] = fields.pop()[1]
        want.append(twin.learn(float(batch.labels[k]), float(batch.importance[k]), fields, constant))
    got = engine.run_batch(batch)[0].raw
    np.testing.assert_allclose(got, want, rtol=0, atol=2e-4)
    assert np.ptp(want[75:]) > 0.5


def trained(n: int = 600, **parameters: Any) -> Engine:
    engine = build(bits=18, **parameters)
    run(engine, lines(n, KIND.get(parameters.get("loss", "logistic"), "real")))
    return engine


def copy(engine: Engine, **parameters: Any) -> Engine:
    found = build(bits=18, **parameters)
    found.restore({name: array.copy() for name, array in engine.arrays().items()})
    return found


def flow(parts: list[Any], X: float, score: float, slope: Any, h: float) -> float:
    """The score after the gradient flow of every coordinate and of the linear weights, by 4,000 steps of Heun's method.

    `parts` holds a, b and their rates for each pair.
    """
    a, b, alpha, beta = (np.concatenate([part[j] for part in parts]) for j in range(4))
    linear, step = score - float(a @ b), h / 4000

    def change(a: Any, b: Any, linear: float) -> tuple[Any, Any, float]:
        F = slope(linear + float(a @ b))
        return -alpha * b * F, -beta * a * F, -X * F

    for _ in range(4000):
        one = change(a, b, linear)
        two = change(a + step * one[0], b + step * one[1], linear + step * one[2])
        a, b = a + step / 2 * (one[0] + two[0]), b + step / 2 * (one[1] + two[1])
        linear += step / 2 * (one[2] + two[2])
    return linear + float(a @ b)


@pytest.mark.parametrize("loss", ["logistic", "poisson", "hinge"])
def test_a_step_follows_the_flow_of_all_weights(loss: str) -> None:
    given: dict[str, Any] = {
        "loss": loss,
        "rank": 3,
        "dynamics": "exact",
        "precision": 0.7,
        "learning_rate": 2.0,
        **STILL,
    }
    engine = trained(**given)
    for line in lines(12, KIND[loss], seed=8).splitlines():
        label, rest = line.split(" ", 1)
        batch = parse(engine, line)
        *fields, (_, constant, _) = batch.row(0)
        after, rows, parts = copy(engine, **given), len(engine.weights), []
        score = float(run_raw(engine, rest))

        def row(index: int, name: int, rows: int = rows) -> int:
            return mix(index ^ mix((name + 0x9E3779B97F4A7C15) % 2**64)) & (rows - 1)

        for f, (name, [index], _) in enumerate(fields):
            for other, [partner], _ in fields[f + 1 :]:
                own = engine.weights[row(int(index), int(other))].astype(float)
                theirs = engine.weights[row(int(partner), int(name))].astype(float)
                prior = 0.7 * 1.5
                parts.append((own[:3], theirs[:3], 1 / (prior + own[3:6]), 1 / (prior + theirs[3:6])))
        indices = [*(int(index) for _, [index], _ in fields), int(constant[0])]
        X = float(sum(1 / (4.0 * 1.5 + engine.weights[index & (rows - 1), 3]) for index in indices))
        y, h = float(label), 5.0
        want = flow(parts, X, score, lambda p: {"hinge": hinge, **TWINS}[loss](p, y)[0], h)  # noqa: B023
        run(after, f"{label} {h} {rest}\n")
        moved = float(run_raw(after, rest)) - score
        assert moved == pytest.approx(want - score, rel=5e-3, abs=2e-5)


def run_raw(engine: Engine, text: str) -> Any:
    return engine.run_batch(parse(engine, text), learn=False)[0].raw[0]


@pytest.mark.parametrize("loss", [*LOSSES, "quartic"])
def test_every_loss_learns(loss: str) -> None:
    text = lines(500, KIND.get(loss, "real"))
    engine = build(loss=loss)
    losses = [engine.run_batch(parse(engine, text))[0].losses.mean() for _ in range(8)]
    assert losses[-1] < 0.7 * losses[0]


def test_pairs_that_were_never_seen_together_are_predicted_from_their_parts() -> None:
    """Whether two animals eat each other's food: the two fields' classes decide, and no linear model can tell."""
    random = np.random.default_rng(0)
    a, b = random.integers(0, 40, (2, 6000))
    text = "".join(
        f"{1 if (x + y) % 2 else -1} |a n{x} |b n{y}\n" for x, y in zip(a, b, strict=True) if x // 20 != y // 20
    )
    engine = build()
    run(engine, text * 2)
    test = [(x, y) for x in range(40) for y in range(40) if x // 20 == y // 20]
    score = run(engine, "".join(f"|a n{x} |b n{y}\n" for x, y in test), learn=False)
    wrong = np.mean([(s > 0) != ((x + y) % 2 == 1) for s, (x, y) in zip(score, test, strict=True)])
    assert wrong < 0.05


def steady(engine: Engine) -> Engine:
    """The engine, whose labels' unit and noise one more example will not change."""
    for name in ("label_weight", "label_squares", "error", "error_weight"):
        engine.layers[0].learned[name] *= 1e9
    return engine


@pytest.mark.parametrize("dynamics", [pytest.param("exact", marks=pytest.mark.slow), "fast"])
@pytest.mark.parametrize(
    "loss", ["logistic", *(pytest.param(each, marks=pytest.mark.slow) for each in ("squared", "hinge", "poisson"))]
)
def test_an_importance_in_two_parts_does_what_it_does_in_one(loss: str, dynamics: str) -> None:
    """At rates that stand still: the information that an example adds is taken back between its parts."""
    given: dict[str, Any] = {"loss": loss, "dynamics": dynamics, **STILL}
    engine, worst = steady(trained(3000, **given)), []
    information, learned = engine.weights[:, 4:8].copy(), engine.layers[0].learned.copy()
    for line in lines(100, KIND.get(loss, "real"), seed=5).splitlines():
        label, rest = line.split(" ", 1)
        whole, parts = (copy(engine, **given) for _ in range(2))
        run(whole, f"{label} 2 {rest}\n")
        for _ in range(2):
            run(parts, f"{label} 1 {rest}\n")
            parts.weights[:, 4:8], parts.layers[0].learned[:] = information, learned
        start, one, two = (float(run_raw(each, rest)) for each in (engine, whole, parts))
        if abs(one - start) > 1e-3:  # predictions are in single precision
            worst.append(abs(two - one) / abs(one - start))
    assert len(worst) > 10
    assert np.quantile(worst, 0.9) < {"exact": 5e-4, "fast": 1e-3}[dynamics]


class Asking(Fields):
    """Predicts the importance that moves the prediction to the example's importance, see `importance_to`."""

    name = "asking"
    assert Fields.kernels.importance_to is not None
    kernels = Kernels(Fields.kernels.learn, Fields.kernels.importance_to)


REGISTRY.add("reductions", "asking", Asking, "test")


@pytest.mark.parametrize("loss", LOSSES)
def test_h_min_is_the_importance_that_leads_to_the_target(loss: str) -> None:
    given: dict[str, Any] = {"loss": loss, "dynamics": "exact", **STILL}
    engine = steady(trained(**given))
    layers = [LayerConfig("asking", checked(FieldsParameters, given | {"loss": LossChoice(loss)}))]
    asking = Engine(layers, REGISTRY, bits=18, parser=engine.parser)
    asking.layers[0].learned[:] = engine.layers[0].learned
    asking.weights[:] = engine.weights
    found = 0
    for line in lines(90, KIND.get(loss, "real"), seed=6).splitlines():
        label, rest = line.split(" ", 1)
        now, optimum = float(run_raw(engine, rest)), {"logistic": np.inf, "hinge": 1.0}.get(loss, 1.0) * float(label)
        if loss == "poisson":
            optimum = math.log(max(float(label), 1e-9))
        target = now + min(0.5 * abs(optimum - now), 0.2) * np.sign(optimum - now)
        if target <= 0 or abs(target - now) < 1e-3:  # it is given as an importance
            continue
        needed = float(run(asking, f"{label} {target} {rest}\n", learn=False)[0])
        if not math.isfinite(needed):
            continue
        assert needed > 0
        if (uphill := now - (target - now)) > 0:
            assert np.isinf(run(asking, f"{label} {uphill} {rest}\n", learn=False)[0])
        after = copy(engine, **given)
        run(after, f"{label} {needed} {rest}\n")
        assert run_raw(after, rest) == pytest.approx(target, abs=2e-3 * (1 + abs(target - now)))
        found += 1
    assert found > 5


def test_every_rate_learns() -> None:
    text, test = lines(4000, "binary"), lines(1000, "binary", seed=9)
    losses = {}
    for rate in (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0):
        engine = build(bits=18, learning_rate=rate)
        run(engine, text)
        assert np.isfinite(engine.weights).all()
        losses[rate] = engine.run_batch(parse(engine, test), learn=False)[0].losses.mean()
    assert max(losses.values()) < 1.1 * min(losses.values())
    assert min(losses.values()) < 0.1


def test_the_order_of_first_touch_does_not_matter() -> None:
    text = lines(40, "binary").splitlines(keepends=True)
    engines = [build(learning_rate=1e-9, **STILL) for _ in range(2)]
    run(engines[0], "".join(text))
    run(engines[1], "".join(reversed(text)))
    np.testing.assert_allclose(engines[0].weights[:, :4], engines[1].weights[:, :4], rtol=0, atol=1e-6)
    assert np.count_nonzero(engines[0].weights[:, 1]) == 3 * (8 + 6 + 4 + 3)


def test_the_unseen_are_predicted_without_perturbation() -> None:
    engine = build(constant=False, spread=2.0)
    run(engine, lines(50, "binary"))
    assert run(engine, "|u nobody |i i1\n", learn=False)[0] == run(engine, "|i i1\n", learn=False)[0]
    assert run(engine, "1 |u nobody |i nothing\n")[0] == 0.0


def test_values_scale_the_sides_and_features_of_one_field_are_no_pair() -> None:
    engine = trained(constant=False)
    linear = {name: run_raw(engine, f"|{name[0]} {name}\n") for name in ("u1", "u2", "i3")}
    alone = [run_raw(engine, f"|u {name} |i i3\n") - linear[name] - linear["i3"] for name in ("u1", "u2")]
    both = run_raw(engine, "|u u1:2 u2:-1 |i i3\n") - 2 * linear["u1"] + linear["u2"] - linear["i3"]
    assert both == pytest.approx(2 * alone[0] - alone[1], abs=1e-5)
    assert run_raw(engine, "|u u1:2 u2:-1\n") == pytest.approx(2 * linear["u1"] - linear["u2"], abs=1e-5)


def test_only_named_fields_are_pairs_and_all_namespaces_are_linear_features() -> None:
    text = lines(300, "binary")
    named, without = build(fields=["u", "i"]), build(rank=0)
    for engine in (named, without):
        run(engine, text)
    vectors = named.weights[:, 1] != 0
    assert np.count_nonzero(vectors) == 8 + 6
    assert np.count_nonzero(without.weights[:, 0]) == 8 + 6 + 4 + 3 + 1
    assert np.count_nonzero(named.weights[~vectors, 0]) == 8 + 6 + 4 + 3 + 1


def test_interactions_are_linear_features() -> None:
    engine = build(rank=0, constant=False, interactions=[["u", "z"]])
    run(engine, "1 |u a |i b |z c d\n")
    assert np.count_nonzero(engine.weights[:, 0]) == 6


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"fields": ["u"]}, "wanted two different namespaces"),
        ({"fields": ["u", "i", "u"]}, "wanted two different namespaces"),
        ({"interactions": [["u"]]}, "wanted 2 to"),
        ({"learning_rate": 0.0}, "greater than 0"),
        ({"rank": -1}, "greater than or equal to 0"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        checked(FieldsParameters, parameters)


def test_namespaces_that_one_letter_cannot_tell_apart_are_refused() -> None:
    layers = [LayerConfig("fields", FieldsParameters(fields=("user", "unit")))]
    with pytest.raises(ConfigError, match="goes by letter"):
        Engine(layers, REGISTRY, parser=ParserOptions(namespaces="letter"))


def test_an_example_whose_pairs_take_too_much_memory_is_refused() -> None:
    line = "1 " + " ".join(f"|f{k} x" for k in range(5000)) + "\n"
    with pytest.raises(DataError, match="got an example with 5001 namespaces.*name the fields"):
        run(build(), line)
    assert np.isfinite(run(build(fields=["f1", "f2"]), line)).all()


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_resuming_is_exact(loss: str) -> None:
    whole, first, second = (build(loss=loss) for _ in range(3))
    head, tail = lines(100, KIND.get(loss, "real")), lines(100, KIND.get(loss, "real"), seed=1)
    run(whole, head + tail)
    run(first, head)
    second.restore({name: array.copy() for name, array in first.arrays().items()})
    run(second, tail)
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(array, second.arrays()[name], err_msg=name)


@pytest.mark.parametrize("loss", LOSSES)
def test_nothing_makes_a_weight_infinite(loss: str) -> None:
    engine, random, text = build(loss=loss, learning_rate=100.0), np.random.default_rng(5), []
    for k in range(400):
        x, z, h, y = 10 ** random.uniform(-30, 30, 4) * random.choice([-1, 1], 4)
        y = np.sign(y) if KIND.get(loss) == "binary" else abs(y) if loss == "poisson" else y
        text.append(f"{y:g} {abs(h):g} |u u{k % 5}:{x:g} v:{z:g} |i i{k % 3}:{z:g} |c c{k % 2}\n")
    run(engine, "".join(text))
    assert np.isfinite(engine.weights).all()
    assert np.isfinite(run(engine, "|u u1 |i i1 |c c1\n", learn=False)).all()


@pytest.mark.parametrize("loss", ["squared", "quantile", "expectile"])
def test_the_unit_of_the_labels_does_not_matter(loss: str) -> None:
    text = lines(300)
    scaled = "".join(
        f"{1000 * float(line.split(' ', 1)[0]):g} {line.split(' ', 1)[1]}" for line in text.splitlines(True)
    )
    small, large = (build(loss=loss, dynamics="exact") for _ in range(2))
    raw = [engine.run_batch(parse(engine, t))[0].raw[5:] for engine, t in ((small, text), (large, scaled))]
    np.testing.assert_allclose(raw[0], raw[1] / 1000, rtol=0, atol=2e-3)


def test_learning_reports_the_predictions_before_and_after() -> None:
    engine = trained(loss="squared")
    line = "1 |u u1:2 u3:-0.5 |i i1 |c c1\n"
    before = run_raw(engine, line)
    outputs = engine.run_batch(parse(engine, line))[0]
    assert outputs.raw[0] == before
    updated = float(engine._example["updated"][0])
    assert updated == pytest.approx(run_raw(engine, line), abs=1e-5)
    assert abs(updated - before) > 1e-3


def noisy(n: int, seed: int) -> str:
    """Two of three fields decide, and one label in four is wrong."""
    random = np.random.default_rng(seed)
    a, b, c = random.integers(0, 100, (3, n))
    y = np.where((a + b) % 2 == 0, 1, -1) * np.where(random.random(n) < 0.25, -1, 1)
    return "".join(f"{y[k]} |a n{a[k]} |b n{b[k]} |c n{c[k]}\n" for k in range(n))


def test_a_pass_over_known_examples_applies_the_prior_again() -> None:
    """Without it the loss on other examples grows twice as fast; more of the partner's variance keeps it low."""
    text, test, last = noisy(6000, 0), noisy(2000, 1), {}
    for name, share in (("default", 0.15), ("no prior", 0.15), ("more variance", 0.7)):
        engine = build(bits=18, partner_variance=share)
        for _ in range(10):
            run(engine, text)
            engine.end_pass()
            if name == "no prior":
                engine.layers[0].learned["again"] = 0.0
        last[name] = engine.run_batch(parse(engine, test), learn=False)[0].losses.mean()
    assert last["no prior"] > 1.2 * last["default"]
    assert last["more variance"] < 0.62
