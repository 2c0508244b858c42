"""The support vector machine: against the same steps in plain Python, the conditions of the optimum, and its memory."""

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError, ModelError
from hutch.core.kernel.random import merand48
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.kernel_svm.layer import KernelSvm
from hutch.vw.parse import parse
from hutch.vw.translate import chain_of

f4 = np.float32


def rows(count=70, seed=0, width=6):
    """Dense rows, labels and importances; the label is the sign of a product."""
    random = np.random.default_rng(seed)
    x = np.where(random.random((count, width)) < 0.6, random.normal(size=(count, width)), 0).astype(f4)
    x[:, 3] += 0.3
    return x, np.where(x[:, 0] * x[:, 1] + 0.2 * x[:, 2] > 0, 1.0, -1.0), random.choice([0.5, 1.0, 2.0], count)


def records(x, y, importance):
    for row, label, weight in zip(x, y, importance, strict=True):
        words = {f"w{k}": float(v) for k, v in enumerate(row) if v}
        yield {"a": words, "label": float(label), "importance": float(weight)}


def chain_with(**parameters):
    return Chain.from_config({"chain": [{"kernel_svm": parameters}], "input": {"constant": False}})


class Twin:
    """LASVM with lists in the order of the support vectors, and float64 kernels."""

    def __init__(self, kernel, scale, reprocess):
        self.kernel, self.scale, self.reprocess, self.state = kernel, scale, reprocess, np.uint64(0)
        self.x, self.y, self.c, self.alpha, self.delta = [], [], [], [], []

    def score(self, x):
        return sum(a * self.kernel(x, other) for a, other in zip(self.alpha, self.x, strict=True)) / self.scale

    def draw(self):
        self.state, found = merand48(self.state)
        return found

    def adjust(self, i):
        k = [self.kernel(self.x[i], other) for other in self.x]
        total = float(np.dot(k, self.alpha))
        self.delta[i] = total * self.y[i] / self.scale - 1
        best = (self.scale - (total - self.alpha[i] * k[i]) * self.y[i]) / k[i]
        best = min(max(best, 0), self.c[i]) * self.y[i]
        step = np.clip(best - self.alpha[i], -1, 1)
        self.delta = [d + step * each * y / self.scale for d, each, y in zip(self.delta, k, self.y, strict=True)]
        self.alpha[i] += step
        if abs(self.alpha[i]) <= 1e-7:
            for each in self.lists:
                del each[i]

    @property
    def lists(self):
        return self.x, self.y, self.c, self.alpha, self.delta

    def learn(self, x, y, importance):
        for each, value in zip(self.lists, (x, y, importance, 0.0, 0.0), strict=True):
            each.append(value)
        self.adjust(len(self.x) - 1)
        for _ in range(self.reprocess):
            if not self.x:
                return
            if self.draw() < 0.5:
                self.adjust(int(self.draw() * f4(len(self.x))))
                continue
            wrong = [
                abs(d) * ((a * y < c and d < 0) or (a * y > 0 and d > 0))
                for _, y, c, a, d in zip(*self.lists, strict=True)
            ]
            worst = int(np.argmax(wrong))
            if wrong[worst] > 0:
                for each in self.lists:
                    each.insert(0, each.pop(worst))
                self.adjust(worst)


KERNELS = {
    "linear": ({}, lambda x, z: float(x @ z)),
    "rbf": ({"bandwidth": 0.7}, lambda x, z: float(np.exp(-0.7 * ((x - z) ** 2).sum()))),
    "poly": ({"degree": 3}, lambda x, z: float((1 + x @ z) ** 3)),
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("reprocess", [0, 1, 4])
def test_scores_by_plain_python(name, reprocess):
    more, kernel = KERNELS[name]
    chain, twin = chain_with(kernel=name, l2=0.8, reprocess=reprocess, **more), Twin(kernel, 0.8, reprocess)
    data = rows(26)
    for record, x, y, importance in zip(records(*data), *data, strict=True):
        [batch] = chain.batches([record])
        outputs, _ = chain.run_batch(batch)
        wanted = twin.score(x.astype(float))
        assert outputs.predictions[0] == pytest.approx(wanted, rel=2e-2, abs=2e-2)
        assert outputs.losses[0] == pytest.approx(max(0, 1 - wanted * y) * importance, rel=2e-2, abs=4e-2)
        twin.learn(x.astype(float), y, importance)
        assert chain.layers[0].support_count == len(twin.x)
    assert len(twin.x) > 10


@pytest.mark.parametrize("name", KERNELS)
def test_many_steps_lead_to_the_optimum_over_the_support_vectors(name):
    chain = chain_with(kernel=name, reprocess=3000, l2=0.5, **KERNELS[name][0])
    chain.learn(records(*rows(40, 3)))
    saved = chain.layers[0].saved()
    labels, importances, alphas, _ = saved["numbers"].T
    starts = np.concatenate([[0], saved["ends"][:-1]])
    x = np.zeros((len(labels), 1 << 18), f4)
    for k, (start, end) in enumerate(zip(starts, saved["ends"], strict=True)):
        x[k, saved["rows"][start:end]] = saved["values"][start:end]
    x = x[:, x.any(axis=0)].astype(float)
    kernel = np.array([[KERNELS[name][1](a, b) for b in x] for a in x])
    if name != "linear":
        assert 3 < (np.abs(alphas) < importances - 1e-3).sum()
    margin = labels * (kernel @ alphas) / 0.5
    weight = alphas * labels
    assert (weight > 0).all() and (weight <= importances + 1e-6).all()
    inside = weight < importances - 1e-3
    np.testing.assert_allclose(margin[inside], 1, atol=5e-3)
    assert (margin[~inside] < 1 + 5e-3).all()


def test_words_of_a_row_add_up_and_their_order_has_no_meaning():
    first, second = chain_with(), chain_with()
    first.learn(["1 |a x:1 y:2 x:0.5", "-1 |a z y"])
    second.learn(["1 |a y:2 x:1.5", "-1 |a y z"])
    for name, array in first.layers[0].saved().items():
        np.testing.assert_array_equal(array, second.layers[0].saved()[name])


def test_examples_wait_for_the_pool_to_be_full():
    chain, data = chain_with(pool=4, reprocess=2), list(records(*rows(11)))
    chain.learn(data[:3])
    assert chain.layers[0].support_count == 0 and len(chain.layers[0].saved()["ends"]) == 3
    chain.learn(data[3:])
    saved = chain.layers[0].saved()
    assert len(saved["ends"]) - int(saved["supports"][0]) == 3


@pytest.mark.parametrize("pool", [1, 5])
def test_learning_goes_on_exactly_from_a_saved_model(pool, tmp_path):
    data = list(records(*rows(63, 5)))
    whole, part = chain_with(kernel="rbf", reprocess=3, pool=pool), chain_with(kernel="rbf", reprocess=3, pool=pool)
    whole.learn(data)
    part.learn(data[:28])
    part.save(tmp_path / "model")
    again = Chain.load(tmp_path / "model")
    again.learn(data[28:])
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(array, again.arrays()[name], err_msg=name)


def test_a_weight_moves_by_at_most_1_at_a_time():
    chain = chain_with(reprocess=0)
    chain.learn([{"a": {"x": 0.1}, "label": 1.0, "importance": 3.0}])
    assert chain.layers[0].saved()["numbers"][:, 2].tolist() == [1.0]


def test_memory_of_removed_examples_is_used_again(tmp_path):
    random = np.random.default_rng(0)
    chain = chain_with(l2=1e-3)
    for k in range(1200):
        label = 1.0 if k % 2 else -1.0
        words = {f"w{j}": 1.0 for j in random.choice(400, 60, replace=False)} | {"sign": 50 * label}
        chain.learn([{"a": words, "label": label}])
    state = chain.layers[0].state
    assert state["slot_count"][0] < 600
    assert state["used"][0] - state["live"][0] <= state["live"][0] + 4096 + 61
    assert 1200 * 61 > 1.5 * state["used"][0]
    chain.save(tmp_path / "model")
    again, asked = Chain.load(tmp_path / "model"), [{"a": {f"w{j}": 1.0 for j in range(k, 400, 7)}} for k in range(7)]
    np.testing.assert_array_equal(again.predict(asked), chain.predict(asked))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("ends", lambda a: a + 1, "which do not fit each other"),
        ("supports", lambda a: a - 2, "which do not fit each other"),
        ("rows", lambda a: a[::-1].copy(), "rows do not rise"),
    ],
)
def test_models_whose_arrays_do_not_fit_are_refused(name, change, message):
    chain = chain_with()
    chain.learn(records(*rows(12)))
    arrays = chain.layers[0].saved()
    with pytest.raises(ModelError, match=message):
        chain.layers[0].check_saved(arrays | {name: change(arrays[name])})


@pytest.mark.parametrize(
    "parameters",
    [{"kernel": "poly", "degree": 2, "reprocess": 3}, {"kernel": "rbf", "bandwidth": 0.3, "l2": 0.1, "pool": 3}],
    ids=str,
)
def test_contract_with_other_parameters(parameters):
    for check in checks_of_reduction(KernelSvm, parameters):
        if check.name != "magnitudes" or parameters["kernel"] != "poly":  # the square of 1e20 is beyond float32
            check()


def test_several_sub_models_are_refused():
    with pytest.raises(ConfigError, match="^kernel_svm: got 3 sub-models, wanted one: it keeps one set of examples"):
        Chain.from_config({"chain": [{"one_against_all": {"classes": 3}}, "kernel_svm"]})


def test_no_regularisation_is_that_of_1_as_in_vw():
    assert chain_of(parse("--ksvm --l2 0".split()))["chain"] == ["kernel_svm"]
