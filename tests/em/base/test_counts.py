"""Count rows: anchors that count as labels, exact under lazy updates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hutch.core.errors import ConfigError, DataError
from hutch.em.base.counts import CountRows


def test_an_anchor_counts_for_at_most_five_labels() -> None:
    rows = CountRows(2, 3, prior=1e-9)
    for _ in range(100):
        rows.add(0, np.array([0.8, 0.1, 0.1]))
    for _ in range(3):
        rows.add(1, np.array([0.0, 1.0, 0.0]))
    rows.boundary()
    np.testing.assert_allclose(rows.probabilities()[0], [0.8, 0.1, 0.1], atol=1e-6)
    for row in (0, 1):
        rows.add(row, np.array([0.0, 0.0, 1.0]))
    # Row 0 had 100 labels, min(100, 5) = 5 of them count; row 1 had 3, and all do.
    np.testing.assert_allclose(rows.probabilities()[0], [4 / 6, 0.5 / 6, 1.5 / 6], atol=1e-6)
    np.testing.assert_allclose(rows.probabilities()[1], [0, 3 / 4, 1 / 4], atol=1e-6)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), max_size=60), st.floats(0, 20))
@settings(max_examples=50, deadline=None)
def test_lazy_rows_are_exact(events: list[tuple[int, int]], cap: float) -> None:
    """Copy-on-write against the eager form that copies every row at every boundary; row 3 stands for a boundary."""
    lazy = CountRows(3, 2, cap=cap)
    counts, anchors = np.zeros((3, 2)), np.zeros((3, 2))
    for row, label in events:
        if row == 3:
            lazy.boundary()
            evidence = counts + anchors
            labels = np.maximum(evidence.sum(axis=1, keepdims=True), 1e-300)
            anchors, counts = evidence * np.minimum(1, cap / labels), np.zeros((3, 2))
        else:
            lazy.add(row, np.eye(2)[label])
            counts[row, label] += 1
    total = counts + anchors + 1.0
    np.testing.assert_allclose(lazy.probabilities(), total / total.sum(axis=1, keepdims=True), atol=1e-9)


def test_two_boundaries_without_labels_are_one() -> None:
    once, twice = CountRows(1, 2), CountRows(1, 2)
    for rows, boundaries in ((once, 1), (twice, 3)):
        for _ in range(30):
            rows.add(0, np.array([1.0, 0.0]))
        for _ in range(boundaries):
            rows.boundary()
        rows.add(0, np.array([0.0, 1.0]))
    np.testing.assert_allclose(once.probabilities(), twice.probabilities())


def test_a_changed_worker_is_believed_sooner_than_by_counting_all() -> None:
    random = np.random.default_rng(0)
    losses = []
    for cap in (5.0, np.inf):
        rows, loss = CountRows(1, 3, cap=cap), 0.0
        for skills in ([0.9, 0.05, 0.05], [0.1, 0.1, 0.8]):
            for _ in range(200):
                label = random.choice(3, p=skills)
                loss -= np.log(rows.probabilities()[0, label])
                rows.add(0, np.eye(3)[label])
            rows.boundary()
        losses.append(loss)
    assert losses[0] < losses[1] - 20


def test_state_comes_back() -> None:
    rows, again = CountRows(2, 2), CountRows(2, 2)
    rows.add(0, np.array([1.0, 0.0]))
    rows.boundary()
    rows.add(1, np.array([0.5, 0.5]))
    again.restore(rows.state())
    for each in (rows, again):
        each.add(0, np.array([0.0, 1.0]))
    np.testing.assert_array_equal(rows.probabilities(), again.probabilities())


@pytest.mark.parametrize(
    ("options", "message"),
    [({"rows": 0}, "rows"), ({"outcomes": 1}, "outcomes"), ({"prior": 0.0}, "prior"), ({"cap": -1.0}, "cap")],
)
def test_wrong_settings_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        CountRows(**{"rows": 2, "outcomes": 2} | options)


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [np.nan, 0.0]])
def test_what_is_no_count_is_refused(weights: list[float]) -> None:
    with pytest.raises(DataError, match="weights"):
        CountRows(1, 2).add(0, np.array(weights))
