"""The inverse Fisher blocks against dense matrices built from finite differences of the density."""

from itertools import product

import numpy as np
import pytest

from hutch.core.errors import ConfigError
from hutch.em.ppca.fisher import METRICS, inverse
from hutch.em.ppca.model import PPCA, PPCAParameters

D, Q = 5, 2
RANDOM = np.random.default_rng(0)
ANCHOR = PPCAParameters(RANDOM.normal(size=D), RANDOM.normal(size=(Q, D)), 0.4)


def covariance(loadings: np.ndarray, noise: float) -> np.ndarray:
    return loadings.T @ loadings + noise * np.eye(D)


def kl(mean: np.ndarray, loadings: np.ndarray, noise: float) -> float:
    """KL(anchor ‖ other); its second derivative at the anchor is the marginal Fisher information."""
    own, other = covariance(ANCHOR.loadings, ANCHOR.noise), covariance(loadings, noise)
    back, shift = np.linalg.inv(other), mean - ANCHOR.mean
    logs = np.linalg.slogdet(other)[1] - np.linalg.slogdet(own)[1]
    return 0.5 * (np.trace(back @ own) - D + shift @ back @ shift + logs)


def marginal_information(block: str) -> np.ndarray:
    """Central second differences of the divergence."""

    def at(vector: np.ndarray) -> float:
        mean, loadings, noise = ANCHOR.mean.copy(), ANCHOR.loadings.copy(), ANCHOR.noise
        if block == "mean":
            mean = mean + vector
        elif block == "loadings":
            loadings = loadings + vector.reshape(Q, D)
        else:
            noise = noise + vector[0]
        return kl(mean, loadings, noise)

    size, h = {"mean": D, "loadings": Q * D, "noise": 1}[block], 1e-4
    unit = h * np.eye(size)
    out = np.empty((size, size))
    for i, j in product(range(size), repeat=2):
        out[i, j] = at(unit[i] + unit[j]) - at(unit[i] - unit[j]) - at(unit[j] - unit[i]) + at(-unit[i] - unit[j])
    return out / (4 * h * h)


@pytest.mark.parametrize("block", ["mean", "loadings", "noise"])
def test_marginal_inverse_is_the_pseudo_inverse_of_the_information(block: str) -> None:
    information = marginal_information(block)
    dense = np.linalg.pinv(information, rcond=1e-5, hermitian=True)
    operator = inverse(ANCHOR.loadings, ANCHOR.noise, "marginal")
    change = np.random.default_rng(1).normal(size=len(information))

    def identity(value: np.ndarray) -> np.ndarray:
        return value

    if block == "mean":
        applied = operator.on_mean(change, identity)
    elif block == "loadings":
        applied = operator.on_loadings(change.reshape(Q, D), identity).ravel()
    else:
        applied = np.array([operator.on_noise(float(change[0]), identity)])
    np.testing.assert_allclose(applied, dense @ change, rtol=2e-4, atol=2e-5)


def test_stiffness_is_the_largest_eigenvalue_of_all_blocks() -> None:
    values = []
    for block in ("mean", "loadings", "noise"):
        values.append(np.linalg.eigvalsh(np.linalg.pinv(marginal_information(block), rcond=1e-5, hermitian=True))[-1])
    model = PPCA(D, Q, np.zeros(D), 1.0)
    assert model.stiffness(ANCHOR, "marginal") == pytest.approx(max(values), rel=1e-3)


def test_complete_information_is_the_curvature_of_the_complete_likelihood() -> None:
    """-E[∂² log p(x, z)] by finite differences, z ~ N(0, I), x | z from the anchor: blocks 1/s, E[zz']/s, d/(2 s²)."""
    h, s = 1e-4, ANCHOR.noise

    def expected(mean: float = 0.0, loading: float = 0.0, noise: float = 0.0) -> float:
        # One coordinate is moved; E|x - mean - Wz|² = d s + mean² + loading².
        moved = s + noise
        return -0.5 * (D * np.log(moved) + (D * s + mean**2 + loading**2) / moved)

    curvatures = [
        -(expected(**{n: h}) - 2 * expected() + expected(**{n: -h})) / h**2 for n in ("mean", "loading", "noise")
    ]
    operator = inverse(ANCHOR.loadings, s, "complete")
    one = np.ones(D)
    applied = [
        operator.on_mean(one, lambda f: f)[0],
        operator.on_loadings(np.ones((Q, D)), lambda f: f)[0, 0],
        operator.on_noise(1.0, lambda f: f),
    ]
    np.testing.assert_allclose(applied, 1 / np.array(curvatures), rtol=1e-5)
    assert operator.largest() == pytest.approx(max(s, 2 * s * s / D))


@pytest.mark.parametrize("metric", METRICS)
def test_full_weight_pulls_to_the_anchor_and_none_leaves_all(metric: str) -> None:
    model = PPCA(D, Q, np.zeros(D), 1.0)
    free = PPCAParameters(ANCHOR.mean + 1, ANCHOR.loadings + 0.1 * RANDOM.normal(size=(Q, D)), 0.9)
    same = model.pull(free, ANCHOR, lambda f: 0 * f, metric)
    np.testing.assert_array_equal(same.loadings, free.loadings)
    pulled = model.pull(free, ANCHOR, lambda f: f / f, metric)
    np.testing.assert_allclose(pulled.mean, ANCHOR.mean, atol=1e-12)
    assert pulled.noise == pytest.approx(ANCHOR.noise)
    if metric != "marginal":  # rotations of z carry no information, so the marginal form leaves them
        np.testing.assert_allclose(pulled.loadings, ANCHOR.loadings, atol=1e-12)


def test_unused_components_carry_no_direction() -> None:
    loadings = np.vstack([ANCHOR.loadings[:1], np.zeros((1, D))])
    out = inverse(loadings, 0.4, "marginal").on_loadings(np.ones((2, D)), lambda f: f / (1 + f))
    assert np.isfinite(out).all()
    assert not out[1].any()


def test_metrics_have_names() -> None:
    with pytest.raises(ConfigError, match="did you mean 'marginal'"):
        inverse(ANCHOR.loadings, 0.4, "marginall")
