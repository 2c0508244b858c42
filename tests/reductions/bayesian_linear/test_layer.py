"""`bayesian_linear` against a plain NumPy twin, least squares and batch logistic regression; sub-models, resuming."""

import math

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError, DataError, ModelError
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.bayesian_linear.layer import BayesianLinear

DIMENSION = 6
NAMED = {"namespace": "words", "dimension": 24, "features": "named"}


def build(above=(), frame=None, **parameters):
    layer = {"bayesian_linear": {"dimension": DIMENSION, **parameters}}
    return Chain.from_config({**(frame or {}), "chain": [*above, layer]})


def layer_of(chain):
    return next(layer for layer in chain.layers if isinstance(layer, BayesianLinear))


def make(count=80, seed=0, dimension=DIMENSION, classes=2):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(count, dimension)).astype(np.float32)
    scores = rows @ random.normal(size=(dimension, classes)) + random.normal(size=(count, classes))
    return rows, scores.argmax(1)


class Twin:
    """The same learner in a few lines: moments of the prediction on a grid, a covariance per sub-model."""

    def __init__(self, log_likelihood, constant, forgetting, prior):
        self.likelihood, self.forgetting, self.prior = log_likelihood, forgetting, prior
        self.mean, self.constant, self.dimension = np.zeros(DIMENSION + 1), constant, DIMENSION
        self.start = self.covariance = None

    def learn(self, row, label, importance=1.0):
        x = np.append(row.astype(float), 1.0)
        if self.covariance is None:
            self.start = np.diag([self.prior] * self.dimension + [self.constant])
            self.covariance = self.start
        p, direction = self.mean @ x, self.covariance @ x
        q = direction @ x
        after, added = self.moments(p, q, label, importance)
        self.mean = self.mean + direction * (after - p) / q
        lean = self.covariance - np.outer(direction, direction) * added / (1 + added * q)
        self.covariance = (1 - self.forgetting) * lean + self.forgetting * self.start
        return p

    def moments(self, p, q, label, importance):
        t = np.linspace(p - 10 * math.sqrt(q), p + 10 * math.sqrt(q), 40_001)
        log = importance * self.likelihood(t, label) - (t - p) ** 2 / (2 * q)
        weights = np.exp(log - log.max())
        mean = weights @ t / weights.sum()
        return mean, max(1 / (weights @ (t - mean) ** 2 / weights.sum()) - 1 / q, 0.0)


LIKELIHOODS = {
    "logistic": lambda t, y: -np.logaddexp(0, -y * t),
    "squared": lambda t, y: -((t - y) ** 2),
}


@pytest.mark.parametrize(
    "parameters",
    [
        {**NAMED},
        {**NAMED, "covariance": "shared", "forgetting": 0.01},
        {**NAMED, "rank": 3, "forgetting": 0.01, "loss": "squared"},
        {**NAMED, "rank": 1, "loss": "hinge"},
    ],
    ids=["full", "shared", "low rank", "one axis"],
)
def test_contract(parameters):
    for check in checks_of_reduction(BayesianLinear, parameters=parameters):
        check()


@pytest.mark.parametrize("loss", LIKELIHOODS)
@pytest.mark.parametrize("forgetting", [0.0, 0.02])
def test_learns_as_its_twin(loss, forgetting):
    rows, labels = make()
    signs = 2.0 * labels - 1
    importance = np.where(np.arange(len(rows)) % 5 == 0, 3.0, 1.0)
    chain = build(loss=loss, forgetting=forgetting, prior_variance=0.2, constant_variance=1.0)
    chain.learn(rows, signs, importance=importance)
    twin = Twin(LIKELIHOODS[loss], constant=1.0, forgetting=forgetting, prior=0.2)
    for row, sign, weight in zip(rows, signs, importance, strict=True):
        twin.learn(row, sign, weight)
    tolerance = 1e-6 if loss == "squared" else 0.02
    far = np.abs(layer_of(chain).means[0] - twin.mean).max()
    assert far <= tolerance * np.abs(twin.mean).max()


def test_squared_loss_is_ridge_regression():
    rows, _ = make(200)
    x = np.column_stack([rows, np.ones(len(rows))]).astype(float)
    labels = (x @ np.arange(1.0, DIMENSION + 2)).astype(np.float32)
    chain = build(loss="squared", prior_variance=2.0, constant_variance=5.0)
    chain.learn(rows, labels)
    penalty = np.diag([0.5] * DIMENSION + [0.2])
    wanted = np.linalg.solve(2 * x.T @ x + penalty, 2 * x.T @ labels)
    np.testing.assert_allclose(layer_of(chain).means[0], wanted, rtol=1e-7)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("parameters", [{}, {"covariance": "shared"}, {"rank": 2}], ids=str)
def test_named_features_are_numbered_in_the_order_in_which_they_are_met(loss, parameters):
    rows, labels = make(60)
    order = [4, 1, 0, 5, 3, 2]
    lines = [
        f"{2 * label - 1} |x " + " ".join(f"word{k}:{row[k]!r}" for k in order[: 3 + i])
        for i, (row, label) in enumerate(zip(rows.tolist(), labels, strict=True))
    ]
    named = build(features="named", loss=loss, **parameters | {"dimension": 9})
    numbered, seen = build(loss=loss, **parameters), np.zeros_like(rows)
    for i in range(len(rows)):
        seen[i, : 3 + i] = rows[i, order[: 3 + i]]
    given = [f"{2 * label - 1} |x " + " ".join(f"{k}:{x!r}" for k, x in enumerate(row) if x) for row, label in zip(
        seen.tolist(), labels, strict=True
    )]  # fmt: skip
    np.testing.assert_allclose(named.learn(lines), numbered.learn(given), rtol=1e-5, atol=1e-6)
    means = layer_of(named).means
    np.testing.assert_allclose(means[:, [*range(DIMENSION), -1]], layer_of(numbered).means, rtol=1e-4, atol=1e-6)
    assert not means[:, DIMENSION:-1].any()


def test_named_features_beyond_the_dimension_have_variances_alone():
    rows, labels = make(200)
    words = [f"{2 * y - 1} |x " + " ".join(f"w{k}:{x!r}" for k, x in enumerate(row)) for row, y in zip(
        rows.tolist(), labels, strict=True
    )]  # fmt: skip
    few = build(features="named", dimension=3, prior_variance=1.0)  # else set by all features of the first row
    beside = build(namespace="x", dimension=3, prior_variance=1.0, sparse_variance=1.0)
    few.learn(words)
    beside.learn(
        [line.replace(" w3:", " |s w3:").replace("w0", "0").replace("w1", "1").replace("w2", "2") for line in words]
    )
    np.testing.assert_allclose(layer_of(few).means, layer_of(beside).means, rtol=1e-6)


@pytest.mark.parametrize("rank", [DIMENSION + 1, 2])
def test_low_rank_comes_near_the_full_posterior_and_equals_it_where_the_rank_is_enough(rank):
    rows, labels = make(120)
    full, low = build(prior_variance=1.0), build(prior_variance=1.0, rank=rank)
    for chain in (full, low):
        chain.learn(rows, 2.0 * labels - 1)
    wanted, got = layer_of(full).means[0], layer_of(low).means[0]
    far = np.abs(got - wanted).max() / np.abs(wanted).max()
    assert far < (1e-6 if rank > DIMENSION else 0.35)


class LowRankTwin:
    """A diagonal and a few outer products, written out as one matrix; squared loss, whose moments are known."""

    def __init__(self, rank, forgetting, prior):
        self.rank, self.forgetting, self.prior = rank, forgetting, prior
        self.mean, self.diagonal, self.outer = np.zeros(len(prior)), prior.copy(), np.zeros((0, len(prior)))

    def learn(self, row, label):
        x = np.append(row.astype(float), 1.0)
        covariance = np.linalg.inv(np.diag(self.diagonal) + self.outer.T @ self.outer)
        p, q = self.mean @ x, x @ covariance @ x
        after = (p / q + 2 * label) / (1 / q + 2)
        self.mean = self.mean + covariance @ x * (after - p) / q
        self.outer = np.vstack([self.outer, math.sqrt(2) * x])
        if len(self.outer) == 2 * self.rank:
            self.compress()

    def compress(self):
        _, vectors = np.linalg.eigh(self.outer / self.diagonal @ self.outer.T)  # the longest axes last
        axes = vectors.T @ self.outer
        keep = (1 - self.forgetting) ** self.rank
        self.diagonal = self.diagonal + np.sum(axes[: -self.rank] ** 2, axis=0)
        self.diagonal = keep * self.diagonal + (1 - keep) * self.prior
        self.outer = math.sqrt(keep) * axes[-self.rank :]


@pytest.mark.parametrize("forgetting", [0.0, 0.05])
@pytest.mark.parametrize("rank", [1, 2, 5])
def test_low_rank_learns_as_its_twin(rank, forgetting):
    rows, _ = make(40)
    labels = rows @ np.arange(1.0, DIMENSION + 1) + np.sin(np.arange(40))
    chain = build(loss="squared", prior_variance=0.5, constant_variance=2.0, rank=rank, forgetting=forgetting)
    chain.learn(rows, labels)
    twin = LowRankTwin(rank, forgetting, np.array([2.0] * DIMENSION + [0.5]))
    for row, label in zip(rows, labels.astype(np.float32), strict=True):
        twin.learn(row, float(label))
    np.testing.assert_allclose(layer_of(chain).means[0], twin.mean, rtol=1e-6, atol=1e-9)


def test_one_pass_comes_near_batch_logistic_regression():
    datasets = pytest.importorskip("sklearn.datasets")
    linear_model = pytest.importorskip("sklearn.linear_model")
    images, labels = datasets.load_digits(return_X_y=True)
    images, errors = (images / 16).astype(np.float32), []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(labels))
        seen, rest = order[:400], order[400:]
        batch = linear_model.LogisticRegression(max_iter=2000).fit(images[seen], labels[seen])
        found = [np.mean(batch.predict(images[rest]) != labels[rest])]
        for covariance in ("own", "shared"):
            chain = build([{"one_against_all": {"classes": 10}}], dimension=64, covariance=covariance)
            chain.learn(images[seen], labels[seen] + 1)
            found.append(np.mean(chain.predict(images[rest]) != labels[rest] + 1))
        errors.append(found)
    batch, own, shared = np.mean(errors, axis=0)
    assert own < 1.15 * batch
    assert shared < 1.3 * batch


@pytest.mark.parametrize("parameters", [{"covariance": "own"}, {"covariance": "shared"}, {"rank": 2}], ids=str)
def test_resumes_bit_for_bit_wherever_it_stops(tmp_path, parameters):
    rows, labels = make(60, classes=3)
    above = [{"one_against_all": {"classes": 3}}]
    whole = build(above, forgetting=0.01, **parameters)
    whole.learn(rows, labels + 1)
    for stop in (1, 7, 30):
        chain = build(above, forgetting=0.01, **parameters)
        chain.learn(rows[:stop], labels[:stop] + 1)
        chain.save(tmp_path / "model")
        chain = Chain.load(tmp_path / "model")
        chain.learn(rows[stop:], labels[stop:] + 1)
        np.testing.assert_array_equal(layer_of(chain).means, layer_of(whole).means)
        for name, array in layer_of(whole).saved().items():
            np.testing.assert_array_equal(layer_of(chain).saved()[name], array, err_msg=name)


def test_one_example_at_a_time_and_batches_are_the_same():
    rows, labels = make(40, classes=3)
    above = [{"one_against_all": {"classes": 3}}]
    whole, single = (build(above, covariance="shared") for _ in range(2))
    whole.learn(rows, labels + 1)
    for row, label in zip(rows, labels, strict=True):
        line = f"{label + 1} |x " + " ".join(f"{j}:{x!r}" for j, x in enumerate(row.tolist()))
        single.learn(line)
    np.testing.assert_allclose(layer_of(single).means, layer_of(whole).means, rtol=1e-5)


def test_a_shared_covariance_of_squared_loss_is_that_of_each_sub_model():
    rows, labels = make(100, classes=3)
    chains = [
        build([{"one_against_all": {"classes": 3}}], loss="squared", covariance=covariance)
        for covariance in ("own", "shared")
    ]
    for chain in chains:
        chain.learn(rows, labels + 1)
    own, shared = (layer_of(chain) for chain in chains)
    np.testing.assert_allclose(own.means, shared.means, rtol=1e-9)


def test_h_min_is_the_importance_that_moves_the_prediction_to_the_threshold():
    rows, labels = make(60)
    chain = build([{"active": {"rule": "budget", "budget": 1.0}}], prior_variance=1.0)
    chain.learn(rows[:50], 2.0 * labels[:50] - 1)
    trace = chain.layers[0].trace(1)
    before = float(chain.predict(rows[50:51])[0])
    chain.learn(rows[50:51], [np.sign(before)])
    plain = build(prior_variance=1.0)
    plain.learn(rows[:50], 2.0 * labels[:50] - 1)
    assert float(plain.predict(rows[50:51])[0]) == before
    plain.learn(rows[50:51], [-np.sign(before)], importance=[trace["score"][0]])
    assert float(plain.predict(rows[50:51])[0]) == pytest.approx(0, abs=1e-3)


def test_h_min_of_a_chain_that_is_restored_is_that_of_what_it_became():
    rows, labels = make(60)
    first, second = (build([{"active": {"rule": "budget", "budget": 1.0}}], prior_variance=1.0) for _ in range(2))
    first.learn(rows[:50], 2.0 * labels[:50] - 1)
    second.learn(rows[50:], 2.0 * labels[50:] - 1)

    def score(chain):
        trace = chain.layers[0].trace(1)
        chain.predict(rows[:1])
        return trace["score"][0]

    wanted = score(second)
    assert score(first) != wanted
    first.restore({name: array.copy() for name, array in second.arrays().items()})
    assert score(first) == wanted


def test_words_beside_the_row_are_learned_in_the_same_prediction():
    random = np.random.default_rng(3)
    rows, words = random.normal(size=(300, DIMENSION)), random.integers(0, 5, 300)
    truth = rows[:, 0] + np.array([-3, -1, 0, 1, 3])[words] > 0
    lines = [
        f"{1 if t else -1} |w w{word} |x " + " ".join(f"{j}:{x:.6f}" for j, x in enumerate(row))
        for row, word, t in zip(rows, words, truth, strict=True)
    ]
    chain, blind = build(), build(frame={"input": {"ignore": ["w"]}})
    wrong = []
    for each in (chain, blind):
        each.learn(lines[:200])
        wrong.append(np.mean((each.predict(lines[200:]) > 0) != truth[200:]))
    assert wrong[0] < 0.5 * wrong[1]
    assert wrong[0] < 0.12


def test_words_alone_are_ridge_regression_of_each():
    random = np.random.default_rng(5)
    words, labels = random.integers(0, 3, 60), random.normal(size=60).astype(np.float32)
    chain = build(loss="squared", prior_variance=1.0, constant_variance=1e-9, sparse_variance=0.4)
    chain.learn([f"{y!r} |w w{word}" for word, y in zip(words, labels.tolist(), strict=True)])
    for word in range(3):
        own = labels[words == word]
        wanted = 2 * own.sum() / (2 * len(own) + 1 / 0.4)
        assert float(chain.predict([f"|w w{word}"])[0]) == pytest.approx(wanted, rel=1e-4)


def test_forgetting_follows_a_concept_that_changes():
    rows, labels = make(1200)
    signs = 2.0 * labels - 1
    signs[800:] *= -1
    wrong = []
    for forgetting in (0.0, 0.01):
        chain = build(forgetting=forgetting)
        chain.learn(rows[:900], signs[:900])
        wrong.append(np.mean((chain.predict(rows[900:]) > 0) != (signs[900:] > 0)))
    assert wrong[1] < wrong[0] - 0.1


def test_lines_without_the_row_learn_the_constant_and_the_first_row_still_sets_the_prior():
    chain = build()
    chain.learn(["1 |w a"] * 3)
    assert layer_of(chain).means[0, -1] > 1
    chain.learn(["1 |x 0:0.5", "-1 |x 0:-0.5"])
    assert layer_of(chain).means[0, 0] > 0


@pytest.mark.parametrize("row", [[1.0, 2.0, -2.0, 0, 0, 0], [0.5, 0, 0, 0, 0, 0.5]], ids=str)
def test_the_first_row_sets_the_prior_by_its_length(row):
    chain = build(reach=6.0)
    chain.learn(np.array([row], np.float32), np.ones(1))
    assert layer_of(chain).saved()["variance"][0] == pytest.approx(6.0 / np.square(row).sum())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 |x 6:1", "bayesian_linear: example 1 of this run, namespace 'x': got a feature whose name is not a number"),
        ("1 |x word", "wanted one, a larger bayesian_linear.dimension, or other bayesian_linear.features"),
    ],
)
def test_what_has_no_place_in_the_row_is_refused(line, message):
    with pytest.raises(DataError, match=message):
        build().learn([line])


def test_covariances_that_no_memory_holds_are_refused():
    with pytest.raises(ConfigError, match="wanted covariance: shared, or a rank"):
        build([{"one_against_all": {"classes": 5000}}], dimension=512, frame={"weights": {"bits": 18}})


@pytest.mark.parametrize("method", ["elimination", "optimism"])
def test_exploration_narrows_as_its_variance_falls(method):
    random = np.random.default_rng(0)
    layers = [{"explore_regcb": {"method": method}}, "contextual_bandit", "cost_sensitive_with_features"]
    chain = build(layers, loss="squared")

    def decision(k):
        x, chosen = random.normal(size=3), int(random.integers(2))
        cost = float((x[0] > 0) == (chosen == 0))
        actions = [{"x": {str(3 * a + j): float(v) for j, v in enumerate(x)}} for a in range(2)]
        return {"actions": actions, "chosen": chosen, "cost": cost, "probability": 0.5}

    log = [decision(k) for k in range(300)]
    question = {"actions": log[0]["actions"]}
    before = np.asarray(chain.predict([question]))
    chain.learn(log)
    after = np.asarray(chain.predict([question]))
    right = 1 if question["actions"][0]["x"]["0"] > 0 else 0
    assert before[right] <= before[1 - right]
    assert after[right] > 0.99 > after[1 - right]


def test_layers_that_replay_leave_it_out_by_default():
    replays = []
    for base in ({"linear": {"loss": "logistic"}}, {"bayesian_linear": {"dimension": DIMENSION}}):
        for given in ({}, {"replay": 2}):
            chain = Chain.from_config({"chain": [{"active": given}, base]})
            replays.append(int(chain.layers[0].state["replay"][0]))
    assert replays == [1, 2, 0, 2]


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (-1, -1e300, "got -1e\\+300 outer products, wanted 0 to 3"),
        (-1, 4.0, "got 4 outer products"),
        (-1, 1.5, "got 1.5 outer products"),
        (0, 0.0, "got a precision of 0"),
    ],
)
def test_a_covariance_of_low_rank_is_checked(place, value, message):
    rows, labels = make(20)
    chain = build(rank=2)
    chain.learn(rows, 2.0 * labels - 1)
    layer = layer_of(chain)
    arrays = {name: array.copy() for name, array in layer.saved().items()}
    layer.check_saved(arrays)
    arrays["matrices"][0, place] = value
    with pytest.raises(ModelError, match=message):
        layer.check_saved(arrays)
