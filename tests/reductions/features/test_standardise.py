"""`standardise`: its NumPy twin, zeros, missing values and importance, and where a stream stops."""

import numpy as np
import pytest

from hutch import Chain

LEARNER = {"linear": {"loss": "squared"}}
POSTERIOR = {"bayesian_linear": {"dimension": 4, "loss": "squared", "prior_variance": 1.0}}


def build(learner=None, **parameters):
    return Chain.from_config({"chain": [{"standardise": parameters}, learner or LEARNER]})


def make(count=60, seed=0):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(count, 4)) * [1, 100, 0.01, 1] + [0, 1000, -1, 0]
    rows[:, 3] = random.integers(0, 3, count)  # often 0
    rows[::7, 0] = np.nan
    return rows.astype(np.float32), rows[:, 1].astype(np.float32) / 100


def twin(rows, importance, clip=4.0, forgetting=0.0):
    """Values and, after all rows, weight, mean and sum of squares of each column."""
    known, out = np.zeros((3, rows.shape[1])), []
    for row, h in zip(rows.astype(float), importance, strict=True):
        there = ~np.isnan(row)
        c, mean, squares = known.copy()
        c = (1 - forgetting) * c + h
        away = np.where(there, row - mean, 0.0)
        mean = mean + away * h / c
        squares = (1 - forgetting) * squares + h * away * (row - mean)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.clip((row - mean) / np.sqrt(squares / c), -clip, clip)
        out.append(np.where(there & (squares > 0), z, np.where(row == 1, 1.0, 0.0)))
        known[:, there] = np.array([c, mean, squares])[:, there]
    return np.array(out), known


@pytest.mark.parametrize("forgetting", [0.0, 0.05])
def test_the_learner_below_gets_the_rows_of_its_twin(forgetting):
    rows, labels = make()
    importance = np.where(np.arange(len(rows)) % 5 == 0, 3.0, 1.0).astype(np.float32)
    chain, plain = build(POSTERIOR, forgetting=forgetting, clip=2.0), Chain.from_config({"chain": [POSTERIOR]})
    values, known = twin(rows, importance, 2.0, forgetting)
    wanted = plain.learn(values.astype(np.float32), labels, importance)
    np.testing.assert_allclose(chain.learn(rows, labels, importance), wanted, rtol=1e-4, atol=1e-4)
    found = sorted(chain.layers[0].columns().items())
    np.testing.assert_allclose([mean for _, (mean, _) in found], known[1], rtol=1e-6)
    np.testing.assert_allclose([deviation for _, (_, deviation) in found], np.sqrt(known[2] / known[0]), rtol=1e-6)


def test_predicting_a_row_stores_nothing_and_says_what_learning_it_says():
    rows, labels = make()
    chain = build()
    chain.learn(rows[:30], labels[:30])
    kept = {name: array.copy() for name, array in chain.layers[0].saved().items()}
    told = chain.predict(rows[30:31])
    for name, array in chain.layers[0].saved().items():
        np.testing.assert_array_equal(array, kept[name])
    np.testing.assert_array_equal(chain.learn(rows[30:31], labels[30:31]), told)


def test_lines_and_dicts_and_rows_are_the_same_with_their_zeros():
    rows, labels = make()
    pairs = list(zip(rows.tolist(), labels.tolist(), strict=True))
    dicts = [{"label": y, "x": {str(j): v for j, v in enumerate(row)}} for row, y in pairs]
    lines = [f"{y!r} |x " + " ".join(f"{j}:{v!r}" for j, v in enumerate(row) if v == v) for row, y in pairs]
    whole, by_lines, single = build(), build(), build()
    wanted = whole.learn(rows, labels)
    np.testing.assert_allclose(by_lines.learn(lines), wanted, rtol=1e-5)
    np.testing.assert_allclose([float(single.learn([each])[0]) for each in dicts], wanted, rtol=1e-5)


def test_unlabelled_rows_tell_of_their_columns_and_words_stay_what_they_are():
    chain = build()
    chain.learn(["|x a:3", "|x a:5", "1 |x a:4 word"])
    number, word = sorted(chain.layers[0].columns().values(), reverse=True)
    assert number == pytest.approx((4.0, np.sqrt(2 / 3)))
    assert word == (1.0, 0.0)


def test_sparse_matrices_are_as_they_are_when_dense():
    sparse = pytest.importorskip("scipy.sparse")
    rows, labels = make()
    rows = np.nan_to_num(rows)
    np.testing.assert_array_equal(build().learn(rows, labels), build().learn(sparse.csr_array(rows), labels))


@pytest.mark.parametrize("stop", [1, 30])
def test_resumes_bit_for_bit(tmp_path, stop):
    rows, labels = make()
    whole, chain = build(), build()
    wanted = whole.learn(rows, labels)
    chain.learn(rows[:stop], labels[:stop])
    chain.save(tmp_path / "model")
    chain = Chain.load(tmp_path / "model")
    np.testing.assert_array_equal(chain.learn(rows[stop:], labels[stop:]), wanted[stop:])
    for name, array in whole.layers[0].saved().items():
        np.testing.assert_array_equal(chain.layers[0].saved()[name], array, err_msg=name)


@pytest.mark.parametrize("offset", [0, 30, 1000, 1e6])
def test_columns_far_from_zero_are_learned(offset):
    random = np.random.default_rng(1)
    x = random.normal(size=2000) + offset
    y = (x - offset + 0.1 * random.normal(size=2000)).astype(np.float32)
    base = {"bayesian_linear": {"dimension": 1, "loss": "squared", "reach": 10.0, "constant_variance": 1.0}}
    told = build(base).learn(x[:, None], y)
    assert 1 - np.mean((told - y) ** 2) / np.var(y) > 0.95


def test_more_columns_than_room_are_reported():
    chain = build(columns=2)
    with pytest.warns(UserWarning, match=r"standardise\.columns: got more than 2"):
        chain.learn(["1 |x a:1 b:2 c:3", "1 |x a:2 b:3 c:4"])
    assert len(chain.layers[0].columns()) == 2


def test_empty_cells_of_a_file_are_missing_and_zeros_are_not(tmp_path):
    (tmp_path / "train.csv").write_text("label,a,b\n1,0,3\n2,,5\n3,4,\n")
    chain = build()
    chain.learn(tmp_path / "train.csv")
    assert sorted(chain.layers[0].columns().values()) == [(2.0, 2.0), (4.0, 1.0)]
