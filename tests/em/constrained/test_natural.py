import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hutch.core.errors import ConfigError, DataError
from hutch.em.base.linear_algebra import leading
from hutch.em.base.schedule import Schedule
from hutch.em.constrained.natural import NaturalPPCA, Sketch, merged
from hutch.em.engine import OnlineEM
from hutch.em.ppca.model import PPCA, PPCAParameters, closed_form, log_likelihood


def covariance(p: PPCAParameters) -> np.ndarray:
    return p.loadings.T @ p.loadings + p.noise * np.eye(len(p.mean))


def of_moments(mean: np.ndarray, moment: np.ndarray, rank: int) -> PPCAParameters:
    """Dense twin: maximum likelihood of PPCA for a Gaussian of this mean and covariance."""
    values, vectors = np.linalg.eigh(moment)
    values, vectors = values[::-1], vectors[:, ::-1]
    noise = values[rank:].mean()
    return PPCAParameters(mean, np.sqrt(values[:rank] - noise)[:, None] * vectors[:, :rank].T, noise)


def dense_step(p: PPCAParameters, rows: np.ndarray, old: float) -> PPCAParameters:
    """argmin old · KL(p ‖ θ) - Σ log θ(x): moments of the anchor and of the rows, pooled."""
    total = old + len(rows)
    mean = (old * p.mean + rows.sum(axis=0)) / total
    shift = p.mean - mean
    moment = old * (covariance(p) + np.outer(shift, shift)) + (rows - mean).T @ (rows - mean)
    return of_moments(mean, moment / total, len(p.loadings))


def stream(count: int, dimension: int = 8, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    factor = random.normal(size=(dimension, dimension)) * np.linspace(2, 0.2, dimension)[:, None]
    return random.normal(size=(count, dimension)) @ factor + random.normal(size=dimension)


@given(
    st.integers(0, 10_000), st.integers(1, 40), st.integers(2, 9), st.integers(1, 4), st.floats(0.3, 300), st.booleans()
)
@settings(max_examples=50, deadline=None)
def test_the_step_is_the_exact_optimum(
    seed: int, count: int, dimension: int, rank: int, old: float, kernel: bool
) -> None:
    rank = min(rank, dimension - 1)
    sketch = Sketch.of(stream(20, dimension, seed), rank)
    sketch.absorb(stream(30, dimension, seed + 1), 1.0)
    rows = stream(count, dimension, seed + 2)
    before = sketch.parameters()
    expected = before
    if kernel:
        for row in rows:
            expected = dense_step(expected, row[None], old)
        learner = NaturalPPCA(rows, rank, Schedule(0.0, 1 / (1 + old)), block=1)
        learner.sketch = sketch
        learner.learn(rows)
    else:
        expected = dense_step(before, rows, old)
        sketch.absorb(rows, old)
    np.testing.assert_allclose(sketch.mean, expected.mean, atol=1e-9)
    np.testing.assert_allclose(covariance(sketch.parameters()), covariance(expected), rtol=1e-6, atol=1e-7)
    products = sketch.loadings @ sketch.loadings.T
    np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=1e-8 * max(1, products.max()))


def test_no_other_parameters_are_better() -> None:
    rows, old, random = stream(12), 5.0, np.random.default_rng(3)
    sketch = Sketch.of(stream(20, seed=1), 2)
    sketch.absorb(stream(30, seed=2), 1.0)
    anchor = sketch.parameters()

    def objective(p: PPCAParameters) -> float:
        back = np.linalg.inv(covariance(p))
        shift = p.mean - anchor.mean
        trace = np.trace(back @ covariance(anchor)) + shift @ back @ shift
        kl = 0.5 * (trace - 8 + np.linalg.slogdet(covariance(p))[1] - np.linalg.slogdet(covariance(anchor))[1])
        return old * kl - log_likelihood(rows, p).sum()

    sketch.absorb(rows, old)
    best = sketch.parameters()
    for _ in range(50):
        size = 10 ** random.uniform(-4, -1)
        other = PPCAParameters(
            best.mean + size * random.normal(size=8),
            best.loadings + size * random.normal(size=(2, 8)),
            best.noise * np.exp(size * random.normal()),
        )
        assert objective(other) > objective(best)


def test_counting_all_alike_comes_near_maximum_likelihood() -> None:
    rows = stream(3000)
    best = log_likelihood(rows, closed_form(rows, 3)).mean()
    for block, sketch in [(1, 1), (10, 1), (256, 1), (1, 2), (256, 2)]:
        learner = NaturalPPCA(rows[:50], 3, block=block, sketch=sketch)
        learner.learn(rows)
        assert 0 <= best - learner.log_likelihood(rows).mean() < 0.05
        assert learner.parameters.loadings.shape == (3, 8)


def test_a_larger_sketch_is_truncated_to_its_best_model() -> None:
    sketch = Sketch.of(stream(20), 5)
    sketch.absorb(stream(100), 1.0)
    small, expected = sketch.truncated(2), of_moments(sketch.mean, covariance(sketch.parameters()), 2)
    np.testing.assert_allclose(covariance(small), covariance(expected), atol=1e-9)


def test_sketches_merge_as_their_moments() -> None:
    past, current = Sketch.of(stream(20), 3), Sketch.of(stream(20, seed=7), 3)
    past.absorb(stream(60), 1.0)
    current.absorb(stream(40, seed=7) + 2, 1.0)
    both = merged(past, current, 30.0, 10.0)
    mean = 0.75 * past.mean + 0.25 * current.mean
    shift = past.mean - current.mean
    moment = 0.75 * covariance(past.parameters()) + 0.25 * covariance(current.parameters())
    expected = of_moments(mean, moment + 0.75 * 0.25 * np.outer(shift, shift), 3)
    np.testing.assert_allclose(both.mean, mean, atol=1e-12)
    np.testing.assert_allclose(covariance(both.parameters()), covariance(expected), atol=1e-8)


@pytest.mark.parametrize("block", [1, 16])
@pytest.mark.parametrize("factor", [1e-3, 16.0])
def test_scaled_and_rotated_data_give_the_scaled_and_rotated_model(block: int, factor: float) -> None:
    rows = stream(200)
    turn = factor * np.linalg.qr(np.random.default_rng(5).normal(size=(8, 8)))[0]
    plain, changed = (NaturalPPCA(data[:40], 3, block=block) for data in (rows, rows @ turn))
    plain.learn(rows)
    changed.learn(rows @ turn)
    expected = turn.T @ covariance(plain.parameters) @ turn
    np.testing.assert_allclose(covariance(changed.parameters), expected, rtol=1e-6, atol=1e-8 * factor**2)


@pytest.mark.parametrize("block", [1, 8])
def test_axes_keep_their_direction(block: int) -> None:
    rows = stream(600) * np.linspace(4, 0.5, 8)
    learner = NaturalPPCA(rows[:50], 2, block=block)
    learner.learn(rows[:200])
    before = learner.parameters.loadings
    for first in range(200, 600, block):
        learner.learn(rows[first : first + block])
        after = learner.parameters.loadings
        assert (np.sum(before * after, axis=1) > 0).all()
        before = after


@given(st.integers(1, 99), st.sampled_from([1, 2]))
@settings(max_examples=15, deadline=None)
def test_learning_goes_on_bit_for_bit(cut: int, sketch: int) -> None:
    rows = stream(100)
    whole, first, second = (NaturalPPCA(rows[:20], 3, block=1, sketch=sketch) for _ in range(3))
    whole.learn(rows)
    first.learn(rows[:cut])
    second.restore(first.state())
    second.learn(rows[cut:])
    assert all(np.array_equal(second.state()[name], value) for name, value in whole.state().items())


HARD = {
    "offset": stream(300) + 1e6,
    "constant column": stream(300) * [1, 1, 1, 0, 1, 1, 1, 1],
    "all constant": np.ones((100, 4)),
    "one row": stream(1),
    "few rows": stream(3),
    "one feature": stream(100)[:, :1],
    "tiny": stream(300) * 1e-9,
    "single precision": stream(300).astype(np.float32),
    "wide": stream(200, 200),
}


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("rank", [2, 12, 300])
@pytest.mark.parametrize("block", [1, 64, 256])
@pytest.mark.parametrize("rate", [(1.0, 1.0), (0.0, 0.5)])
def test_the_noise_stays_positive_and_finite(name: str, rank: int, block: int, rate: tuple[float, float]) -> None:
    rows = HARD[name][: 30 if rank == 300 and block == 1 else None]
    learner = NaturalPPCA(rows[:50], rank, Schedule(*rate), block=block)
    learner.learn(rows)
    p = learner.parameters
    assert p.loadings.shape == (rank, rows.shape[1])
    assert 0 < p.noise < np.inf
    assert np.isfinite(p.loadings).all()
    assert np.isfinite(learner.log_likelihood(rows)).all()


def test_an_offset_costs_nothing() -> None:
    plain, far = (NaturalPPCA(rows[:50], 3, block=1) for rows in (stream(300), stream(300) + 1e6))
    plain.learn(stream(300))
    far.learn(stream(300) + 1e6)
    assert far.parameters.noise == pytest.approx(plain.parameters.noise, rel=1e-6)


def test_bad_rows_are_refused_before_any_is_learned() -> None:
    rows = stream(50)
    learner = NaturalPPCA(rows, 2)
    rows[30, 4] = np.nan
    with pytest.raises(DataError, match="row 30, column 4"):
        learner.learn(rows)
    assert learner.samples == 0


@pytest.mark.parametrize("bad", [{"rank": 0}, {"block": 0}, {"sketch": 0}])
def test_numbers_out_of_range_are_refused(bad: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=next(iter(bad))):
        NaturalPPCA(stream(5), **{"rank": 2} | bad)


@pytest.mark.parametrize("shape", [(12, 400), (400, 12), (300, 500), (500, 300)])
def test_leading_axes_are_those_of_the_singular_value_decomposition(shape: tuple[int, int]) -> None:
    random = np.random.default_rng(0)
    matrix = random.normal(size=(shape[0], 6)) * [30, 20, 15, 10, 8, 6] @ random.normal(size=(6, shape[1]))
    matrix += 0.1 * random.normal(size=shape)
    energy, axes, trace = leading(matrix, 4)
    assert trace == pytest.approx(np.sum(matrix**2))
    _, singular, reference = np.linalg.svd(matrix, full_matrices=False)
    np.testing.assert_allclose(energy, singular[:4] ** 2, rtol=1e-3)
    np.testing.assert_allclose(axes @ axes.T, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(np.abs(np.sum(axes * reference[:4], axis=1)), 1, atol=1e-2)


def test_leading_axes_of_nothing_are_none() -> None:
    energy, axes, _ = leading(np.zeros((5, 9)), 3)
    assert energy.size == 0 and axes.shape == (0, 9)
    energy, axes, _ = leading(np.ones((5, 9)), 0)
    assert energy.size == 0 and axes.shape == (0, 9)


def wide(count: int, noise: float, offset: float = 0.0) -> np.ndarray:
    random = np.random.default_rng(3)
    hidden = random.normal(size=(count, 4)) * [4, 3, 2, 1]
    return hidden @ random.normal(size=(4, 300)) + noise * random.normal(size=(count, 300)) + offset


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_single_precision_rows_give_what_double_gives(offset: float) -> None:
    rows = wide(2000, 1.0, offset).astype(np.float32)
    single, double = (NaturalPPCA(kind[:200], 4, block=250) for kind in (rows, rows.astype(float)))
    single.learn(rows)
    double.learn(rows.astype(float))
    assert single.sketch._takes_single(rows[:250])
    got, wanted = single.parameters, double.parameters
    assert got.noise == pytest.approx(wanted.noise, rel=1e-4)
    np.testing.assert_allclose(got.mean, wanted.mean, atol=1e-6)
    np.testing.assert_allclose(got.loadings.T @ got.loadings, wanted.loadings.T @ wanted.loadings, atol=1e-3)


@pytest.mark.parametrize(("noise", "scale"), [(1e-4, 1.0), (1.0, 1e25), (1e-5, 1e-25)])
def test_single_precision_rows_are_taken_as_double_where_that_matters(noise: float, scale: float) -> None:
    rows = (scale * wide(1000, noise)).astype(np.float32)
    single, double = (NaturalPPCA(kind[:200], 4, block=250) for kind in (rows, rows.astype(float)))
    single.learn(rows)
    double.learn(rows.astype(float))
    assert single.parameters.noise == pytest.approx(double.parameters.noise, rel=1e-4)


def test_rows_with_missing_values_are_completed() -> None:
    random = np.random.default_rng(1)
    rows = random.normal(size=(2000, 5)) @ random.normal(size=(5, 20)) + 0.3 * random.normal(size=(2000, 20))
    rows, test = rows[:1600], rows[1600:]
    whole, same = (NaturalPPCA(rows[:100], 5, block=16, missing=missing) for missing in (False, True))
    for learner in (whole, same):
        learner.learn(rows)
    np.testing.assert_array_equal(whole.parameters.loadings, same.parameters.loadings)
    rows[random.random(rows.shape) < 0.1] = np.nan
    exact = NaturalPPCA(rows[:100], 5, block=16, missing=True)
    model = PPCA.of(rows[:100], 5, missing=True)
    plain = OnlineEM(model, model.start(0), Schedule(0.8))
    for learner in (exact, plain):
        learner.learn(rows)
    scores = [learner.log_likelihood(test).mean() for learner in (whole, exact, plain)]
    assert scores[0] - 0.3 < scores[1] and scores[2] + 0.3 < scores[1]
    assert exact.parameters.noise == pytest.approx(whole.parameters.noise, rel=0.3)
