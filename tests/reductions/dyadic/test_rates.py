"""Estimates of posterior rates at the end of a pass, against their formula, and their benefit."""

import numpy as np
import pytest

from hutch import Chain
from hutch.core.text.parser import TextParser
from hutch.reductions.dyadic.rates import COUNT_BEFORE, KIND, LEFT, OTHER, RIGHT
from hutch.reductions.dyadic.state import WEIGHT


def ratings(effect, n=4000):
    """Lines with users, items and weeks; `effect` is the deviation of what an item's week adds."""
    random = np.random.default_rng(4)
    users, items, weeks = (random.integers(0, size, n) for size in (100, 20, 6))
    of_users, of_items = random.normal(0, 0.5, 100), random.normal(0, 0.5, 20)
    of_weeks = random.normal(0, 1, (20, 6)) * effect
    labels = of_users[users] + of_items[items] + of_weeks[items, weeks] + random.normal(0, 0.5, n)
    rows = zip(labels, users, items, weeks, strict=True)
    return [f"{y:.3f} |user {u} |item {i} |week {w}\n".encode() for y, u, i, w in rows]


def learned_from(lines, passes=8, **given):
    dyadic = {"left": "user", "right": "item", "rank": 2, **given}
    engine = Chain.from_config({"weights": {"bits": 14}, "chain": [{"dyadic": dyadic}]})
    batch = TextParser(engine.parser).parse(b"".join(lines))
    for _ in range(passes):
        engine.run_batch(batch)
        engine.end_pass()
    return engine


def test_precisions_are_re_estimated_for_every_part_of_the_model():
    engine = learned_from(ratings(0.5), passes=3, interactions=[["item", "week"]])
    engine.run_batch(TextParser(engine.parser).parse(b"".join(ratings(0.5))))
    before = engine.layers[0].learned[0].copy()
    engine.end_pass()
    after = engine.layers[0].learned[0]
    rows = engine.weights[engine.weights[:, KIND] != 0].astype(float)
    for name, kind in (("left", LEFT), ("right", RIGHT), ("other", OTHER)):
        own = rows[rows[:, KIND] == kind]
        variance = 1 / (before[f"{name}_precision"] + own[:, COUNT_BEFORE] / before["noise"])
        wanted = 1 / np.mean(own[:, WEIGHT] ** 2 + variance)
        assert after[f"{name}_precision"] == pytest.approx(wanted, rel=1e-6)
    assert len(rows) == 100 + 20 + 6 + 20 * 6 + 1  # users, items, weeks, items' weeks, the constant


def test_weeks_that_say_nothing_are_drawn_to_zero_and_others_are_not():
    precisions = {}
    for effect in (0.0, 0.7):
        engine = learned_from(ratings(effect), interactions=[["item", "week"]])
        precisions[effect] = float(engine.layers[0].learned["other_precision"][0])
    assert precisions[0.0] > 40 and precisions[0.7] < 10


@pytest.mark.parametrize(("effect", "least", "most"), [(0.0, 0.98, 1.015), (0.7, 0.0, 0.8)])
def test_a_bias_of_each_week_helps_where_items_drift_and_does_little_harm_elsewhere(effect, least, most):
    lines = ratings(effect)
    errors = []
    for given in ({}, {"interactions": [["item", "week"]]}):
        engine = learned_from(lines[:3000], **given)
        kept = TextParser(engine.parser).parse(b"".join(lines[3000:]))
        errors.append(np.sqrt(np.mean((engine.run_batch(kept, learn=False)[0].predictions - kept.labels) ** 2)))
    assert least < errors[1] / errors[0] < most
