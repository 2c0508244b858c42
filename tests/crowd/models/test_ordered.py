import numpy as np
import pytest

from hutch.crowd.models.ordered import ratings, scale, whole_numbers


@pytest.mark.parametrize(
    ("classes", "expected"),
    [(["1", "2", "3"], True), (["3", "2", "1"], False), (["0", "1"], False), (["a", "b", "c"], False)],
)
def test_whole_numbers_in_order_are_ordered(classes, expected):
    assert whole_numbers(classes) is expected


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        (["1", "2", "5"], [1, 2, 5]),
        (["-1.5", "0", "2.5"], [-1.5, 0, 2.5]),
        (["3", "1"], [1, 2]),
        (["bad", "good"], [1, 2]),
        (["1", "nan"], [1, 2]),
        ([], []),
    ],
)
def test_the_value_of_each_class(classes, expected):
    assert scale(classes).tolist() == expected


def test_the_median_has_the_least_absolute_and_the_mean_the_least_squared_error():
    random = np.random.default_rng(0)
    probability, values = random.dirichlet(np.ones(5), 200), np.array([1.0, 2.0, 3.0, 4.0, 7.0])
    found = ratings(probability, values)
    distance = np.abs(values[:, None] - values[None])
    best = (probability @ distance).argmin(axis=1)
    assert found.median == pytest.approx(values[best])
    assert found.mean == pytest.approx((probability * values).sum(axis=1))
    inside = (values >= found.low[:, None]) & (values <= found.high[:, None])
    assert (np.sum(probability * inside, axis=1) >= 0.95 - 1e-9).all()
    for row, low, high in zip(probability, found.low, found.high, strict=True):  # no narrower range holds as much
        ranges = [(values[b] - values[a], -row[a : b + 1].sum()) for a in range(5) for b in range(a, 5)]
        assert (high - low, -row[(values >= low) & (values <= high)].sum()) == pytest.approx(
            min(each for each in ranges if -each[1] >= 0.95 - 1e-9)
        )
