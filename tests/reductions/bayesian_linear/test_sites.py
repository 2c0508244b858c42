"""`covariance: sites`: classes in the order of time, against batch logistic regression under the same prior."""

import numpy as np
import pytest
from scipy.optimize import minimize

from hutch import Chain
from hutch.core.errors import ConfigError

CLASSES = {2: [], 3: [{"multinomial": {"classes": 3}}]}


def build(classes, dimension=4, **parameters):
    row = {"namespace": "x", "dimension": dimension, "features": "named", "covariance": "sites", "reach": 10.0}
    row |= {"constant_variance": 4.0, "loss": "logistic" if classes == 2 else "squared"}
    return Chain.from_config({"chain": [*CLASSES[classes], {"bayesian_linear": {**row, **parameters}}]})


def stream(classes, rows=500):
    """Columns that walk, trend and grow, and classes by their values from beginning to end."""
    random, t = np.random.default_rng(4), np.arange(rows)
    e = random.normal(size=(rows, 4))
    walk = np.cumsum(e[:, 0])
    X = np.column_stack([walk, 1e4 + 3.0 * t, e[:, 1] * (1 + t / 50), e[:, 2]]).astype(np.float32)
    scores = np.column_stack([0 * t, 0.3 * (walk - walk.mean()) + 2 * e[:, 1], t / 200 - 1 + e[:, 2]])[:, :classes]
    return X, (scores + random.gumbel(size=scores.shape)).argmax(axis=1)


def labels_of(y, classes):
    return (2 * y - 1 if classes == 2 else y + 1).astype(np.float32)


def chances(chain, X, classes):
    found = [chain.run_apart(batch, False) for batch in chain.batches(X)]
    if classes > 2:
        return np.concatenate([each.scores for each in found])
    p = 1 / (1 + np.exp(-np.concatenate([each.raw for each in found]).astype(float)))
    return np.column_stack([1 - p, p])


def log_loss(p, y):
    return -np.mean(np.log(np.maximum(p[np.arange(len(y)), y], 1e-12)))


def batch(X, y, classes):
    """The mode under the same prior, on columns standardised by all rows."""
    means, units, known = X.mean(axis=0), X.std(axis=0), np.eye(classes)[y]
    precision = np.append(np.full(4, 0.4), 0.25)[:, None] * (0.5 if classes == 2 else 4 / classes)

    def lift(T):
        return np.column_stack([(T - means) / units, np.ones(len(T))])

    def softmax(T, w):
        scores = lift(T) @ w.reshape(5, classes)
        e = np.exp(scores - scores.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def loss(w):
        p, table = softmax(X, w), w.reshape(5, classes)
        value = -np.sum(known * np.log(np.maximum(p, 1e-300))) + 0.5 * np.sum(precision * table**2)
        return value, (lift(X).T @ (p - known) + precision * table).ravel()

    found = minimize(loss, np.zeros(5 * classes), jac=True, method="L-BFGS-B").x
    return lambda T: softmax(T, found)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.slow
def test_near_batch_logistic_regression_in_the_order_of_time(classes):
    X, y = stream(classes)
    chain = build(classes)
    chain.learn(X[::2], labels_of(y[::2], classes))
    best = log_loss(batch(X[::2].astype(float), y[::2], classes)(X[1::2].astype(float)), y[1::2])
    assert log_loss(chances(chain, X[1::2], classes), y[1::2]) < 1.05 * best + 0.005


@pytest.mark.parametrize(("classes", "most"), [(2, 0.02), (3, 0.05)])
def test_order_hardly_matters_and_chunks_do_not(classes, most):
    X, y = stream(classes)
    order, labels = np.random.default_rng(0).permutation(len(y)), labels_of(y, classes)
    whole, chunks, turned = build(classes), build(classes), build(classes)
    whole.learn(X, labels)
    for start in range(0, len(y), 33):
        chunks.learn(X[start : start + 33], labels[start : start + 33])
    turned.learn(X[order], labels[order])
    found = [chances(chain, X, classes) for chain in (whole, chunks, turned)]
    assert np.array_equal(found[0], found[1])
    assert np.mean(np.abs(found[0] - found[2])) < most


@pytest.mark.parametrize("classes", [2, 3])
def test_units_do_not_matter(classes):
    X, y = stream(classes)
    plain, other = build(classes), build(classes)
    plain.learn(X, labels_of(y, classes))
    moved = X * np.float32([1024, 2**-20, 64, 1])  # powers of two, exact
    other.learn(moved, labels_of(y, classes))
    np.testing.assert_allclose(chances(other, moved, classes), chances(plain, X, classes), atol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_resumes_exactly_with_missing_cells(classes, tmp_path):
    X, y = stream(classes)
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    labels, whole, first = labels_of(y, classes), build(classes), build(classes)
    whole.learn(X, labels)
    first.learn(X[:211], labels[:211])
    first.save(tmp_path / "model")
    second = Chain.load(tmp_path / "model")
    second.learn(X[211:], labels[211:])
    assert np.array_equal(chances(whole, X, classes), chances(second, X, classes))
    for key, array in whole.arrays().items():
        assert np.array_equal(array, second.arrays()[key]), key
    assert log_loss(chances(whole, X, classes), y) < 0.9 * np.log(classes)


def test_one_cell_far_away_decides_no_prediction():
    X, y = stream(2)
    chain = build(2)
    chain.learn(X, labels_of(y, 2))
    far = X[-1:].copy()
    far[0, 3] = 1e6
    close = X[-1:].copy()
    close[0, 3] = X[:, 3].mean() + 4 * X[:, 3].std()
    np.testing.assert_allclose(chances(chain, far, 2), chances(chain, close, 2), atol=1e-4)


@pytest.mark.parametrize("seed", [1, 2])
def test_classes_that_begin_later_hardly_harm_in_the_order_of_time(seed):
    """The level of all scores together, which no label determines, must not wander along the trend."""
    random, t, classes = np.random.default_rng(seed), np.arange(1500), 9
    centres = random.normal(size=(classes, 3))
    begin = np.concatenate([[0, 0], np.sort(random.uniform(0, 0.9, classes - 2))])
    shares = (t[:, None] / 1500 >= begin) * random.exponential(size=classes) + 1e-9
    shares[:, 0] += 0.5
    y = np.array([random.choice(classes, p=each / each.sum()) for each in shares])
    X = np.column_stack([centres[y] + 0.7 * random.normal(size=(1500, 3)), 1990 + t // 50]).astype(np.float32)
    found = []
    for order in (t[::2], random.permutation(t[::2])):
        row = {"namespace": "x", "dimension": 4, "features": "named", "covariance": "sites", "loss": "squared"}
        row |= {"reach": 10.0, "constant_variance": 4.0}
        layers = [{"multinomial": {"classes": classes}}, {"bayesian_linear": row}]
        chain = Chain.from_config({"chain": layers})
        chain.learn(X[order], labels_of(y[order], classes))
        found.append(log_loss(chances(chain, X[1::2], classes), y[1::2]))
    assert found[0] < 1.12 * found[1]


def test_refuses_other_losses():
    with pytest.raises(ConfigError, match="loss: got hinge beside covariance: sites, wanted logistic, or squared"):
        build(2, loss="hinge")
