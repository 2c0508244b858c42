"""Few of many actions: projections and spanners beside NumPy, probabilities, what is learned, and what is refused."""

import math

import numpy as np
import pytest
from numpy import uint64

from hutch import Chain
from hutch.core.errors import ConfigError, UsageError
from hutch.core.kernel.cache import compiled
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.few_actions.layer import FewActions
from hutch.reductions.few_actions.projection import (
    count_leading,
    diagonalise,
    left_vectors,
    products,
    project,
    singular_values,
)
from hutch.reductions.few_actions.spanner import span
from hutch.vw.parse import parse
from hutch.vw.translate import chain_of

BELOW = ["contextual_bandit", "cost_sensitive_with_features", "linear"]


@compiled
def projected(rows, values, stride, mask, seed, factor, out):
    project(rows, values, uint64(stride), uint64(mask), uint64(seed), (factor, np.float32(1)), out)


@compiled
def vectors_of(matrix, n, most, gram, vectors, values, order, out):
    n = uint64(n)
    products(matrix, n, gram)
    diagonalise(gram, vectors, n)
    singular_values(gram, n, values, order)
    count = count_leading(values, uint64(most))
    left_vectors(matrix, n, vectors, order, values, count, out)
    return count


@compiled
def spanned(rows, scales, n, constant, spanner, inverse, change, chosen):
    span(rows, scales, uint64(n), constant, (spanner, inverse, change, chosen))


def spanner_of(rows, constant=2.0, scales=None):
    n = rows.shape[1]
    chosen, squares = np.zeros(n, np.uint32), [np.zeros(n * n) for _ in range(2)]
    scales = np.ones(len(rows), np.float32) if scales is None else scales
    spanned(rows.reshape(-1).copy(), scales, n, constant, *squares, np.zeros(3 * n), chosen)
    return chosen.tolist()


def odd(number):
    return number.bit_count() % 2


@pytest.mark.slow
def test_projections_by_counts_of_bits():
    draw = np.random.default_rng(1)
    rows, values = draw.integers(1 << 18, size=40).astype(np.uint32), draw.normal(size=40).astype(np.float32)
    found = np.zeros(30, np.float32)
    projected(rows, values, 4, (1 << 20) - 1, 13, np.float32(0.5), found)
    for column, number in enumerate(found):
        places = [int(row) * 4 + column for row in rows]
        signs = [odd(place) * (1 - 2 * odd(place + 13)) for place in places]
        assert number == pytest.approx(0.5 * np.dot(signs, values), abs=1e-5)
        assert {-1, 0, 1} == set(signs)


@pytest.mark.slow
@pytest.mark.parametrize(("rank", "most", "wanted"), [(12, 5, 5), (3, 5, 3), (12, 12, 12)])
def test_singular_vectors_beside_numpy(rank, most, wanted):
    draw = np.random.default_rng(rank)
    matrix = (draw.normal(size=(50, rank)) @ draw.normal(size=(rank, 12))).astype(np.float32)
    gram, vectors = np.zeros(144), np.zeros(144)
    values, out = np.zeros(12), np.zeros(50 * most)
    count = vectors_of(matrix.reshape(-1), 12, most, gram, vectors, values, np.zeros(12, np.uint32), out)
    left, lengths, _ = np.linalg.svd(matrix.astype(np.float64), full_matrices=False)
    share = np.cumsum(lengths) / lengths.sum()
    assert count == min(most, int((share <= 0.99).sum()) + 1) and count <= wanted
    np.testing.assert_allclose(values[:rank], lengths[:rank], rtol=1e-6)
    found = out[: 50 * count].reshape(50, count)
    np.testing.assert_allclose(abs((found * left[:, :count]).sum(axis=0)), 1, rtol=1e-6)


@pytest.mark.slow
def test_nothing_leads_where_all_is_0():
    zeros = [np.zeros(size) for size in (9, 9, 3)]
    assert vectors_of(np.zeros(12, np.float32), 3, 2, *zeros, np.zeros(3, np.uint32), np.zeros(8)) == 0


@pytest.mark.slow
@pytest.mark.parametrize("constant", [1.2, 2.0])
@pytest.mark.parametrize("seed", range(5))
def test_all_rows_have_small_coefficients_in_the_spanner(seed, constant):
    rows = np.linalg.qr(np.random.default_rng(seed).normal(size=(200, 6)))[0]
    chosen = spanner_of(rows, constant)
    assert len(set(chosen)) == 6
    coefficients = np.linalg.solve(rows[chosen].T, rows.T)
    assert abs(coefficients).max() <= 3 * constant
    worse = np.linalg.solve(rows[:6].T, rows.T)
    assert abs(worse).max() > abs(coefficients).max()


def spanner_by_inverses(rows, constant, scales):
    """The same search, where every inverse is computed anew."""
    n = rows.shape[1]
    spanner, logarithm, chosen, volume = np.eye(n), 0.0, [0] * n, 0.0

    def volumes(i):
        return abs(rows @ np.linalg.inv(spanner)[:, i])

    def replace(i, found, most):
        nonlocal logarithm
        spanner[i] = rows[found] / scales[found] / math.exp(logarithm)
        chosen[i], step = found, (math.log(most) - logarithm) / len(rows)
        spanner[:] /= math.exp(step)
        logarithm += step

    for i in range(n):
        most = volumes(i)
        volume = most.max()
        replace(i, int(most.argmax()), volume)
    for _ in range(int(n * math.log(n) / math.log(constant))):
        for i in range(n):
            most = volumes(i)
            if most.max() > constant * volume:
                volume = most.max()
                replace(i, int(most.argmax()), volume)
                break
        else:
            break
    return chosen


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_spanners_by_inverses_of_numpy(seed):
    draw = np.random.default_rng(seed)
    rows, scales = draw.normal(size=(60, 5)), draw.uniform(0.5, 3, size=60).astype(np.float32)
    for constant in (1.01, 1.3, 2.0):
        assert spanner_of(rows, constant, scales) == spanner_by_inverses(rows, constant, scales)


@pytest.mark.slow
def test_of_multiples_of_a_row_the_longest_is_chosen():
    rows = np.kron(np.eye(4), [[1.0], [3.0], [2.0]]) + 0.0
    assert sorted(spanner_of(rows)) == [1, 4, 7, 10]


def decisions(count, actions, seed=0, words=40):
    draw, blocks = np.random.default_rng(seed), []
    for _ in range(count):
        chosen, lines = draw.integers(actions), [f"shared |u u{draw.integers(3)}"]
        for k in range(actions):
            own = " ".join(f"w{w}:{draw.uniform(0.5, 2):.3f}" for w in draw.choice(words, 4, replace=False))
            lines.append((f"0:{-draw.integers(2)}:0.5 " if k == chosen else "") + f"|a {own}")
        blocks.append("\n".join([*lines, "", ""]))
    return blocks


def chain_with(*layers, **more):
    return Chain.from_config({"chain": [*layers, *BELOW], "input": {"namespaces": "letter"}, **more})


@pytest.mark.slow
@pytest.mark.parametrize("explorer", ["explore_epsilon", "explore_squarecb", {"explore_softmax": {"rate": 5}}], ids=str)
def test_few_actions_are_explored_and_all_are_learned(explorer):
    whole, few = chain_with(explorer), chain_with({"few_actions": {"actions": 5}}, explorer)
    for text in decisions(30, 40):
        assert np.array_equal(whole.weights, few.weights)
        p, full = (chain.predict([text]).reshape(-1, 40) for chain in (few, whole))
        assert p.sum() == pytest.approx(1, abs=1e-5) and 5 <= (p > 0).sum() <= 6
        assert p[0, full.argmax()] >= max(p.max() - 1e-6, full.max())
        for chain in (whole, few):
            chain.learn([text])
    small = decisions(3, 5, seed=9)
    assert np.array_equal(whole.predict(small), few.predict(small))


@pytest.mark.slow
def test_features_that_all_actions_share_do_not_matter():
    chain = chain_with({"few_actions": {"actions": 3}}, "explore_epsilon")
    for text in decisions(5, 30):
        other = text.replace("shared |u", "shared |t x:7 y:3 |u")
        assert np.array_equal(chain.predict([text]) > 0, chain.predict([other]) > 0)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ConfigError, match="few_actions: got 'contextual_bandit' below it, wanted an explorer|needs"):
        chain_with("few_actions")
    learner = {"bayesian_linear": {"dimension": 8, "loss": "squared"}}
    with pytest.raises(ConfigError, match="few_actions: got the learner 'bayesian_linear', wanted one like linear"):
        Chain.from_config({"chain": ["few_actions", "explore_epsilon", *BELOW[:-1], learner]})
    grams = {"ngrams": {"size": 2}}
    with pytest.raises(ConfigError, match="few_actions: got 'ngrams' below it, wanted no layer that makes features"):
        Chain.from_config({"chain": ["few_actions", "explore_epsilon", *BELOW[:-1], grams, "linear"]})
    for words, said in (
        ("--bag 3", "got --large_action_space and --bag, wanted one of them"),
        ("--squarecb --elim", "got --large_action_space and --elim"),
        ("--spanner_c 1", "--spanner_c: got 1, wanted more than 1"),
        ("--two_pass_svd", "--two_pass_svd is not supported: leave it out"),
    ):
        with pytest.raises(UsageError, match=said):
            chain_of(parse(f"--cb_explore_adf --large_action_space {words}".split()))


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [{"actions": 1}, {"actions": 2, "constant": 1.1}], ids=str)
def test_contract_with_other_parameters(parameters):
    for check in checks_of_reduction(FewActions, parameters):
        check()


@pytest.mark.slow
def test_the_constant_bounds_how_often_rows_are_replaced():
    rows = np.linalg.qr(np.random.default_rng(3).normal(size=(300, 4)))[0]
    volumes = [abs(np.linalg.det(rows[spanner_of(rows, constant)])) for constant in (1.05, 50.0)]
    assert volumes[0] >= volumes[1] > 0 and math.isfinite(volumes[0])
