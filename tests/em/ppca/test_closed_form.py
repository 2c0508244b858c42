import numpy as np
import pytest
from sklearn.decomposition import PCA

from hutch.em.ppca.model import PPCA, PPCAParameters, closed_form, log_likelihood


def rows_of(seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    return random.normal(size=(300, 3)) * [4, 3, 2] @ random.normal(size=(3, 8)) + random.normal(size=(300, 8))


def batch_em(rows: np.ndarray, model: PPCA, *, tolerance: float, iterations: int) -> PPCAParameters:
    """EM on all rows until the mean log-likelihood changes by less than the tolerance, in nats."""
    parameters, before = model.start(0), -np.inf
    for _ in range(iterations):
        parameters = model.maximise(model.statistics(rows, parameters))
        now = float(model.log_likelihood(rows, parameters).mean())
        if now - before < tolerance:
            break
        before = now
    return parameters


def test_closed_form_is_that_of_scikit_learn() -> None:
    rows = rows_of()
    ours = log_likelihood(rows, closed_form(rows, 3)).mean()
    reference = PCA(3).fit(rows)
    # scikit-learn divides by n - 1; the difference in mean likelihood is second order.
    assert ours == pytest.approx(reference.score(rows), abs=1e-4)
    assert ours >= reference.score(rows)


@pytest.mark.parametrize("rank", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_batch_em_reaches_the_closed_form(rank: int) -> None:
    rows = rows_of()
    model = PPCA.of(rows, rank)
    fitted = batch_em(rows, model, tolerance=-np.inf, iterations=3000)
    best = closed_form(rows, rank)
    assert log_likelihood(rows, fitted).mean() == pytest.approx(log_likelihood(rows, best).mean(), abs=1e-8)
    assert fitted.noise == pytest.approx(best.noise, abs=1e-8)
    np.testing.assert_allclose(fitted.loadings.T @ fitted.loadings, best.loadings.T @ best.loadings, atol=1e-7)


def test_missing_values_are_recovered_from_the_others() -> None:
    random = np.random.default_rng(1)
    rows = random.normal(size=(300, 2)) * 3 @ random.normal(size=(2, 8)) + random.normal(size=(300, 8))
    holes = rows.copy()
    holes[random.random(rows.shape) < 0.3] = np.nan
    model = PPCA.of(holes, 2, missing=True)
    fitted = batch_em(holes, model, tolerance=1e-5, iterations=10_000)
    best = log_likelihood(rows, closed_form(rows, 2)).mean()
    assert log_likelihood(rows, fitted).mean() > best - 0.05


@pytest.mark.parametrize("rank", [4, 9])
def test_rank_that_the_rows_cannot_determine_leaves_zeros(rank: int) -> None:
    fitted = closed_form(np.random.default_rng(0).normal(size=(50, 4)), rank)
    assert fitted.loadings.shape == (rank, 4)
    assert not fitted.loadings[3:].any()
    assert fitted.noise > 0
