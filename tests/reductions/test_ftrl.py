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


class _FreeGrad:
    """The rows of one feature, in float64."""

    def __init__(self, wealth, steepest, restart):
        self.wealth, self.steepest, self.restart = wealth, steepest, restart
        self.total = self.squares = self.first = self.greatest = self.shares = 0.0

    @property
    def weight(self):
        if not self.first:
            return 0.0
        total, v, h, most = self.total, self.squares, self.first, self.greatest
        reach = v + most * abs(total)
        factor = total * h**2 * (2 * v + most * abs(total)) / (2 * reach**2 * math.sqrt(v))
        return -self.wealth * factor * math.exp(total**2 / (2 * reach))

    def learn(self, g, importance):
        size, before = abs(g), self.greatest
        clipped = g
        if not self.first:
            self.first = self.greatest = self.steepest or size
            self.squares += importance * size**2
        elif size > self.greatest:
            clipped, self.greatest = g * self.greatest / size, size
        rest = g if importance > 1 else clipped
        total, squares = clipped + (importance - 1) * rest, clipped**2 + (importance - 1) * rest**2
        if self.restart and self.greatest / self.first > self.shares + 2:
            self.first, self.total, self.squares = self.greatest, total, squares
        else:
            self.total, self.squares = self.total + total, self.squares + squares
        if before:
            self.shares += abs(clipped) / before + (importance - 1) * abs(rest) / self.greatest
        return clipped


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"wealth": 0.3, "steepest": 2.0},
        {"restart": True},
        {"project": True, "radius": 0.2},
        {"project": True, "wealth": 0.1},
    ],
    ids=str,
)
def test_freegrad_by_its_formula(parameters):
    chain = _plain(freegrad=parameters)
    wealth, radius = parameters.get("wealth", 1.0), parameters.get("radius")
    sums = [_FreeGrad(wealth, parameters.get("steepest", 0.0), parameters.get("restart", False)) for _ in range(3)]
    low = high = longest = 0.0
    lengths, out = 1.0, 0
    X, noise = _rows_of_changing_size(6, 80)
    for number, (row, label) in enumerate(zip(X, X @ [3, -2, 1] + noise / 9, strict=True)):
        importance = (1.0, 0.5, 3.0)[number % 3]
        weights = np.array([each.weight for each in sums])
        low, high, length = min(low, label), max(high, label), np.linalg.norm(weights)
        ball = radius or wealth * math.sqrt(lengths)
        outside = parameters.get("project", False) and length > ball
        wanted = np.clip(weights @ row * (ball / length if outside else 1), low, high)
        record = {"label": label, "importance": importance, "": dict(zip("xyz", row.tolist(), strict=True))}
        [found] = chain.learn([record])
        assert found == pytest.approx(wanted, rel=1e-4, abs=1e-5)
        gradient = 2 * (wanted - label) * row
        if outside and gradient @ weights < 0:
            out += 1
            gradient = gradient - gradient @ weights * weights / length**2
        norm = np.linalg.norm([each.learn(g, importance) for each, g in zip(sums, gradient, strict=True)])
        longest = max(longest, norm)
        lengths += importance * norm / longest
    assert out > 0 or "project" not in parameters


def test_freegrad_predicts_with_the_newest_weights():
    """What is predicted without learning is what is predicted before learning."""
    X, y = _rows_of_changing_size(7)
    chain = _plain(freegrad={"project": True})
    chain.learn(X, y)
    [predicted] = chain.predict(X[:1])
    [learned] = chain.learn(X[:1], y[:1])
    assert predicted == learned


@pytest.mark.parametrize("name", ["ftrl_proximal", "pistol", "coin_betting", "freegrad"])
def test_learns_a_line_whatever_the_scale(name):
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 2))
    y = X @ [2, -1]
    for scale in (1, 10) if name == "ftrl_proximal" else (0.01, 1, 100):
        errors = (Chain.from_config({"chain": [name]}).learn(X * scale, y) - y)[-300:]
        assert np.mean(errors**2) < 0.1
