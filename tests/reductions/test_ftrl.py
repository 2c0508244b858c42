"""FTRL-Proximal, PiSTOL and coin betting: their formulas in float64."""

import math

import numpy as np
import pytest

from hutch import Chain


def _ftrl(sums, x, slope, alpha=0.5, beta=1.0, l1=0.01, l2=0.1):
    w, z, n = sums
    g = slope * x
    z, n = z + g - (math.sqrt(n + g * g) - math.sqrt(n)) / alpha * w, n + g * g
    if abs(z) <= l1:
        return [0.0, z, n]
    return [-math.copysign(abs(z) - l1, z) / (l2 + (beta + math.sqrt(n)) / alpha), z, n]


def test_ftrl_by_its_formula():
    chain = Chain.from_config({"chain": [{"ftrl_proximal": {"l1": 0.01, "l2": 0.1}}], "input": {"constant": False}})
    random = np.random.default_rng(2)
    X, y = random.normal(size=(40, 3)), random.normal(size=40)
    sums, low, high = [[0.0, 0.0, 0.0] for _ in range(3)], 0.0, 0.0
    for row, label in zip(X, y, strict=True):
        score = sum(s[0] * x for s, x in zip(sums, row, strict=True))
        [found] = chain.learn(row[None], np.array([label]))
        assert found == pytest.approx(np.clip(score, low, high), rel=1e-4, abs=1e-5)
        low, high = min(low, label), max(high, label)
        slope = 2 * (np.clip(score, low, high) - label)
        sums = [_ftrl(s, x, slope) for s, x in zip(sums, row, strict=True)]


def _rows_of_changing_size(seed, count=40):
    """Rows whose greatest values come early, and labels whose steepest slopes come late."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(count, 3)) * np.linspace(2, 0.3, count)[:, None]
    return X.astype(np.float32).astype(float), np.linspace(0.1, 3, count) * random.normal(size=count)


def _plain(**layer):
    return Chain.from_config({"chain": [layer], "input": {"constant": False}})


def test_pistol_by_its_formula():
    alpha, beta = 1.5, 0.7
    chain = _plain(pistol={"alpha": alpha, "beta": beta})
    z, total, most, low, high = np.zeros(3), np.zeros(3), np.zeros(3), 0.0, 0.0
    for row, label in zip(*_rows_of_changing_size(4), strict=True):
        most = np.maximum(most, abs(row))
        t = 1 / (alpha * most * (total + most))
        weights = beta * np.sqrt(total) * z * np.exp(z**2 * t / 2) * t
        low, high = min(low, label), max(high, label)
        wanted = np.clip(weights @ row, low, high)
        [found] = chain.learn(row[None], np.array([label]))
        assert found == pytest.approx(wanted, rel=1e-4, abs=1e-5)
        gradient = 2 * (wanted - label) * row
        z, total = z - gradient, total + abs(gradient)


def test_coin_betting_by_its_formula():
    alpha, beta = 2.0, 1.5
    chain = _plain(coin_betting={"alpha": alpha, "beta": beta})
    z, total, most, won, weights = (np.zeros(3) for _ in range(5))
    steepest = norms = low = high = 0.0
    for count, (row, label) in enumerate(zip(*_rows_of_changing_size(5), strict=True), 1):
        wanted = np.clip(weights @ row, low, high)
        [found] = chain.learn(row[None], np.array([label]))
        assert found == pytest.approx(wanted, rel=1e-4, abs=1e-5)
        low, high = min(low, label), max(high, label)
        most = np.maximum(most, abs(row))

        def bet(scale, total=total, won=won, z=z):
            return (alpha + won) * z / (scale * (scale + total)) if scale.all() else np.zeros(3)

        norms += np.sum((row / most) ** 2)
        mean = (norms + 1e-6) / count
        slope = 2 * (np.clip(bet(steepest * most) @ row / mean, low, high) - label)
        steepest = max(abs(slope), beta) if abs(slope) > steepest else steepest
        stake, gradient = bet(steepest * most), slope * row
        z, total, won, weights = z - gradient, total + abs(gradient), won - gradient * stake, stake / mean


@pytest.mark.parametrize("name", ["ftrl_proximal", "pistol", "coin_betting"])
def test_learns_a_line_whatever_the_scale(name):
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 2))
    y = X @ [2, -1]
    for scale in (1, 10) if name == "ftrl_proximal" else (0.01, 1, 100):
        errors = (Chain.from_config({"chain": [name]}).learn(X * scale, y) - y)[-300:]
        assert np.mean(errors**2) < 0.1
