"""The linear learner against a plain NumPy twin in float32, its interactions against brute force, and its laws."""

from dataclasses import replace
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hutch import Chain
from hutch.core.errors import ConfigError
from hutch.reductions.linear.layer import LinearParameters

F = np.float32
FNV = 16777619
LEAST = F(1.084202e-19)


class Twin:
    """Hinge loss on indices below 2^bits: every operation in float32 and in the order of the features."""

    def __init__(self, bits=8, rate=0.5, power_t=0.5, adaptive=True, normalized=True, invariant=True, l1=0.0, l2=0.0):
        self.rate, self.power, self.adaptive, self.normalized = F(rate), F(power_t), adaptive, normalized
        self.invariant, self.l1, self.l2 = invariant, l1, l2
        self.w, self.g, self.n, self.r = (np.zeros(1 << bits, F) for _ in range(4))
        self.low = self.high = F(0)
        self.norm, self.weight = 0.0, 0.0
        self.contraction, self.gravity, self.written = 1.0, 0.0, 0
        self.time = 0.0 if adaptive or normalized else 1.0

    def weight_of(self, i):
        w, gravity = self.w[i], F(self.gravity)
        if not self.l1:
            return w
        return F(0) if not gravity < abs(w) else F(w - gravity) if w > 0 else F(w + gravity)

    def learn(self, batch):
        """The predictions of all rows, each before it is learned."""
        ends = zip(batch.row_ptr[:-1], batch.row_ptr[1:], batch.labels, batch.importance, strict=True)
        return np.array([self.step(batch.indices[a:b], batch.values[a:b], y, h) for a, b, y, h in ends], F)

    def step(self, indices, values, y, importance):
        y, importance = F(y), F(importance)
        self.low, self.high = min(self.low, y), max(self.high, y)
        p = F(0)
        for i, x in zip(indices, values, strict=True):
            p = F(p + F(self.weight_of(i) * x))
        p = F(p * F(self.contraction))
        p = min(max(p, self.low), self.high)
        if F(y * p) < 1 and importance > 0:
            self.update(indices, values, y, importance, p)
        self.time += float(importance)
        return p

    def update(self, indices, values, y, importance, p):
        multiplier, scale = F(1), F(self.rate * importance)
        if self.adaptive or self.normalized:
            norm, multiplier = self.rates(indices, values, importance)
        else:
            norm = F(0)
            for x in values:
                norm = F(norm + F(x * x))
        if not self.adaptive:
            scale = F(scale * F(F(self.time + float(importance)) ** F(-self.power)))
        gap = F(1 - F(y * p))
        step = scale if not self.invariant or F(scale * norm) < gap else F(gap / norm)
        update = F(y * step)
        if self.l1 or self.l2:
            eta = float(update) / float(y)
            self.contraction *= 1 - float(F(self.l2)) * eta
            update = F(update / F(self.contraction))
            self.gravity += eta * float(F(self.l1))
        update = F(update * multiplier)
        for i, x in zip(indices, values, strict=True):
            x = F(x * self.r[i]) if self.adaptive or self.normalized else x
            self.w[i] = F(self.w[i] + F(update * x))
        if self.contraction < 1e-9 or self.gravity > 1e3:
            self.w[:] = [F(self.weight_of(i) * F(self.contraction)) for i in range(len(self.w))]
            self.contraction, self.gravity, self.written = 1.0, 0.0, self.written + 1

    def rates(self, indices, values, square):
        total, norm, root = F(0), F(0), self.power == F(0.5)
        for i, x in zip(indices, values, strict=True):
            x = max(abs(x), LEAST)
            x2, rate = F(x * x), F(1)
            if self.adaptive:
                self.g[i] = F(self.g[i] + F(square * x2))
                rate = F(F(1) / np.sqrt(self.g[i])) if root else F(self.g[i] ** F(-self.power))
            if self.normalized:
                if x > self.n[i]:
                    if self.n[i] > 0:
                        self.w[i] = F(self.w[i] * self.rescale(self.n[i], x, root))
                    self.n[i] = x
                inverse = F(F(1) / self.n[i])
                if root:
                    rate = F(rate * inverse) if self.adaptive else F(rate * F(inverse * inverse))
                else:
                    rate = F(rate * F(F(self.n[i] * self.n[i]) ** F(self.power - F(1))))
                norm = F(norm + F(x2 / F(self.n[i] * self.n[i])))
            self.r[i] = rate
            total = F(total + F(x2 * rate))
        if not self.normalized:
            return total, F(1)
        self.norm += float(square) * float(norm)
        self.weight += float(square)
        if root:
            mean = F(F(self.weight) / F(self.norm))
            multiplier = np.sqrt(mean) if self.adaptive else mean
        else:
            multiplier = F(F(F(self.norm) / F(self.weight)) ** F(self.power - F(1)))
        return F(total * multiplier), multiplier

    def rescale(self, old, new, root):
        if root:
            ratio = F(old / new)
            return ratio if self.adaptive else F(ratio * ratio)
        ratio = F(new / old)
        return F(F(ratio * ratio) ** F(self.power - F(1)))


def make(parameters=None, bits=8, constant=False, **top):
    return Chain.from_config(
        {
            "chain": [{"linear": parameters or {}}],
            "weights": {"bits": bits},
            "input": {"namespaces": "letter", "constant": constant},
            **top,
        }
    )


def random_lines(seed, count=60, most=6):
    """Lines with features that repeat, change their scale and come in several namespaces; and what they say."""
    random = np.random.default_rng(seed)
    lines, rows = [], []
    for _ in range(count):
        indices = random.integers(0, 2 * most, random.integers(1, most + 1))
        values = np.round(random.normal(size=len(indices)) * 10.0 ** random.integers(-2, 3), 2).astype(F)
        values[values == 0] = 1
        y, importance = random.choice([-1, 1]), random.choice([1, 1, 1, 0.5, 7])
        text = " ".join(f"{i}:{float(v):.2f}" for i, v in zip(indices, values, strict=True))
        lines.append(f"{y} {importance:g} | {text}")
        batch_values = [F(float(word.split(":")[1])) for word in text.split()]
        rows.append((indices, batch_values, y, importance))
    return lines, rows


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("invariant", [True, False])
@pytest.mark.parametrize(("power_t", "l1", "l2"), [(0.5, 0, 0), (0.3, 0, 0), (0.5, 1e-3, 0), (0.5, 0, 1e-2)])
def test_every_prediction_and_weight_is_the_twin_s(adaptive, normalized, invariant, power_t, l1, l2):
    kinds = {"adaptive": adaptive, "normalized": normalized, "invariant": invariant}
    chain = make({"loss": "hinge", "power_t": power_t, "l1": l1, "l2": l2, "learning_rate": 0.3, **kinds})
    twin = Twin(rate=0.3, power_t=power_t, l1=l1, l2=l2, **kinds)
    lines, _ = random_lines(1)
    [batch] = chain.batches(lines)
    wanted = twin.learn(batch)
    got = chain.learn(lines)
    exact = power_t == 0.5 and (adaptive or normalized)  # powf rounds differently in NumPy
    if exact:
        np.testing.assert_array_equal(got, wanted)
        np.testing.assert_array_equal(chain.weights[:, 0], twin.w)
    else:
        np.testing.assert_allclose(got, wanted, rtol=2e-3, atol=1e-4)
    if exact and adaptive and normalized:
        np.testing.assert_array_equal(chain.weights[:, 1], twin.g)
        np.testing.assert_array_equal(chain.weights[:, 2], twin.n)


@pytest.mark.parametrize(("l1", "l2"), [(0, 0.9), (1e-4, 0.9), (90.0, 0)])
def test_regularisation_that_has_grown_is_written_into_the_weights(l1, l2):
    chain, twin = make({"loss": "hinge", "l1": l1, "l2": l2}), Twin(l1=l1, l2=l2)
    lines, _ = random_lines(1, count=300)
    [batch] = chain.batches(lines)
    wanted = twin.learn(batch)
    np.testing.assert_array_equal(chain.learn(lines), wanted)
    np.testing.assert_array_equal(chain.weights[:, 0], twin.w)
    assert twin.written > 1


def test_the_clock_of_plain_rates_counts_labels_alone():
    """Rates fall as (1 + importance of the labels so far)^-power_t."""
    plain = {"loss": "squared", "adaptive": False, "normalized": False, "invariant": False, "power_t": 0.5}
    chain, w, time = make(plain), 0.0, 1.0
    for line, y, importance in [("| 1", 0, 0), ("1 2 | 1", 1, 2), ("3 | 1", 3, 1), ("| 1", 0, 0), ("-1 | 1", -1, 1)]:
        assert chain.learn([line])[0] == pytest.approx(w, rel=1e-6)
        time += importance
        w += 0.5 * importance * time**-0.5 * 2 * (y - w)


@pytest.mark.parametrize("most", [1, 15, 16, 17, 70, 1600])
def test_long_examples_learn_as_short_ones_do(most):
    chain, twin = make({"loss": "hinge"}), Twin()
    lines, _ = random_lines(most, count=40, most=most)
    [batch] = chain.batches(lines)
    wanted = twin.learn(batch)
    np.testing.assert_array_equal(chain.learn(lines), wanted)
    for k, column in enumerate((twin.w, twin.g, twin.n, twin.r)):
        np.testing.assert_array_equal(chain.weights[:, k], column)


def test_an_index_beyond_the_table_wraps_around():
    """A reader of a plugin's may forget to take an index modulo the table's size."""
    chain, masked = make({"loss": "hinge"}), make({"loss": "hinge"})
    [batch] = chain.batches([f"{2 * (i % 2) - 1} | {i}:0.5 {i + 20}:2" for i in range(20)])
    for _ in range(2):  # the first example of all makes room, and takes another way
        masked.run_batch(batch)
        beyond = replace(batch, indices=batch.indices + np.uint32(5 << 8) * (np.arange(len(batch.indices)) % 3 == 0))
        chain.run_batch(beyond)
        np.testing.assert_array_equal(chain.weights, masked.weights)


@pytest.mark.parametrize("size", ["1e-25", "-1e-19", "1.1e-19", "-3", "1", "1e18", "-1e20", "3e38"])
@pytest.mark.parametrize("count", [9, 16, 33])
def test_values_whose_squares_are_too_small_or_too_large(size, count):
    chain = make({"loss": "hinge"}, bits=10)
    [batch] = chain.batches(["1 | " + " ".join(f"{i}:{size}" for i in range(count))])
    chain.run_batch(batch)
    x, least = batch.values[0], F(1.084202e-19)
    with np.errstate(over="ignore", under="ignore"):
        square, scale = x * x, abs(x)
        if square < least * least:
            square, scale = least * least, least
    learned = chain.weights[chain.weights[:, 2] > 0]
    assert len(learned) == count and np.isfinite(learned[:, 0]).all()
    np.testing.assert_array_equal(learned[:, 1], np.full(count, square))
    np.testing.assert_array_equal(learned[:, 2], np.full(count, scale))


@pytest.mark.parametrize(
    "parameters", [{}, {"interactions": ["ab", "aab"]}, {"ignore_linear": ["a"], "l1": 1e-3}], ids=str
)
def test_what_comes_next_does_not_matter(parameters):
    """The rows of the next example are fetched ahead; nothing else of it may be seen."""
    random = np.random.default_rng(0)
    lines = [
        f"{random.choice([-1, 1])} "
        + " ".join(
            f"|{name} " + " ".join(f"{i}:{i / 7 + 0.1:.2f}" for i in random.integers(0, 30, random.integers(1, 25)))
            for name in random.permutation(list("abc"))[: random.integers(1, 4)]
        )
        for _ in range(80)
    ]
    together, apart = (make({"loss": "logistic", **parameters}) for _ in range(2))
    np.testing.assert_array_equal(together.learn(lines), np.concatenate([apart.learn([line]) for line in lines]))
    np.testing.assert_array_equal(together.weights, apart.weights)


def brute_force(namespaces, term, permutations):
    """Indices (before masking) and values of the features of one term."""
    blocks = []
    for name in dict.fromkeys(term):
        width, features = term.count(name), namespaces.get(name, [])
        blocks.append(list(product(features, repeat=width) if permutations else combos(features, width)))
    for choice in product(*blocks):
        features = [feature for block in choice for feature in block]
        half, value = 0, F(1)
        for k, (index, x) in enumerate(features):
            half = (half ^ index) if k else index
            half = half * FNV if k < len(features) - 1 else half
            value = F(value * x)
        yield half & 0xFF, value


def combos(features, width):
    return combinations_with_replacement(features, width)


@pytest.mark.parametrize("permutations", [False, True])
@pytest.mark.parametrize(
    ("interactions", "terms"),
    [
        (["ab"], ["ab"]),
        (["ba"], ["ba"]),
        (["ba", "ab"], ["ab"]),
        (["aa"], ["aa"]),
        (["aba"], ["aab"]),
        (["abc", "aaa"], ["aaa", "abc"]),
        (["aabb"], ["aabb"]),
        (["::"], ["aa", "ab", "ac", "bb", "bc", "cc"]),
        (["a:"], ["aa", "ab", "ac"]),
        (["ax"], []),
    ],
)
def test_interactions_are_all_products(interactions, terms, permutations):
    a, b, c = [(1, F(0.5)), (2, F(-1.5)), (3, F(2))], [(7, F(0.25)), (9, F(3))], [(11, F(-1))]
    namespaces = {"a": a, "b": b, "c": c}
    text = " ".join(f"|{n} " + " ".join(f"{i - ord(n)}:{float(x):g}" for i, x in fs) for n, fs in namespaces.items())
    plain = {"adaptive": False, "normalized": False, "invariant": False, "power_t": 0, "learning_rate": 1}
    chain = make({"loss": "hinge", "interactions": interactions, "permutations": permutations, **plain})
    [batch] = chain.batches([f"1 {text}"])
    seen = {chr(name): list(zip(i.tolist(), v, strict=True)) for name, i, v in batch.row(0)}
    chain.learn(batch)
    wanted = np.zeros(256, F)
    features = [feature for name in "abc" for feature in seen[name]]
    for term in terms:
        features += list(brute_force(seen, term, permutations))
    for index, value in features:
        wanted[index] = F(wanted[index] + value)
    np.testing.assert_array_equal(chain.weights[:, 0], wanted)
    assert chain.last_features == len(features)


@pytest.mark.parametrize("sizes", [(1, 1), (3, 16), (17, 15), (33, 31), (2, 100)], ids=str)
@pytest.mark.parametrize("term", ["ab", "aa", "abb", "bab"])
def test_rows_and_values_of_interactions_of_any_size(sizes, term):
    chain = make({"interactions": [term]})
    words = [" ".join(f"{k}:{(k % 7) / 4 - 0.6:g}" for k in range(size)) for size in sizes]
    examples = [f"|a {words[0]} |b {words[1]}", "|a 5 |b 7 8"]  # a short one after: what was written behind is gone
    for batch in chain.batches(examples):
        for i in range(len(batch)):
            seen = {chr(name): list(zip(j.tolist(), v, strict=True)) for name, j, v in batch.row(i)}
            chain.predict([examples[i]])
            rows, values, _ = chain.layers[-1].gathered()
            wanted = [feature for name in "ab" for feature in seen[name]]
            wanted += brute_force(seen, "".join(sorted(term)) if len(set(term)) < len(term) else term, False)
            np.testing.assert_array_equal(rows & 0xFF, [index for index, _ in wanted])
            np.testing.assert_array_equal(values, np.array([value for _, value in wanted], F))


def test_left_out_namespaces_still_interact():
    parameters = {"interactions": ["ab"], "ignore_linear": ["a"], "adaptive": False, "normalized": False}
    chain = make(parameters)
    chain.learn(["1 |a x |b y"])
    assert np.count_nonzero(chain.weights) == 2


def test_full_names_interact_by_name():
    config = {"chain": [{"linear": {"interactions": [["user", "item"]]}}], "weights": {"bits": 10}}
    chain = Chain.from_config(config)
    chain.learn(["1 |user u |item i |other o"])
    assert np.count_nonzero(chain.weights[:, 0]) == 5
    with pytest.raises(ConfigError, match="a list of names"):
        Chain.from_config({"chain": [{"linear": {"interactions": ["ab"]}}]})


KINDS = st.fixed_dictionaries(
    {
        "loss": st.sampled_from(["squared", "hinge", "logistic", "poisson"]),
        "adaptive": st.booleans(),
        "normalized": st.booleans(),
        "l1": st.sampled_from([0.0, 1e-4]),
        "interactions": st.sampled_from([(), ("  ",)]),
    }
)

DRAWN_AWAY = {"loss": "logistic", "adaptive": True, "normalized": True, "l1": 1e-4, "interactions": ()}
"""With labels that logistic loss is not made for, l1 comes below 0."""


@pytest.mark.filterwarnings("ignore:the loss 'poisson' gave nan")
@pytest.mark.filterwarnings("ignore:.*this chain is not made for")  # any loss, any label
@settings(max_examples=20, deadline=None)
@given(parameters=KINDS, cut=st.integers(1, 59), seed=st.integers(0, 5))
@example(DRAWN_AWAY, 59, 0)
def test_saved_and_loaded_goes_on_exactly(tmp_path_factory, parameters, cut, seed):
    path = tmp_path_factory.mktemp("model") / "model"
    lines, _ = random_lines(seed)
    whole, first = make(parameters), make(parameters)
    expected = whole.learn(lines)
    got = [first.learn(lines[:cut])]
    first.save(path)
    second = Chain.load(path)
    got.append(second.learn(lines[cut:]))
    np.testing.assert_array_equal(np.concatenate(got), expected)
    np.testing.assert_array_equal(second.weights, whole.weights)


def test_predicting_changes_nothing():
    chain = make()
    lines, _ = random_lines(3)
    chain.learn(lines)
    before = {name: array.copy() for name, array in chain.arrays().items()}
    chain.predict(["9 | 1:100", "-5 0 | 2"])
    for name, array in chain.arrays().items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


def test_labels_without_importance_widen_the_range():
    chain = make()
    chain.learn(["1 | 1"] * 50)
    chain.learn(["3 0 | 2"])
    assert chain.shared[0]["max_label"] == 3


@pytest.mark.parametrize(("low", "high"), [(None, 0.25), (-0.1, 0.25)])
def test_predictions_stay_in_the_given_range(low, high):
    chain = make({"min_prediction": low, "max_prediction": high})
    assert chain.learn(["1 | 1"] * 20).max() == F(0.25)


def test_learning_rate_decays_after_each_pass():
    chain = make({"decay": 0.5})
    chain.end_pass()
    chain.end_pass()
    assert chain.layers[0].state["learning_rate"] == F(0.125)


@pytest.mark.parametrize("importance", [1e-30, 1e30])
def test_extreme_importance_keeps_weights_finite(importance):
    chain = make({"loss": "logistic"})
    chain.learn([f"1 {importance:g} | 1:3 2", f"-1 {importance:g} | 2:1e20"] * 5)
    assert np.isfinite(chain.weights[:, 0]).all()


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"learning_rate": -1}, "learning_rate"),
        ({"interactions": ["a"]}, "2 to 8"),
        ({"min_prediction": 2, "max_prediction": 1}, "is above"),
        ({"loss": "hinje"}, "hinge"),
        ({"lerning_rate": 1}, "learning_rate"),
    ],
)
def test_mistakes_are_named(parameters, text):
    with pytest.raises(ConfigError, match=text):
        make(parameters)


def test_parameters_have_vw_s_defaults():
    p = LinearParameters()
    assert (p.learning_rate, p.power_t, p.adaptive, p.normalized, p.invariant) == (0.5, 0.5, True, True, True)
