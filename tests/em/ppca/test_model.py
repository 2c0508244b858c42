from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from hutch.core.errors import ConfigError, DataError
from hutch.em.base.model import Array
from hutch.em.constrained.natural import NaturalPPCA
from hutch.em.engine import OnlineEM
from hutch.em.nat_oem import Metric
from hutch.em.ppca.model import PPCA, PPCAParameters, draw, log_likelihood, transform


def parameters(dimension: int = 6, rank: int = 2, seed: int = 0) -> PPCAParameters:
    random = np.random.default_rng(seed)
    return PPCAParameters(random.normal(size=dimension), random.normal(size=(rank, dimension)), 0.3)


def covariance(p: PPCAParameters) -> Array:
    return p.loadings.T @ p.loadings + p.noise * np.eye(len(p.mean))


@pytest.mark.parametrize(("dimension", "rank"), [(6, 2), (1, 1), (3, 5)])
def test_log_likelihood_is_the_gaussian_density(dimension: int, rank: int) -> None:
    p = parameters(dimension, rank)
    rows = np.random.default_rng(1).normal(size=(20, dimension))
    expected = multivariate_normal(p.mean, covariance(p)).logpdf(rows)
    np.testing.assert_allclose(log_likelihood(rows, p), np.atleast_1d(expected), atol=1e-10)


def test_missing_entries_are_integrated_out() -> None:
    p = parameters()
    rows = np.random.default_rng(1).normal(size=(3, 6))
    rows[0, [1, 4]] = np.nan
    rows[2] = np.nan
    known = [0, 2, 3, 5]
    marginal = multivariate_normal(p.mean[known], covariance(p)[np.ix_(known, known)])
    scores = log_likelihood(rows, p)
    assert scores[0] == pytest.approx(marginal.logpdf(rows[0, known]))
    assert scores[1] == pytest.approx(multivariate_normal(p.mean, covariance(p)).logpdf(rows[1]))
    assert scores[2] == pytest.approx(0.0)


def test_transform_is_the_posterior_mean_also_of_what_is_known() -> None:
    p = parameters()
    rows = np.random.default_rng(1).normal(size=(2, 6))
    rows[1, 3] = np.nan
    for row, latent in zip(rows, transform(rows, p), strict=True):
        known = ~np.isnan(row)
        cross = p.loadings[:, known] @ np.linalg.inv(covariance(p)[np.ix_(known, known)])
        np.testing.assert_allclose(latent, cross @ (row - p.mean)[known], atol=1e-12)


def test_draw_follows_the_model() -> None:
    p = parameters()
    rows = draw(p, 200_000, np.random.default_rng(0))
    np.testing.assert_allclose(rows.mean(axis=0), p.mean, atol=0.03)
    np.testing.assert_allclose(np.cov(rows.T), covariance(p), atol=0.06)


@pytest.mark.parametrize("m_step", ["joint", "recentred"])
def test_expected_statistics_make_the_parameters_a_fixed_point(m_step: str) -> None:
    p = parameters()
    model = PPCA(6, 2, np.full(6, 0.7), 1.0, m_step=m_step)  # type: ignore[arg-type]
    again = model.maximise(model.expected_statistics(p))
    np.testing.assert_allclose(again.mean, p.mean, atol=1e-12)
    np.testing.assert_allclose(again.loadings, p.loadings, atol=1e-12)
    assert again.noise == pytest.approx(p.noise)


def test_the_m_step_maximises_the_expected_complete_likelihood() -> None:
    p = parameters()
    rows = np.random.default_rng(2).normal(size=(50, 6))
    model = PPCA.of(rows, 2)
    square, cross, latent, shift, latent_mean = model._parts(model.statistics(rows, p))

    def complete(q: PPCAParameters) -> float:
        """E log p(x, z | q) under the posterior at p, up to what does not depend on q."""
        mean = q.mean - model.origin
        residual = (
            float(square[0])
            - 2 * float(np.vdot(cross, q.loadings))
            + float(np.vdot(latent @ q.loadings, q.loadings))
            - 2 * float(mean @ shift)
            + 2 * float(latent_mean @ q.loadings @ mean)
            + float(mean @ mean)
        )
        return -0.5 * (6 * np.log(q.noise) + residual / q.noise)

    best = model.maximise(model.statistics(rows, p))
    top, random = complete(best), np.random.default_rng(4)
    for _ in range(20):
        step = 1e-3 * random.normal(size=3)
        other = PPCAParameters(
            best.mean + step[0] * random.normal(size=6),
            best.loadings + step[1] * random.normal(size=(2, 6)),
            best.noise * np.exp(step[2]),
        )
        assert complete(other) < top


def test_gradient_of_the_likelihood_is_that_of_the_complete_likelihood() -> None:
    """Fisher's identity by finite differences: an EM step from p moves along the ascent of log p(x)."""
    p = parameters()
    rows = np.random.default_rng(2).normal(size=(40, 6))
    model = PPCA.of(rows, 2)
    _, cross, latent, shift, latent_mean = model._parts(model.statistics(rows, p))
    centre = p.mean - model.origin
    gradient = (cross - np.outer(latent_mean, centre) - latent @ p.loadings) / p.noise
    for i, j in [(0, 0), (1, 3), (0, 5)]:
        step = np.zeros((2, 6))
        step[i, j] = 1e-5
        up = log_likelihood(rows, PPCAParameters(p.mean, p.loadings + step, p.noise)).mean()
        down = log_likelihood(rows, PPCAParameters(p.mean, p.loadings - step, p.noise)).mean()
        assert (up - down) / 2e-5 == pytest.approx(gradient[i, j], abs=1e-7)
    for j in range(6):
        step = np.zeros(6)
        step[j] = 1e-5
        up = log_likelihood(rows, PPCAParameters(p.mean + step, p.loadings, p.noise)).mean()
        down = log_likelihood(rows, PPCAParameters(p.mean - step, p.loadings, p.noise)).mean()
        expected = (shift - centre - latent_mean @ p.loadings)[j] / p.noise
        assert (up - down) / 2e-5 == pytest.approx(expected, abs=1e-7)


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 6), st.floats(-1e6, 1e6))
@settings(max_examples=40, deadline=None)
def test_a_batch_em_step_never_lowers_the_likelihood(seed: int, rank: int, dimension: int, offset: float) -> None:
    random = np.random.default_rng(seed)
    rows = offset + random.normal(size=(30, dimension)) * random.uniform(0.1, 3, dimension)
    model = PPCA.of(rows, rank)
    p = model.start(seed)
    before = model.log_likelihood(rows, p).mean()
    for _ in range(3):
        p = model.maximise(model.statistics(rows, p))
        after = model.log_likelihood(rows, p).mean()
        assert after >= before - 1e-9 * max(1, abs(before))
        assert 0 < p.noise < np.inf
        before = after


@given(st.integers(0, 10_000), st.floats(0.05, 0.7))
@settings(max_examples=25, deadline=None)
def test_so_with_missing_values(seed: int, share: float) -> None:
    random = np.random.default_rng(seed)
    rows = random.normal(size=(40, 5)) @ random.normal(size=(5, 5))
    rows[random.random(rows.shape) < share] = np.nan
    model = PPCA.of(rows, 2, missing=True)
    p = model.start(0)
    before = model.log_likelihood(rows, p).mean()
    for _ in range(5):
        p = model.maximise(model.statistics(rows, p))
        after = model.log_likelihood(rows, p).mean()
        assert after >= before - 1e-10
        before = after


def test_missing_and_complete_statistics_agree_on_complete_rows() -> None:
    from hutch.em.ppca import missing as ppca_missing

    p = parameters()
    rows = np.random.default_rng(1).normal(size=(9, 6))
    model = PPCA.of(rows, 2)
    square, cross, latent, shift, latent_mean = ppca_missing.moments(rows, p.mean, p.loadings, p.noise, model.origin)
    joined = np.concatenate([[square], cross.ravel(), latent.ravel(), shift, latent_mean])
    np.testing.assert_allclose(joined, model.statistics(rows, p), atol=1e-12)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.array([[1.0, np.nan]]), "nan at row 0, column 1 .* a missing value"),
        (np.array([[1.0, 2.0], [np.inf, 0.0]]), "inf at row 1, column 0"),
        (np.zeros((2, 3)), "got 3 features, wanted 2"),
        (np.zeros((2, 2, 2)), "shape"),
        ([["a", "b"]], "wanted an array of numbers"),
    ],
)
def test_bad_rows_are_refused_with_their_place(rows: object, message: str) -> None:
    model = PPCA.of(np.eye(2), 1)
    with pytest.raises(DataError, match=message):
        model.validate(rows)


def test_large_numbers_are_learned_and_what_would_overflow_is_refused() -> None:
    rows = 1e130 * np.random.default_rng(0).normal(size=(40, 2))
    for learner in (NaturalPPCA(rows, 1, block=1), OnlineEM(PPCA.of(rows, 1), PPCA.of(rows, 1).start(0))):
        learner.learn(rows)
        assert 0 < learner.parameters.noise < np.inf
    with pytest.raises(DataError, match=r"got 1e\+200 at row 1, column 0 .* below 1e\+140"):
        PPCA(2, 1, np.zeros(2), 1.0).validate([[1.0, 2.0], [1e200, 0.0]])


def test_rank_must_be_positive() -> None:
    with pytest.raises(ConfigError, match="rank"):
        PPCA.of(np.eye(3), 0)


@pytest.mark.parametrize("noise", [0.4, 9.0])
def test_the_pull_weighs_by_the_curvature_of_the_complete_likelihood(noise: float) -> None:
    """-E[∂² log p(x, z)] by finite differences, z ~ N(0, I), x | z from the anchor: blocks 1/s, E[zz']/s, d/(2 s²)."""
    h, p = 1e-4, parameters()
    anchor, dimension = PPCAParameters(p.mean, p.loadings, noise), p.mean.size

    def expected(mean: float = 0.0, loading: float = 0.0, more: float = 0.0) -> float:
        # One coordinate is moved; E|x - mean - Wz|² = d s + mean² + loading².
        moved = noise + more
        return -0.5 * (dimension * np.log(moved) + (dimension * noise + mean**2 + loading**2) / moved)

    inverse = [
        -(h**2) / (expected(**{n: h}) - 2 * expected() + expected(**{n: -h})) for n in ("mean", "loading", "more")
    ]
    model = PPCA(dimension, 2, np.zeros(dimension), 1.0)
    away = PPCAParameters(p.mean + 1.0, p.loadings + 1.0, noise + 1.0)
    pulled = model.pull(away, anchor, lambda f: f, "complete")
    moved = [(away.mean - pulled.mean)[0], (away.loadings - pulled.loadings)[0, 0], away.noise - pulled.noise]
    np.testing.assert_allclose(moved, inverse, rtol=1e-5)
    assert model.stiffness(anchor, "complete") == pytest.approx(max(inverse), rel=1e-5)


@pytest.mark.parametrize("metric", get_args(Metric))
def test_full_weight_pulls_to_the_anchor_and_none_leaves_all(metric: str) -> None:
    anchor, model = parameters(), PPCA(6, 2, np.zeros(6), 1.0)
    free = PPCAParameters(anchor.mean + 1, anchor.loadings + 0.1, 0.9)
    for share, wanted in ((0.0, free), (1.0, anchor)):
        pulled = model.pull(free, anchor, lambda f, share=share: share, metric)
        np.testing.assert_allclose(pulled.mean, wanted.mean, atol=1e-12)
        np.testing.assert_allclose(pulled.loadings, wanted.loadings, atol=1e-12)
        assert pulled.noise == pytest.approx(wanted.noise)
