import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hutch.core.errors import ConfigError
from hutch.em.base.model import Array
from hutch.em.constrained.natural import NaturalPPCA
from hutch.em.constrained.natural_class import ClassPPCA


def classes(lengths: tuple[int, ...] = (60, 60), dimension: int = 5) -> list[Array]:
    random = np.random.default_rng(0)
    return [4 * random.normal(size=dimension) + random.normal(size=(length, dimension)) for length in lengths]


def learned(parts: list[Array], rank: int = 2, **options: object) -> ClassPPCA:
    learner = ClassPPCA(np.concatenate(parts)[:40], rank, **options)
    for number, part in enumerate(parts):
        if number:
            learner.boundary()
        learner.learn(part)
    return learner


@pytest.mark.parametrize("block", [1, 256])
def test_all_samples_count_alike_by_default(block: int) -> None:
    parts = classes((50, 150))
    rows = np.concatenate(parts)
    learner = learned(parts, rank=4, block=block)
    # Each sketch began with one pseudo-sample, so the match is close, not exact.
    np.testing.assert_allclose(learner.parameters.mean, rows.mean(axis=0), atol=0.1)
    np.testing.assert_allclose(np.diag(np.cov(rows.T)), np.diag(covariance(learner)), rtol=0.1)


def covariance(learner: ClassPPCA) -> Array:
    p = learner.parameters
    return p.loadings.T @ p.loadings + p.noise * np.eye(len(p.mean))


def test_balanced_weights_count_classes_alike() -> None:
    parts = classes((1000, 100, 100))
    centre = np.mean([part.mean(axis=0) for part in parts], axis=0)
    by_class, by_sample = learned(parts, balanced=True), learned(parts)
    assert np.abs(by_class.parameters.mean - centre).max() < 0.3
    assert np.abs(by_sample.parameters.mean - centre).max() > 0.6


def test_plasticity_moves_the_report_and_not_the_memory() -> None:
    parts = classes()
    plastic, even = learned(parts, past=0.05), learned(parts)
    new = parts[1]
    assert plastic.log_likelihood(new).mean() > even.log_likelihood(new).mean() + 0.5
    plastic.boundary()
    even.boundary()
    for name, value in even.state().items():
        np.testing.assert_array_equal(plastic.state()[name], value)


def test_one_class_is_the_step_form() -> None:
    rows = classes((100,))[0]
    by_class, by_step = ClassPPCA(rows[:20], 2, block=1), NaturalPPCA(rows[:20], 2, block=1)
    by_class.learn(rows)
    by_step.learn(rows)
    np.testing.assert_allclose(by_class.parameters.loadings, by_step.parameters.loadings, atol=1e-9)


def test_a_boundary_changes_no_estimate_and_an_empty_class_is_none() -> None:
    learner = learned(classes())
    before = learner.parameters
    learner.boundary()
    learner.boundary()
    np.testing.assert_allclose(learner.parameters.loadings, before.loadings, atol=1e-12)
    assert (learner.classes, learner.samples) == (2, 120)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=4), st.integers(0, 60), st.booleans())
@settings(max_examples=25, deadline=None)
def test_learning_goes_on_bit_for_bit(lengths: list[int], cut: int, balanced: bool) -> None:
    parts = classes(tuple(lengths))
    rows = np.concatenate(parts)
    ends = set(np.cumsum(lengths).tolist())

    def fresh() -> ClassPPCA:
        return ClassPPCA(rows[:10], 2, block=1, balanced=balanced)

    whole, split = fresh(), fresh()
    for i, row in enumerate(rows):
        if i == cut:
            again = fresh()
            again.restore(split.state())
            split = again
        for learner in (whole, split):
            learner.learn(row)
            if i + 1 in ends:
                learner.boundary()
    for name, value in whole.state().items():
        np.testing.assert_array_equal(split.state()[name], value)
    assert 0 < whole.parameters.noise < np.inf


@pytest.mark.parametrize("bad", [{"rank": 0}, {"block": 0}, {"past": 0.0}, {"past": np.inf}])
def test_numbers_out_of_range_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(bad))):
        ClassPPCA(np.eye(3), **{"rank": 1} | bad)
