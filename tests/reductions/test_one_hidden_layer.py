"""A hidden layer: back-propagation in float64, what only products explain, and Vowpal Wabbit's `--nn`."""

from pathlib import Path

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError
from hutch.core.text.hashing import hash_namespace, hash_text
from hutch.reductions.one_hidden_layer import _tanh
from hutch.vw.main import run

FIRST_OUTPUT = 533357803
RATE = 0.1


def test_tanh():
    numbers = np.linspace(-3, 3, 1001, dtype=np.float32)
    found = [_tanh(h) for h in numbers] if not hasattr(_tanh, "py_func") else [_tanh.py_func(h) for h in numbers]
    np.testing.assert_allclose(found, np.tanh(numbers), atol=1e-4)


def _chain(**given):
    linear = {"adaptive": False, "normalized": False, "invariant": False, "power_t": 0, "learning_rate": RATE}
    layers = [
        {"one_hidden_layer": {"units": 3} | given},
        {"linear": linear | {"min_prediction": -9, "max_prediction": 9}},
    ]
    return Chain.from_config({"chain": layers, "weights": {"bits": 16}, "seed": 4, "input": {"constant": False}})


def _rows(count, seed=5):
    rng = np.random.default_rng(seed)
    return [f"{rng.normal():.3f} |f " + " ".join(f"{n}:{rng.normal():.3f}" for n in "abc") for _ in range(count)]


class Twin:
    """The network as arrays: weights of units (unit, feature), of the output, of the skip connection."""

    def __init__(self, chain, units):
        weights = chain.weights[:, 0].astype(float)
        space = hash_namespace("f", 0, "strings")
        rows = np.array([hash_text(name, space, "strings") * 4 for name in "abc"])
        self.hidden = weights[(rows + np.arange(units)[:, None]) & 0xFFFF]
        self.output = weights[(FIRST_OUTPUT + units + np.arange(units + 1)) & 0xFFFF]
        self.skip = weights[(rows + units) & 0xFFFF]

    def forward(self, x, skip):
        h = np.clip(self.hidden @ x, -3, 3)
        a = np.tanh(h)
        return a, self.output[:-1] @ a + (self.skip @ x if skip else self.output[-1])


@pytest.mark.parametrize("skip", [False, True])
def test_one_step_is_back_propagation(skip):
    chain = _chain(skip_connection=skip)
    chain.learn(_rows(30))
    before = Twin(chain, 3)
    x, y, importance = np.array([0.5, -1.2, 0.7]), 1.5, 2.0
    [found] = chain.learn([f"{y} {importance} |f " + " ".join(f"{n}:{v}" for n, v in zip("abc", x, strict=True))])
    after = Twin(chain, 3)
    activation, wanted = before.forward(x, skip)
    assert found == pytest.approx(wanted, abs=1e-3)
    step = RATE * importance * 2 * (y - wanted)
    output = before.output + step * np.append(activation, not skip)
    np.testing.assert_allclose(after.output, output, atol=1e-3)
    np.testing.assert_allclose(after.skip, before.skip + step * x * skip, atol=1e-3)
    slope = output[:-1] * (1 - activation**2)
    np.testing.assert_allclose(after.hidden, before.hidden + step * np.outer(slope, x), atol=1e-3)


def test_predictions_without_training_use_all_units():
    chain = _chain(dropout=True)
    chain.learn(_rows(60))
    rows = _rows(20, seed=8)
    twin, x = Twin(chain, 3), [[float(word[2:]) for word in row.split()[2:]] for row in rows]
    wanted = [twin.forward(np.array(each), skip=False)[1] for each in x]
    np.testing.assert_allclose(chain.predict(rows), wanted, atol=2e-3)
    assert not np.allclose(chain.learn(rows), wanted, atol=1e-2)


def test_what_no_linear_model_explains_is_learned():
    """The sign of a product: the error of the second half."""
    rng = np.random.default_rng(2)
    points = rng.normal(size=(4000, 2))
    rows = [f"{1 if x * y > 0 else -1} |f x:{x:.4f} y:{y:.4f}" for x, y in points]
    errors = {}
    for name, layers in {"linear": [], "network": [{"one_hidden_layer": {"units": 16}}]}.items():
        chain = Chain.from_config({"chain": [*layers, {"linear": {"loss": "logistic", "random_weights": "normal"}}]})
        predictions = np.array(chain.learn(rows))[2000:]
        errors[name] = np.mean(np.sign(predictions) != np.sign(points[2000:].prod(1)))
    assert errors["linear"] > 0.4
    assert errors["network"] < 0.15


def test_anything_but_linear_below_is_refused():
    with pytest.raises(ConfigError, match="one_hidden_layer: got coin_betting below, wanted linear, ftrl"):
        Chain.from_config({"chain": [{"one_hidden_layer": {"units": 2}}, "coin_betting"]})


@pytest.fixture
def peer(tmp_path, monkeypatch):
    vowpalwabbit = pytest.importorskip("vowpalwabbit", reason="the peer: pip install vowpalwabbit==9.11.9")
    monkeypatch.chdir(tmp_path)
    return lambda words: vowpalwabbit.Workspace(f"{words} --quiet", enable_logging=True).finish()


def _write(kind):
    rng = np.random.default_rng(7)
    labels = {"number": "{n:.3f}", "sign": "{s}", "class": "{c}"}[kind]
    with open("rows.vw", "w") as file:
        for k in range(60):
            label = labels.format(n=rng.normal(), s=rng.choice([-1, 1]), c=rng.integers(1, 4))
            weight = ["", " 2.5", " 0"][rng.integers(3)]
            words = " ".join(f"w{rng.integers(9)}:{rng.normal():.3f}" for _ in range(4))
            file.write(f"{label + weight if k % 7 else ''} 'tag{k}|a {words} |b v{rng.integers(5)}\n")


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("number", "--nn 3"),
        ("number", "--nn 4 --inpass -q ab --l1 1e-4 --l2 1e-3"),
        ("number", "--nn 2 --dropout --random_seed 3"),
        ("number", "--nn 5 --dropout --meanfield -b 6 --passes 3 -c -k"),
        ("number", "--nn 2 --normalized --power_t 0.3 --bootstrap 2 --noconstant"),
        ("number", "--nn 3 --normal_weights"),
        ("sign", "--nn 3 --loss_function logistic --link logistic --inpass --dropout"),
        ("sign", "--nn 3 --loss_function hinge --binary --interactions :: -b 9"),
        ("class", "--oaa 3 --nn 2 --multitask --inpass"),
        ("class", "--ect 3 --nn 2 --passes 2 -c -k --holdout_off"),
    ],
)
def test_predictions_are_the_peers(kind, options, peer):
    _write(kind)
    peer(f"-d rows.vw {options} -p theirs -f model")
    assert run([*options.split(), "-d", "rows.vw", "-p", "ours", "--quiet"]) == 0
    assert Path("ours").read_text() == Path("theirs").read_text()
    again = "-d rows.vw -i model -t --meanfield"
    peer(f"{again} -p theirs")
    assert run([*again.split(), "-p", "ours", "--quiet"]) == 0
    assert Path("ours").read_text() == Path("theirs").read_text()
