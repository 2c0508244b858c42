from dataclasses import replace

import numpy as np
import pytest

from hutch.core.errors import ConfigError, UsageError
from hutch.crowd.aggregate import aggregate
from hutch.crowd.data.labels import from_triples
from hutch.crowd.models.calibration import accuracy
from hutch.crowd.models.model import CrowdModel, State
from hutch.crowd.models.online import stream_of
from hutch.crowd.models.ordinal import Ordinal
from hutch.crowd.simulate import simulate
from hutch.crowd.table import BUILT_IN, EXCHANGEABLE, create
from hutch.plugins.manager import Plugins

every_model = pytest.mark.parametrize("model", [model() for model in EXCHANGEABLE], ids=lambda model: model.name)


def easy(workers=6, items=30, classes=3, errors=0.1, seed=0):
    """A good crowd: (triples, truth by item name)."""
    random = np.random.default_rng(seed)
    truth = {f"t{i}": str(i % classes) for i in range(items)}
    rows = []
    for task, label in truth.items():
        for w in range(workers):
            wrong = str(random.integers(classes))
            rows.append((f"w{w}", task, wrong if random.random() < errors else label))
    return rows, truth


def right(labels, posterior, truth):
    return np.mean([labels.classes[k] == truth[t] for t, k in zip(labels.item_names, posterior.argmax(1), strict=True)])


def votes(labels):
    """The share of each class among an item's labels: what a model of workers must not do worse than."""
    shares = np.zeros((len(labels.item_names), len(labels.classes)))
    np.add.at(shares, (np.repeat(np.arange(len(shares)), np.diff(labels.item_ptr)), labels.labels), 1)
    return shares / shares.sum(1, keepdims=True)


@every_model
def test_a_good_crowd_is_understood(model):
    rows, truth = easy()
    labels = from_triples(rows)
    fit = model.fit(labels)
    assert right(labels, fit.posterior, truth) >= right(labels, votes(labels), truth)
    assert np.allclose(fit.posterior.sum(1), 1)
    confusions = model.confusions(fit.state)
    assert confusions.shape == (6, 3, 3)
    assert np.allclose(confusions.sum(2), 1)
    assert confusions[:, range(3), range(3)].min() > 0.5
    assert model.class_prior(fit.state).sum() == pytest.approx(1)


@every_model
def test_a_mixed_crowd(model):
    crowd = simulate(400, 30, 3, 5, seed=5)
    fit = model.fit(crowd.labels)
    assert accuracy(fit.posterior, crowd.truth) >= accuracy(votes(crowd.labels), crowd.truth)


@every_model
def test_an_adversary_is_worth_as_much_as_a_friend(model):
    rows, truth = easy(workers=5, items=200, classes=2, errors=0.3)
    friends = from_triples(rows)
    rows += [("liar", task, str(1 - int(label))) for task, label in truth.items()]
    labels = from_triples(rows)
    fit = model.fit(labels)
    assert right(labels, fit.posterior, truth) >= right(friends, votes(friends), truth)
    liar = labels.worker_names.index("liar")
    assert model.confusions(fit.state)[liar, 0, 1] > 0.5


@every_model
def test_constant_workers_do_not_sway(model):
    rows, truth = easy(workers=4, items=60, classes=2)
    rows += [(f"lazy{n}", task, "0") for n in range(2) for task in truth]
    labels = from_triples(rows)
    assert right(labels, model.fit(labels).posterior, truth) >= right(labels, votes(labels), truth)


@every_model
@pytest.mark.parametrize(
    ("rows", "shape"),
    [
        ([], (0, 0)),
        ([("a", "t", "x")], (1, 1)),
        ([("a", "t", "x"), ("b", "t", "x")], (1, 1)),
        ([("a", "t", "x"), ("b", "u", "y")], (2, 2)),
        ([("a", "t", "x"), ("a", "t", "y")], (1, 2)),
        ([("", "t", "x"), ("", "t", "x"), ("b", "t", "y")], (1, 2)),
    ],
    ids=["empty", "one label", "one class", "single labels", "contradiction", "anonymous"],
)
def test_small_inputs_have_posteriors(model, rows, shape):
    fit = model.fit(from_triples(rows))
    assert fit.posterior.shape == shape
    assert np.isfinite(fit.posterior).all()
    assert np.allclose(fit.posterior.sum(1), 1)
    assert np.isfinite(fit.objective)


@every_model
def test_a_class_that_nobody_uses_is_improbable(model):
    rows, _ = easy(classes=2)
    fit = model.fit(from_triples(rows, classes=["0", "1", "never"]))
    assert fit.posterior.shape[1] == 3
    assert fit.posterior[:, 2].max() < 0.05


@every_model
def test_gold_clamps_and_teaches(model):
    rows, truth = easy(workers=3, items=60, classes=2, errors=0.0)
    flipped = [(w, t, str(1 - int(c))) for w, t, c in rows]  # the whole crowd answers the other way round
    gold = {task: truth[task] for task in list(truth)[:40]}
    labels = from_triples(flipped, gold=gold)
    fit = model.fit(labels)
    known = labels.gold >= 0
    assert np.allclose(fit.posterior[known, labels.gold[known]], 1)
    assert right(labels, fit.posterior, truth) == 1


@every_model
def test_history_teaches_about_workers(model):
    rows, truth = easy(workers=3, items=200, classes=2, errors=0.05, seed=1)
    random = np.random.default_rng(0)
    noise = [(f"spam{n}", task, str(random.integers(2))) for n in range(4) for task in truth]
    first = from_triples(rows + noise, gold=truth)
    history = model.fit(first).state
    votes = [("w0", "new", "1"), ("w1", "new", "1"), *((f"spam{n}", "new", "0") for n in range(4))]
    later = from_triples(votes, history.classes, history.worker_names)
    assert model.infer(later, history).posterior[0, 1] > 0.8
    assert model.fit(later, history).posterior[0, 1] > 0.8
    assert model.fit(later).posterior[0, 1] < 0.5


@every_model
def test_history_grows_by_workers_and_classes(model):
    history = model.fit(from_triples(easy(classes=2)[0])).state
    rows = [(w, f"t{i}", "2") for w in ("new", "w0", "w1", "w2") for i in range(5)] + [("w1", "u", "0")]
    labels = from_triples(rows, history.classes, history.worker_names)
    fit = model.fit(labels, history)
    assert fit.state.worker_names == [*history.worker_names, "new"]
    assert fit.posterior[:5].argmax(axis=1).tolist() == [2] * 5
    assert np.isfinite(model.confusions(fit.state)).all()


@every_model
def test_inference_changes_nothing(model):
    rows, _ = easy()
    labels = from_triples(rows)
    history = model.fit(labels).state
    before = {name: array.copy() for name, array in (history.workers | history.shared).items()}
    model.infer(labels, history)
    assert all(np.array_equal(before[name], array) for name, array in (history.workers | history.shared).items())


@pytest.mark.parametrize("model", EXCHANGEABLE, ids=lambda model: model.name)
def test_a_given_class_prior_is_used(model):
    labels = from_triples([("a", "t", "x"), ("b", "t", "y")])
    fit = model(class_prior=(1, 9)).fit(labels)
    assert fit.posterior[0].argmax() == 1
    with pytest.raises(ConfigError, match="wanted 2 numbers"):
        model(class_prior=(1, 1, 1)).fit(labels)


@pytest.mark.parametrize("model", EXCHANGEABLE, ids=lambda model: model.name)
@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"iteration": 3}, "iteration: unknown parameter; did you mean 'iterations'"),
        ({"iterations": 0}, "iterations: input should be greater than or equal to 1, got 0"),
        ({"rho": "much"}, "rho: input should be a valid number"),
    ],
)
def test_wrong_parameters_are_named(model, parameters, words):
    with pytest.raises(ConfigError) as error:
        model(**parameters)
    assert str(error.value).startswith(f"{model.name}.{words}")


def test_built_in_models_use_the_hook_of_strangers():
    assert set(Plugins(third_parties=False).registry.crowd_models.values()) == set(BUILT_IN)


def test_unknown_names_and_missing_forms_are_usage_errors():
    models = {model.name: model for model in BUILT_IN}
    with pytest.raises(UsageError, match="did you mean 'two_level'"):
        create("two_levels", models)
    offline = type("Offline", (models["one_coin"],), {"name": "offline", "online": ""})
    with pytest.raises(UsageError, match="offline has no online form"):
        stream_of(offline(), ["a"], 8)


def _dawid_skene_tables(counts):
    return (counts + np.where(np.eye(3), 1.0, 0.1)) / (counts + np.where(np.eye(3), 1.0, 0.1)).sum(2, keepdims=True)


def test_dawid_skene_equals_plain_numpy():
    crowd = simulate(60, 8, 3, 4, seed=5)
    gold = np.where(np.arange(60) % 7 == 2, crowd.truth, -1).astype(np.int32)
    labels = replace(crowd.labels, gold=gold)
    q = labels.vote_share(gold=True)
    for _ in range(5):
        counts = np.zeros((8, 3, 3))
        for w, i, c in zip(labels.workers, labels.label_items, labels.labels, strict=True):
            counts[w, :, c] += q[i]
        prior = (q.sum(0) + 0.5) / (len(q) + 1.5)
        score = np.tile(np.log(prior), (60, 1))
        for w, i, c in zip(labels.workers, labels.label_items, labels.labels, strict=True):
            score[i] += np.log(_dawid_skene_tables(counts)[w, :, c])
        likelihood, q = posteriors(score, gold)
    fit = create("dawid_skene", {m.name: m for m in BUILT_IN}, iterations=5, tolerance=0).fit(labels)
    assert np.allclose(fit.posterior, q, atol=1e-10)
    assert fit.objective == pytest.approx(likelihood.mean())


def test_one_coin_equals_plain_python():
    crowd = simulate(60, 8, 3, 4, seed=5)
    gold = np.where(np.arange(60) % 7 == 2, crowd.truth, -1).astype(np.int32)
    labels = replace(crowd.labels, gold=gold)
    rows = list(zip(labels.workers.tolist(), labels.label_items.tolist(), labels.labels.tolist(), strict=True))
    q = start = labels.vote_share(gold=True)
    for _ in range(5):
        right, given = [0.0] * 8, [0] * 8
        for w, i, c in rows:
            right[w] += q[i, c]
            given[w] += 1
        mean = (sum(right) + 1) / (sum(given) + 2)
        telling = []
        for w in range(8):
            r, said = (right[w] + 5 * mean) / (given[w] + 5), [c for v, _, c in rows if v == w]
            coin = right[w] * np.log(r) + (given[w] - right[w]) * np.log((1 - r) / 2)
            habit = sum(said.count(c) * np.log(said.count(c) / given[w]) for c in set(said)) - np.log(given[w])
            telling.append(1 / (1 + np.exp(habit - coin) / 9))
        prior = q.sum(0) + 0.2 * start.sum(0) + 1
        score, before = np.tile(np.log(prior / prior.sum()), (60, 1)), q
        coins = {}
        for w, i, c in rows:
            coin = (right[w] - before[i, c] + 5 * mean) / (given[w] - 1 + 5)
            coin = 1 / 3 + telling[w] * (coin - 1 / 3)
            coins[w, i, c] = [coin if k == c else (1 - coin) / 2 for k in range(3)]
            score[i] += np.log(coins[w, i, c])
        likelihood, q = posteriors(score, gold)
    model = create("one_coin", {m.name: m for m in BUILT_IN}, iterations=5, tolerance=0, strength=5.0)
    fit = model.fit(labels)
    assert np.allclose(fit.posterior, q, atol=1e-10)
    assert fit.objective == pytest.approx(likelihood.mean())
    skill = [1 / 3 + t * ((r + 5 * mean) / (n + 5) - 1 / 3) for t, r, n in zip(telling, right, given, strict=True)]
    assert np.allclose(model.confusions(fit.state)[:, 1, 1], skill)
    fit.state.items["posterior"][...] = before
    assert model.predicted(labels, fit.state) == pytest.approx(
        -sum(np.log(np.sum(before[i] / coins[w, i, c])) for w, i, c in rows)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [model for model in EXCHANGEABLE if model is not Ordinal], ids=lambda model: model.name
)
@pytest.mark.parametrize(("workers", "classes", "items"), [(3, 5, 400), (6, 2, 400), (8, 3, 100), (10, 5, 400)])
def test_workers_who_always_say_the_same_do_not_swallow_the_other_classes(model, workers, classes, items):
    """A quarter of the workers, one at least, names the first class whatever it is; the others are right in .75."""
    random, found = np.random.default_rng(workers), []
    for _ in range(5):
        truth = random.integers(classes, size=items)
        rows = []
        for item in range(items):
            for w in random.choice(workers, 3, replace=False):
                wrong = (truth[item] + random.integers(1, classes)) % classes
                label = 0 if w < max(workers // 4, 1) else truth[item] if random.random() < 0.75 else wrong
                rows.append((f"w{w}", f"t{item}", str(label)))
        labels = from_triples(rows, classes=[str(k) for k in range(classes)])
        votes, got = accuracy(labels.vote_share(), truth), accuracy(model().fit(labels).posterior, truth)
        found.append(got - votes)
    assert np.mean(found) > -0.02, found


def posteriors(score, gold):
    """Mean log-likelihood and posteriors of unnormalised scores; gold excludes the other classes."""
    score[(gold[:, None] >= 0) & (gold[:, None] != np.arange(3))] = -np.inf
    top = score.max(1, keepdims=True)
    likelihood = top[:, 0] + np.log(np.exp(score - top).sum(1))
    return likelihood, np.exp(score - likelihood[:, None])


@pytest.mark.parametrize("model", EXCHANGEABLE, ids=lambda model: model.name)
def test_the_objective_rises(model):
    labels = simulate(300, 30, 3, 4, seed=6).labels
    few, many = (model(iterations=n, tolerance=0).fit(labels).objective for n in (2, 10))
    assert many > few


class Votes(CrowdModel):
    """The least a third party must write."""

    name = "votes"
    summary = "the vote share, nothing learned"

    def start(self, labels, history):
        return State(labels.classes, labels.worker_names, items={"posterior": labels.vote_share(gold=True)})

    def count(self, labels, state):
        return {}

    def settle(self, state, sums):
        """Nothing is learned."""

    def expect(self, labels, state, learned):
        return 0.0, 0.0

    def posterior(self, state):
        return state.items["posterior"]

    def confusions(self, state):
        classes = len(state.classes)
        return np.full((len(state.worker_names), classes, classes), 1 / classes)

    def class_prior(self, state):
        return self.posterior(state).mean(axis=0)


def test_a_model_of_a_third_party_runs_like_the_built_in_ones():
    labels = from_triples(easy()[0])
    result = aggregate(labels, create("votes", {"votes": Votes}, rho=0))
    assert np.array_equal(result.probability, labels.vote_share())
    assert result.fit.converged
