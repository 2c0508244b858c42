"""Models of pairs against their formulas in NumPy, simulated crowds and closed forms."""

from dataclasses import replace

import numpy as np
import pytest

from hutch.core.chain.model_file import load_model, save_model
from hutch.core.errors import UsageError
from hutch.crowd.pairs import kernels
from hutch.crowd.pairs.model import MODELS, BradleyTerry, Davidson, Hierarchical, create
from hutch.crowd.pairs.report import log_losses, strengths
from hutch.crowd.pairs.state import KINDS, PairState
from hutch.crowd.pairs.votes import Votes


def simulated(votes=1500, players=8, workers=12, contexts=3, seed=0):
    random = np.random.default_rng(seed)
    strength = random.normal(size=players)
    here = 0.8 * random.normal(size=(players, contexts))
    reliability = 1 + 0.4 * random.normal(size=workers)
    reliability[0] = -1.0
    tie = random.normal(size=workers) - 0.3
    w, v = random.integers(workers, size=votes), random.integers(contexts, size=votes)
    i = random.integers(players, size=votes)
    j = (i + random.integers(1, players, size=votes)) % players
    z = reliability[w] * (strength[i] + here[i, v] - strength[j] - here[j, v]) + 0.3
    outcomes = (np.stack([z / 2, -z / 2, tie[w]], axis=1) + random.gumbel(size=(votes, 3))).argmax(axis=1)
    codes = [array.astype(np.int32) for array in (w, i, j)]
    names = [f"w{k}" for k in range(workers)], [f"p{k}" for k in range(players)]
    values = v.astype(np.int32)[:, None]
    topics = [[f"v{k}" for k in range(contexts)]]
    votes = Votes(*codes, outcomes.astype(np.uint8), values, *names, ["topic"], topics)
    return strength[:, None] + here, votes


def without_features(votes):
    return Votes(
        *(getattr(votes, name) for name in ("workers", "left", "right", "outcomes")),
        np.zeros((len(votes), 0), np.int32), votes.worker_names, votes.players, [], [],
    )  # fmt: skip


def parts_of(x, sizes):
    units, values, workers = sizes
    lengths = dict(zip(KINDS, (2, units, units, values, workers, workers, workers), strict=True))
    ends = np.cumsum(list(lengths.values()))
    return dict(zip(lengths, np.split(x, ends[:-1]), strict=True))


def probabilities(x, sizes, design, with_ties):
    """P(left), P(right), P(tie) by the formulas at the top of the kernels' module."""
    p = parts_of(x, sizes)
    difference = p["strength"][design.left].sum(1) - p["strength"][design.right].sum(1)
    z = (1 + p["reliability"][design.workers]) * difference + p["shared"][0] + p["side"][design.workers]
    t = p["shared"][1] + p["worker_tie"][design.workers] + p["value"][design.values].sum(1)
    t = t + p["tie"][design.left].sum(1) + p["tie"][design.right].sum(1)
    raw = np.exp(np.stack([z / 2, -z / 2, t if with_ties else np.full_like(z, -np.inf)], axis=1))
    return raw / raw.sum(axis=1, keepdims=True)


def objective(x, precision, sizes, design, with_ties):
    p = probabilities(x, sizes, design, with_ties)
    log = np.log(np.maximum(p[np.arange(len(p)), design.outcomes], 1e-300))
    if not with_ties:
        log = np.where(design.outcomes == 2, 0.5 * np.log(p[:, 0] * p[:, 1]), log)
    return 0.5 * precision @ x**2 - log.sum()


@pytest.fixture(scope="module", params=[True, False], ids=["ties", "no ties"])
def problem(request):
    _, votes = simulated(200)
    state = Hierarchical().start(votes.features)
    design = state.encode(votes, grow=True)
    random = np.random.default_rng(1)
    size = len(state.vector(state.mean))
    return state, design, 0.3 * random.normal(size=size), random.uniform(0.5, 2, size=size), request.param


def evaluated(problem, x=None):
    state, design, start, precision, ties = problem
    x = start if x is None else x
    gradient, diagonal, curvature = np.empty_like(x), np.empty_like(x), np.empty((len(design.workers), 4))
    value = kernels.evaluate(
        x, precision, *state.sizes, design.left, design.right, design.values, design.workers, design.outcomes,
        design.weights, ties, gradient, diagonal, curvature,
    )  # fmt: skip
    return value, gradient, diagonal, curvature


def test_objective_and_gradient(problem):
    state, design, x, precision, ties = problem
    value, gradient, _, _ = evaluated(problem)
    assert value == pytest.approx(objective(x, precision, state.sizes, design, ties), rel=1e-12)
    for k in np.random.default_rng(0).choice(len(x), 40, replace=False):
        step = np.zeros_like(x)
        step[k] = 1e-5
        up, down = (objective(x + sign * step, precision, state.sizes, design, ties) for sign in (1, -1))
        assert gradient[k] == pytest.approx((up - down) / 2e-5, abs=1e-5)


def information(problem):
    """Fisher's information by finite differences of the scores, dense."""
    state, design, x, precision, ties = problem
    p = probabilities(x, state.sizes, design, ties)
    slopes = np.empty((len(x), len(p), 3))
    for k in range(len(x)):
        step = np.zeros_like(x)
        step[k] = 1e-5
        up, down = (np.log(probabilities(x + s * step, state.sizes, design, ties) + 1e-300) for s in (1, -1))
        slopes[k] = (up - down) / 2e-5
    return np.einsum("knc,nc,mnc->km", slopes, p, slopes, optimize=True) + np.diag(precision)


def test_information_step_and_covariance(problem):
    state, design, x, precision, ties = problem
    wanted = information(problem)
    _, gradient, diagonal, curvature = evaluated(problem)
    np.testing.assert_allclose(diagonal, np.diag(wanted), rtol=1e-5, atol=1e-6)
    free = np.ones(len(x), bool)
    common = (*state.sizes, design.left, design.right, design.values, design.workers)
    step = np.empty_like(x)
    kernels.newton_step(x, precision, free, *common, ties, gradient, diagonal, curvature, 500, 1e-10, step)
    np.testing.assert_allclose(step, -np.linalg.solve(wanted, gradient), rtol=1e-4, atol=1e-6)
    size = 2 + 2 * state.sizes[0] + state.sizes[1]
    matrix = np.zeros((size, size))
    order = np.argsort(design.workers, kind="stable")
    kernels.information(x, precision, free, *common, order, ties, curvature, matrix)
    found = np.linalg.inv(matrix + np.tril(matrix, -1).T)
    np.testing.assert_allclose(found, np.linalg.inv(wanted)[:size, :size], rtol=1e-3, atol=1e-5)


def test_one_pass_is_the_kalman_step_of_its_formula():
    _, votes = simulated(60)
    state = Hierarchical().start(votes.features)
    design = state.encode(votes, grow=True)
    x, v = state.vector(state.mean), state.vector(state.variance)
    found = Hierarchical().start(votes.features)
    before = Hierarchical().learn(votes, found)
    for n in range(len(votes)):
        one = design.__class__(*(getattr(design, name)[n : n + 1] for name in design.__dataclass_fields__))
        p = probabilities(x, state.sizes, one, True)[0]
        np.testing.assert_allclose(before[n], p, atol=1e-9)
        slopes = np.empty((len(x), 2))
        for k in range(len(x)):
            step = np.zeros_like(x)
            step[k] = 1e-6
            logs = [np.log(probabilities(x + s * step, state.sizes, one, True)[0]) for s in (1, -1)]
            d = (logs[0] - logs[1]) / 2e-6
            slopes[k] = d[0] - d[1], d[2] - (d[0] + d[1]) / 2
        h = np.array([[(p[0] + p[1]) / 4 - (p[0] - p[1]) ** 2 / 4, 0], [-(p[0] - p[1]) / 2 * p[2], p[2] * (1 - p[2])]])
        h[0, 1] = h[1, 0]
        y = {0: (0.5, 0.0), 1: (-0.5, 0.0), 2: (0.0, 1.0)}[int(votes.outcomes[n])]
        pull = np.array(y) - np.array([(p[0] - p[1]) / 2, p[2]])
        spread = (v[:, None] * slopes**2).sum(0)
        parts = parts_of(v, state.sizes)
        spread[0] += parts["reliability"][one.workers[0]] * (
            parts["strength"][one.left[0]].sum() + parts["strength"][one.right[0]].sum()
        )
        inverse = np.linalg.inv(np.eye(2) + h * spread)
        less = h @ np.linalg.inv(np.eye(2) + spread[:, None] * h)
        move = inverse @ pull
        x = x + v * (slopes @ move)
        v = v * np.maximum(1 - v * (slopes**2 @ np.diag(less)), 1e-3)
    np.testing.assert_allclose(found.vector(found.mean), x, atol=1e-6)
    np.testing.assert_allclose(found.vector(found.variance), v, atol=1e-6)


@pytest.mark.parametrize("model", [make() for make in MODELS], ids=lambda model: model.name)
def test_a_stream_is_the_same_in_pieces_and_after_saving(model, tmp_path):
    _, votes = simulated(400)
    whole = model.start(votes.features)
    model.learn(votes, whole)
    state = model.start(votes.features)
    for start, stop in ((0, 1), (1, 150), (150, 400)):
        state.save(str(tmp_path / "m"))
        state = PairState.load(str(tmp_path / "m"))
        part = votes.rows(np.arange(start, stop))
        model.learn(part, state)
    assert state.votes == whole.votes == 400
    order = {name: [state.players[name], whole.players[name]] for name in whole.players}
    for mine, theirs in order.values():
        assert state.mean["strength"][mine] == whole.mean["strength"][theirs]
        assert state.variance["strength"][mine] == whole.variance["strength"][theirs]
    np.testing.assert_array_equal(model.predict(votes, state), model.predict(votes, whole))


def test_bradley_terry_has_the_closed_form_of_two_players():
    rows = np.repeat([0, 1], [300, 100])
    zeros = np.zeros(400, np.int32)
    votes = Votes(
        zeros, zeros, zeros + 1, rows.astype(np.uint8), np.zeros((400, 0), np.int32), ["w"], ["x", "y"], [], []
    )
    flipped = Votes(zeros, zeros + 1, zeros, (1 - rows).astype(np.uint8), votes.values, ["w"], ["x", "y"], [], [])
    both = Votes(
        *(np.concatenate([getattr(votes, n), getattr(flipped, n)]) for n in ("workers", "left", "right", "outcomes")),
        np.zeros((800, 0), np.int32), ["w"], ["x", "y"], [], [],
    )  # fmt: skip
    state = BradleyTerry().fit(both).state
    s = state.mean["strength"][state.player_units]
    assert s[0] - s[1] == pytest.approx(np.log(3), abs=0.02)
    assert abs(state.mean["shared"][0]) < 1e-3


def test_strengths_workers_and_contexts_are_found():
    truth, votes = simulated(6000)
    state = Hierarchical().fit(votes).state
    mean = state.mean["strength"]
    found = [
        [
            mean[state.players[f"p{k}"]] + mean[state.cells[state.players[f"p{k}"], state.values[0, f"v{v}"]]]
            for v in range(3)
        ]
        for k in range(8)
    ]
    assert np.corrcoef(np.ravel(found), np.ravel(truth))[0, 1] > 0.97
    reliability = 1 + state.mean["reliability"][list(state.workers.values())]
    assert reliability[list(state.workers).index("w0")] < 0 < np.median(reliability)
    _, test = simulated(6000)
    held = test.rows(np.arange(1000))
    losses = {m.name: log_losses(m().predict(held, m().fit(votes).state), held.outcomes).mean() for m in MODELS[:2]}
    assert losses["hierarchical"] < losses["davidson"] - 0.1


def test_intervals_cover():
    covered = []
    for seed in range(25):
        truth, votes = simulated(2000, 10, 10, 1, seed)
        found = strengths(Hierarchical().fit(without_features(votes)).state)
        wanted = (truth - truth.mean())[[int(name[1:]) for name in found.players], 0]
        covered.append(np.mean((found.low < wanted) & (wanted < found.high)))
    assert 0.88 < np.mean(covered) < 0.99


def with_columns(votes, **columns):
    """The same votes with further columns of codes as contexts."""
    values = np.stack([np.asarray(codes, np.int32) for codes in columns.values()], axis=1)
    names = [[f"{name}{k}" for k in range(1 + int(max(codes)))] for name, codes in columns.items()]
    return replace(without_features(votes), values=values, features=list(columns), value_names=names)


def test_a_context_of_few_values_is_no_sample():
    """Its players are as strong as without it: on average over its values, as often as they occur."""
    _, votes = simulated(3000, contexts=1)
    coin = np.random.default_rng(3).integers(2, size=len(votes))
    alike = with_columns(votes, only=np.zeros(len(votes)), coin=coin)
    one, other = (strengths(Hierarchical().fit(each).state) for each in (without_features(votes), alike))
    order = [other.players.index(name) for name in one.players]
    assert np.allclose(one.strength, other.strength[order], atol=0.1)
    assert np.allclose(one.high - one.low, (other.high - other.low)[order], rtol=0.1)  # 3 times as wide otherwise


def test_strengths_in_few_contexts_are_their_mean():
    truth, votes = simulated(6000, contexts=3, seed=4)
    found = strengths(Hierarchical().fit(votes).state)
    wanted = truth @ (np.bincount(votes.values[:, 0]) / len(votes))
    wanted = (wanted - wanted.mean())[[int(name[1:]) for name in found.players]]
    assert np.corrcoef(found.strength, wanted)[0, 1] > 0.95


def test_contexts_do_not_shrink_strengths():
    """The mode of all parameters at once has small strengths and reliabilities far above 1."""
    slopes = []
    for seed in range(5):
        random = np.random.default_rng(seed)
        strength, here = 0.8 * random.normal(size=6), 0.4 * random.normal(size=(20, 6))
        w, v, i = (random.integers(size, size=8000) for size in (10, 20, 6))
        j = (i + random.integers(1, 6, size=8000)) % 6
        z = strength[i] + here[v, i] - strength[j] - here[v, j]
        outcomes = (np.stack([z / 2, -z / 2, -0.5 + 0 * z], axis=1) + random.gumbel(size=(8000, 3))).argmax(axis=1)
        codes = [array.astype(np.int32) for array in (w, i, j)]
        names = [f"w{k}" for k in range(10)], [f"p{k}" for k in range(6)], ["prompt"], [[f"v{k}" for k in range(20)]]
        votes = Votes(*codes, outcomes.astype(np.uint8), v.astype(np.int32)[:, None], *names)
        state = Hierarchical().fit(votes).state
        found = strengths(state)
        wanted = strength + here.mean(axis=0)
        wanted = (wanted - wanted.mean())[[int(name[1:]) for name in found.players]]
        slopes.append(found.strength @ wanted / (wanted @ wanted))
        assert abs(np.mean(state.mean["reliability"][1:])) < 0.02
    assert 0.9 < np.mean(slopes) < 1.1  # 0.66 otherwise


def test_reliability_is_1_among_those_who_look():
    """Workers of reversed or empty votes do not make the others more reliable than 1."""
    _, votes = simulated(6000, workers=12)
    state = Hierarchical().fit(without_features(votes)).state
    reliability = dict(zip(state.workers, 1 + state.mean["reliability"][1:], strict=True))
    assert reliability.pop("w0") < -0.5
    assert np.mean(list(reliability.values())) == pytest.approx(1.0, abs=0.05)


def test_one_pass_adds_the_variance_of_the_mean_of_a_sample_of_contexts():
    _, votes = simulated(600, contexts=8)
    state = Hierarchical().start(votes.features)
    Hierarchical().learn(votes, state)
    own = state.variance["strength"][state.player_units]
    assert np.allclose(state.strengths()[1], own + state.scales["strength.1"] / 8)


def test_many_players_and_contexts_have_simpler_intervals(monkeypatch):
    monkeypatch.setattr("hutch.crowd.pairs.state.FEW", 2)
    _, votes = simulated(1500)
    exact = np.sqrt(np.diag(Hierarchical().fit(votes).state.covariance))
    for most in (12, 5):
        monkeypatch.setattr("hutch.crowd.pairs.intervals.MOST", most)
        state = Hierarchical().fit(votes).state
        ratio = np.sqrt(np.diag(state.covariance)) / exact
        assert np.all((ratio > 0.5) & (ratio < 2))


def test_contexts_add_the_variance_of_their_mean(monkeypatch):
    """A player seen in contexts with shares r_v has an uncertain mean over them: scale * sum of r_v^2."""
    monkeypatch.setattr("hutch.crowd.pairs.state.FEW", 2)
    _, votes = simulated(600)
    monkeypatch.setattr("hutch.crowd.pairs.intervals.MOST", 12)
    state = Hierarchical().fit(votes).state
    monkeypatch.setattr("hutch.crowd.pairs.intervals._contexts", lambda state, design: 0.0)
    without = Hierarchical().fit(votes).state
    for place, name in enumerate(state.players):
        player = votes.players.index(name)
        seen = votes.values[(votes.left == player) | (votes.right == player), 0]
        shares = np.bincount(seen) / len(seen)
        added = state.covariance[place, place] - without.covariance[place, place]
        assert added == pytest.approx(state.scales["strength.1"] * np.sum(shares**2))


def test_votes_of_unknown_names_are_predicted_as_average():
    _, votes = simulated(300)
    state = Davidson().fit(votes).state
    strange = Votes(*(np.array([k], np.int32) for k in (0, 0, 1)), np.zeros(1, np.uint8), np.zeros((1, 1), np.int32),
                    ["nobody"], ["new", "newer"], ["topic"], [["other"]])  # fmt: skip
    before = len(state.players)
    p = Davidson().predict(strange, state)[0]
    bias, tie = state.mean["shared"]
    raw = np.exp([bias / 2, -bias / 2, tie])
    np.testing.assert_allclose(p, raw / raw.sum(), rtol=1e-12)
    assert len(state.players) == before


def test_other_features_are_refused():
    _, votes = simulated(50)
    state = Hierarchical().start([])
    with pytest.raises(UsageError, match="features: got topic, wanted those of the model: none"):
        Hierarchical().learn(votes, state)


def test_no_such_model():
    with pytest.raises(UsageError, match="did you mean 'davidson'"):
        create("davidsen")


@pytest.mark.parametrize("model", [Hierarchical(), Davidson(), BradleyTerry()])
def test_a_vote_of_weight_two_is_two_votes(model):
    _, votes = simulated(200)
    often = np.arange(200) % 3
    weighted = replace(votes, weights=often.astype(float))
    counted = votes.rows(np.repeat(np.arange(200), often))
    found, wanted = model.fit(weighted).state, model.fit(counted).state
    order = [list(wanted.players).index(player) for player in found.players]
    np.testing.assert_allclose(
        found.mean["strength"][found.player_units], wanted.mean["strength"][wanted.player_units][order], atol=0.02
    )


@pytest.mark.parametrize("model", MODELS)
def test_votes_with_the_winner_on_the_left_have_no_side_bias(model):
    """As preferences are written down for training; a bias would explain them all and leave no strength."""
    _, votes = simulated(1500)
    plain = without_features(votes)
    plain = plain.rows(plain.outcomes != 2)
    right = plain.outcomes == 1
    sorted_ = replace(
        plain,
        left=np.where(right, plain.right, plain.left),
        right=np.where(right, plain.left, plain.right),
        outcomes=np.zeros(len(plain), np.uint8),
    )
    one, other = (strengths(model().fit(each).state) for each in (plain, sorted_))
    order = [other.players.index(name) for name in one.players]
    assert np.allclose(one.strength, other.strength[order], atol=0.15)


def test_a_state_of_the_first_format_is_read(tmp_path):
    _, votes = simulated(300)
    state = Hierarchical().fit(votes).state
    state.save(str(tmp_path / "model"))
    arrays, metadata = load_model(tmp_path / "model", kind="pairs")
    arrays.pop("value_votes")
    save_model(
        tmp_path / "model",
        arrays,
        {key: metadata[key] for key in ("model", "features", "scales", "votes")},
        kind="pairs",
    )
    found = PairState.load(str(tmp_path / "model"))
    assert np.allclose(found.strengths()[0], state.mean["strength"][state.player_units])
