"""Chances grow with a size and never reach 0."""

import numpy as np
import pytest

from hutch.sampling.chances import chances_of, weights_of


@pytest.mark.parametrize("count", [1, 5, 12, 19, 20, 30])
def test_chances_add_up_and_are_at_most_one(count):
    size = np.random.default_rng(0).gamma(0.3, size=20) + 1e-6
    found = chances_of(size, count, 0.1)
    assert found.sum() == pytest.approx(min(count, 20))
    assert (found > 0).all() and (found <= 1).all()
    free = found < 1
    wanted = 0.9 * size / size.sum() + 0.1 / 20
    if free.sum() > 1:
        np.testing.assert_allclose(found[free] / wanted[free], (found[free] / wanted[free])[0])


def test_weights_are_a_mixture_whose_even_part_keeps_every_item_possible():
    p = np.array([0.0, 0.04, 0.16])
    np.testing.assert_allclose(weights_of(p, 0.6), 0.6 * np.array([0, 1, 2]) + 0.4)
    np.testing.assert_allclose(weights_of(p + 0.1, 0.0), 1)
