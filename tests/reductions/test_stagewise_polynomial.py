"""Stagewise polynomials: the same in plain Python, over a learner that is given the products as features."""

import numpy as np
import pytest

from hutch import Chain
from hutch.core.batch import CONSTANT_INDEX
from hutch.core.errors import ConfigError, HutchError
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.stagewise_polynomial import StagewisePolynomial
from hutch.vw.main import run
from hutch.vw.model_binary import vw_model

BITS = 12
MASK = (1 << BITS) - 1
CONSTANT = CONSTANT_INDEX & MASK


def lines(count=150, seed=0, late=True):
    """A label that is a product; `late`: in the second half a feature comes alone that was met as a product before."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        row = {int(k): float(random.normal()) for k in random.choice(9, 5, replace=False)}
        label = row.get(0, 0.0) * row.get(1, 0.0) + 0.3 * row.get(2, 0.0)
        features = {40 * k + 7: value for k, value in row.items()}
        if late and len(found) > count // 2:
            features |= {(47 ^ (16777619 * 7)) & MASK: float(random.normal())}
        found.append((label, features))
    return found


def record(label, row):
    return {"label": label, "": {str(k): value for k, value in row.items()}}


def chain_of(*above, linear=None, constant=True, **parameters):
    layers = [*above, {"stagewise_polynomial": parameters}, {"linear": linear or {}}]
    return Chain.from_config({"chain": layers, "weights": {"bits": BITS}, "input": {"constant": constant}})


class Twin:
    """The layer in plain Python."""

    def __init__(self, exponent, batch, doubles, linear):
        config = {"chain": [{"linear": linear}], "weights": {"bits": BITS}, "input": {"constant": False}}
        self.below = Chain.from_config(config)
        self.scale = 1 + linear.get("adaptive", True)
        self.exponent, self.batch, self.doubles, self.wait = exponent, batch, doubles, batch
        self.depth, self.joined = {}, set()
        self.seen = self.learned = self.features = 0
        self.due = False

    def child(self, atom, row):
        if atom == CONSTANT:
            return row
        return atom if row == CONSTANT else (atom ^ (16777619 * row)) & MASK

    def products(self, row, training, depth=0, parent=(CONSTANT, 1.0), found=None):
        found = {} if found is None else found
        for atom, value in row.items():
            made = self.child(atom, parent[0])
            if training and depth < self.depth.get(made, 999):
                self.joined.discard(made)
                self.depth[made] = depth
            if made not in found and self.depth.get(made) == depth:
                found[made] = float(np.float32(value) * np.float32(parent[1]))
                if made in self.joined:
                    self.products(row, training, depth + 1, (made, found[made]), found)
        return found

    def join(self, joined):
        """Products have the same score in either order, of which the layer has its choice: `joined` after it."""
        weights = self.below.weights
        scores = np.abs(weights[:, 0]) * weights[:, self.scale]
        free = [k for k in range(MASK + 1) if k not in self.joined and k != CONSTANT and scores[k] > 1e-9]
        most = int((self.features / self.learned) ** self.exponent)
        best = sorted(free, key=lambda k: -scores[k])[:most]
        new = joined - self.joined
        assert sorted(scores[list(new)]) == sorted(scores[best])
        self.joined |= new

    def learn(self, label, row, joined):
        row = {**row, CONSTANT: 1.0}
        if self.due:
            self.join(joined)
            self.due = False
        self.learned, self.features = self.learned + 1, self.features + len(row)
        [found] = self.below.learn([record(label, self.products(row, True))])
        if self.batch and self.seen and self.seen % (self.wait if self.doubles else self.batch) == 0:
            self.wait, self.due = 2 * self.wait, True
        self.seen += 1
        return found

    def end_pass(self):
        self.seen += 1
        self.due |= not self.batch


@pytest.mark.parametrize(
    ("exponent", "batch", "doubles", "linear"),
    [
        (1.0, 20, False, {}),
        (1.5, 15, True, {"learning_rate": 0.2}),
        (0.0, 10, False, {"adaptive": False, "learning_rate": 0.1}),
        (1.0, 0, True, {}),
    ],
)
def test_by_plain_python(exponent, batch, doubles, linear):
    chain = chain_of(exponent=exponent, batch=batch, doubles=doubles, linear=linear)
    twin = Twin(exponent, batch, doubles, linear)
    for _ in range(3):
        for line in lines():
            [found] = chain.learn([record(*line)])
            joined = set(np.flatnonzero(chain.layers[0].saved()["support"] >= 128).tolist())
            assert found == pytest.approx(twin.learn(*line, joined), rel=1e-5, abs=1e-6)
        chain.end_pass()
        twin.end_pass()
    assert twin.joined and max(twin.depth.values()) > 1
    np.testing.assert_allclose(chain.weights, twin.below.weights, rtol=1e-4, atol=1e-6)


def test_it_learns_a_product():
    losses = []
    for layers in (["linear"], [{"stagewise_polynomial": {"batch": 100}}, "linear"]):
        chain = Chain.from_config({"chain": layers})
        data = lines(3000, late=False)
        found = chain.learn([record(*line) for line in data])
        losses.append(np.mean((found - [label for label, _ in data])[-1000:] ** 2))
    assert losses[1] < losses[0] / 4


def test_the_order_of_joining_is_that_of_the_peer_where_scores_are_equal(tmp_path, monkeypatch):
    """Features that always come together have the same score; which of them join is the C++ library's choice."""
    vowpalwabbit = pytest.importorskip("vowpalwabbit", reason="the peer: pip install vowpalwabbit==9.11.9")
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(1)
    with open("data", "w") as file:
        for _ in range(300):
            k, j = random.integers(0, 5, 2)
            label = round(float(k * j) / 8 + random.normal() / 9, 3)
            words = " ".join(f"{name}{k} {name}{j}" for name in "abcdef")
            file.write(f"{label} |w {words}\n")
    words = "-d data --stage_poly --batch_sz 20 --sched_exponent 0.8 --quiet -p".split()
    vowpalwabbit.Workspace(arg_list=[*words, "theirs"]).finish()
    assert run([*words, "ours"]) == 0
    assert (tmp_path / "ours").read_text() == (tmp_path / "theirs").read_text()


@pytest.mark.parametrize("cut", [30, 75])
def test_resumes_between_two_stages(tmp_path, cut):
    records = [record(*line) for line in lines()]
    whole, first = chain_of(batch=20), chain_of(batch=20)
    wanted = whole.learn(records)
    found = [first.learn(records[:cut])]
    first.save(tmp_path / "model")
    second = Chain.load(tmp_path / "model")
    found.append(second.learn(records[cut:]))
    np.testing.assert_array_equal(np.concatenate(found), wanted)
    np.testing.assert_array_equal(second.weights, whole.weights)


def test_contract_where_features_join_early():
    for check in checks_of_reduction(StagewisePolynomial, {"batch": 7, "predict_first": True}):
        if check.name != "magnitudes":  # the cube of a feature of 1e10 is beyond float32 in `linear` below
            check()


@pytest.mark.parametrize("linear", [{"normalized": False}, {"interactions": [["a", "b"]]}], ids=str)
def test_needs_scales_and_its_own_products(linear):
    with pytest.raises(ConfigError, match="wanted 'linear', normalized, without interactions"):
        chain_of(linear=linear)


def test_vw_models_do_not_keep_when_features_join():
    with pytest.raises(HutchError, match="VW models do not keep the state of stagewise_polynomial"):
        vw_model(chain_of())
