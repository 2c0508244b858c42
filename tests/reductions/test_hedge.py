"""`hedge` against a NumPy twin of chains that learn alone; drift; what it is built of."""

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.hedge import Hedge

RATES = [0.0, 0.01, 0.05]
COPIES = [{"bayesian_linear": {"forgetting": rate}} for rate in RATES]
HALF = 150


def base(**parameters):
    return {"bayesian_linear": {"dimension": 4, **parameters}}


KINDS = {
    "logistic": ([], {"loss": "logistic"}),
    "squared": ([], {"loss": "squared", "min_prediction": -9.0, "max_prediction": 9.0}),
    "classes": ([{"multinomial": {"classes": 2}}], {"loss": "squared"}),
}


def made(kind):
    """Rows, and labels whose meaning turns half way."""
    random = np.random.default_rng(0)
    X = random.normal(size=(2 * HALF, 4)).astype(np.float32)
    y = np.sign(X @ [1, 2, -1, 0.5] + 0.3 * random.normal(size=len(X))) * np.where(np.arange(len(X)) < HALF, 1, -1)
    return X, 1.5 + 0.5 * y if kind == "classes" else y


def build(kind, rate=None):
    above, parameters = KINDS[kind]
    top = [{"hedge": {"copies": COPIES}}] if rate is None else []
    return Chain.from_config({"chain": [*top, *above, base(**parameters, **({"forgetting": rate} if rate else {}))]})


def said(chain, X, y, kind, learn=True):
    """Predictions of a chain for each row, before it learns the row."""
    found = []
    for i in range(len(X)):
        found.append(chain.scores(X[i : i + 1])[0] if kind == "classes" else chain.predict(X[i : i + 1])[0])
        if learn:
            chain.learn(X[i : i + 1], y[i : i + 1])
    return np.array(found, float)


def twin(kind, copies, y):
    """The mix of what copies said."""
    w, found, losses = np.full(len(copies), 1 / len(copies)), [], []
    for i in range(len(y)):
        p = copies[:, i]
        if kind == "classes":
            found.append(w @ p)
            log = np.log(np.maximum(p[:, int(y[i]) - 1], 1e-6))
        elif kind == "logistic":
            found.append(np.log(w @ (1 / (1 + np.exp(-p)))) - np.log(w @ (1 / (1 + np.exp(p)))))
            log = -np.logaddexp(0, -y[i] * p)
        else:
            found.append(w @ p)
            losses.append((found[-1] - y[i]) ** 2)
            log = -((p - y[i]) ** 2) / (2 * np.mean(losses))
        w = w * np.exp(log - log.max())
        w = 0.999 * w / w.sum() + 0.001 / len(w)
    return np.array(found), w


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_its_twin(kind):
    X, y = made(kind)
    chain = build(kind)
    copies = np.array([said(build(kind, rate), X, y, kind) for rate in RATES])
    wanted, weights = twin(kind, copies, y)
    np.testing.assert_allclose(said(chain, X, y, kind), wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(chain.layers[0].weights[0], weights, atol=1e-5)
    assert weights.argmax() > 0 or kind == "classes"


def test_what_turns_is_followed():
    random = np.random.default_rng(1)
    X = random.normal(size=(4000, 4)).astype(np.float32)
    y = np.sign(np.where(np.arange(4000) < 2000, X @ [1, 2, -1, 0.5], X @ [-1, 1, 2, 0.5]))

    def wrong(above, rate):
        chain = Chain.from_config({"chain": [*above, base(forgetting=rate)]})
        return (chain.learn(X, y) * y < 0).reshape(2, -1).mean(axis=1)

    copies = [{"bayesian_linear": {"forgetting": rate}} for rate in (0.0, 0.001)]
    still, alert, mixed = wrong([], 0.0), wrong([], 0.001), wrong([{"hedge": {"copies": copies}}], 0.0)
    assert mixed[0] < max(still[0], alert[0]) and mixed[1] < alert[1] + 0.005 < still[1] / 2


@pytest.mark.parametrize("kind", KINDS)
def test_half_a_stream_a_file_and_the_other_half(kind, tmp_path):
    X, y = made(kind)
    whole, first = build(kind), build(kind)
    whole.learn(X, y)
    first.learn(X[:HALF], y[:HALF])
    first.save(tmp_path / "model")
    second = Chain.load(tmp_path / "model")
    second.learn(X[HALF:], y[HALF:])
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(array, second.arrays()[name], err_msg=name)


NAMED = {"bayesian_linear": {"namespace": "words", "dimension": 24, "features": "named", "loss": "squared"}}


@pytest.mark.parametrize(
    ("below", "copies"),
    [
        (["linear"], [{"linear": {"learning_rate": 0.1}}, {"linear": {"learning_rate": 1.0, "l2": 0.001}}]),
        ([{"multinomial": {"classes": 3}}, NAMED], COPIES),
    ],
    ids=["one", "classes"],
)
def test_contract(below, copies):
    for check in checks_of_reduction(Hedge, {"copies": copies}, below=below):
        check()


@pytest.mark.parametrize(
    ("copies", "message"),
    [
        ([{"bayesian_linear": {"forgeting": 2}}, {}], r"copies\[0\].bayesian_linear.forgeting: unknown key; did you"),
        ([{"linear": {}}, {}], r"hedge.copies\[0\].linear: no layer below; valid: bayesian_linear"),
        ([{"bayesian_linear": {"forgetting": 2.0}}, {}], r"forgetting: got 2.0, wanted less than 1"),
        ([{}], "wanted at least 2 items"),
    ],
)
def test_copies_that_cannot_be_are_named(copies, message):
    with pytest.raises(ConfigError, match=message):
        Chain.from_config({"chain": [{"hedge": {"copies": copies}}, base()]})


@pytest.mark.parametrize(
    "below", [[{"one_against_all": {"classes": 3}}, "linear"], [{"filter_tree": {"classes": 3}}, "linear"]]
)
def test_layers_without_probabilities_are_refused(below):
    with pytest.raises(ConfigError, match="hedge: got .* below, wanted layers with one prediction, or whose scores"):
        Chain.from_config({"chain": [{"hedge": {"copies": [{}, {}]}}, *below]})


@pytest.mark.slow
def test_another_copy_takes_over_where_the_world_changes(tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(4000, 4)).astype(np.float32)
    first, second = X @ [1, 2, -1, 0.5], X @ [-1, 1, 2, 0.5]
    y = np.sign(np.where(np.arange(4000) < 3000, first, second) + random.normal(size=4000)).astype(np.float32)
    copies = [{"bayesian_linear": {"forgetting": rate}} for rate in (0, 0.001)]
    layers = [{"hedge": {"copies": copies}}, {"bayesian_linear": {"dimension": 4}}]
    chain, weights, taken = Chain.from_config({"chain": layers}), [], []
    assert chain.layers[0].leader() is None
    for k in range(0, 4000):
        chain.learn(X[k : k + 1], y[k : k + 1])
        weights.append(chain.layers[0].weights[0])
        leads = int(weights[-1].argmax()) if weights[-1].max() > 0.9 else None
        if leads is not None and (not taken or taken[-1][0] != leads):
            taken.append((leads, k + 1))
        if taken:
            assert chain.layers[0].leader() == (*taken[-1], len(taken))
    assert [copy for copy, _ in taken[:2]] == [0, 1] and taken[0][1] < 200 and 3000 < taken[1][1] < 3400
    chain.save(tmp_path / "model")
    assert Chain.load(tmp_path / "model").layers[0].leader() == chain.layers[0].leader()


def test_hedge_stands_below_layers_of_groups_not_above():
    crowd = [{"crowd_em": {"classes": 3, "worker": "w"}}, {"one_against_all": {"classes": 3}}]
    hedge, base = {"hedge": {"copies": [{}, {}]}}, {"linear": {"loss": "logistic"}}
    with pytest.raises(ConfigError, match="hedge: got 'crowd_em' below, wanted it below 'crowd_em': copies"):
        Chain.from_config({"chain": [hedge, *crowd, base]})
    Chain.from_config({"chain": [*crowd, hedge, base]})


@pytest.mark.parametrize("covariance", ["blocks", "own", None])
def test_sensitivity_is_the_variance_of_the_mix_where_copies_know_theirs(covariance):
    X, y = made("squared")
    if covariance is None:
        learner, name, rates, parameters = "linear", "power_t", [0.5, 0.2], {"loss": "squared"}
    else:
        learner, name, rates = "bayesian_linear", "forgetting", RATES
        parameters = {"dimension": 4, "loss": "squared", "covariance": covariance}
    parameters |= {"min_prediction": -9.0, "max_prediction": 9.0}

    def chain(*above, **more):
        return Chain.from_config({"chain": ["confidence", *above, {learner: {**parameters, **more}}]})

    mixed = chain({"hedge": {"copies": [{learner: {name: rate}} for rate in rates]}})
    alone = [chain(**{name: rate}) for rate in rates]
    for each in (mixed, *alone):
        each.learn(X, y)
    p, c = (
        np.array(found).T for found in zip(*[(each.predict(X), each.scores(X)[:, 0]) for each in alone], strict=True)
    )
    weights = mixed.layers[1].weights[0]
    expected = (np.abs(p) / c) @ weights
    if covariance == "blocks":
        expected = expected + p**2 @ weights - (p @ weights) ** 2
    np.testing.assert_allclose(np.abs(mixed.predict(X)) / mixed.scores(X)[:, 0], expected, rtol=2e-4)
    assert np.ptp(weights) > 0.01


def test_an_explorer_above_finds_out_that_rewards_have_changed():
    random, late = np.random.default_rng(1), {}
    for copies in (False, True):
        above = [{"hedge": {"copies": [{"bayesian_linear": {"forgetting": rate}} for rate in (0, 0.003)]}}] * copies
        layers = [{"explore_posterior": {"method": "optimism", "width": 1}}, "contextual_bandit"]
        layers += [
            "cost_sensitive_with_features",
            *above,
            {"bayesian_linear": {"covariance": "blocks", "dimension": 8, "loss": "squared"}},
        ]
        chain, regret = Chain.from_config({"chain": layers}), 0.0
        for t in range(1600):
            costs = [0.5, 0.3, 0.6] if t < 800 else [0.5, 0.4, 0.1]
            action = int(np.argmax(chain.predict(["|a x\n|a y\n|a z\n"])))
            regret += costs[action] - min(costs) if t >= 1200 else 0.0
            lines = ["|a x", "|a y", "|a z"]
            lines[action] = f"0:{float(random.random() < costs[action]):g}:1 {lines[action]}"
            chain.learn(["\n".join(lines) + "\n"])
        late[copies] = regret / 400
    assert late[True] < 0.05 < 0.2 < late[False]


def test_copies_are_not_weighed_by_some_of_what_they_learn():
    drawn = {"sampled_negatives": {"namespace": "item"}}
    hedge = {"hedge": {"copies": [{"linear": {"power_t": rate}} for rate in (0.5, 0.2)]}}
    with pytest.raises(ConfigError, match="hedge: got 'sampled_negatives' below, wanted it above"):
        Chain.from_config({"chain": [hedge, drawn, "linear"]})
    chain = Chain.from_config({"chain": [drawn, hedge, {"linear": {"loss": "logistic"}}]})
    chain.learn([f"1 |user u{k % 7} |item i{k % 5}" for k in range(200)])
    assert np.isfinite(chain.weights).all()
