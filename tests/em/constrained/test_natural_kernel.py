"""The compiled exact step: its eigenvalues against LAPACK, its steps and merges against the sketches', its rotation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hutch.core.kernel.cache import compiled
from hutch.em.base.symmetric_eigen import symmetric_eigen
from hutch.em.constrained.alignment import align, alignment_size
from hutch.em.constrained.natural import Sketch, merged
from hutch.em.constrained.natural_kernel import absorb, merge, workspace_size


@compiled
def eigen(matrix, values, vectors, scratch):
    symmetric_eigen(matrix, values, vectors, scratch)


@compiled
def step(rows, mean, loadings, noise, floor, old, workspace):
    absorb(rows, mean, loadings, noise, floor, old, workspace)


@compiled
def join(past, past_weight, current, current_weight, out, floor, workspace):
    merge(past, past_weight, current, current_weight, out, floor, workspace)


@compiled
def turn_to(loadings, noise, turn, shown, workspace):
    align(loadings, noise, turn, shown, workspace)


def decomposed(matrix):
    n = len(matrix)
    values, vectors = np.zeros(n), np.zeros((n, n))
    eigen(matrix.copy(), values, vectors, np.zeros((2, n)))
    return values, vectors


def assert_decomposed(matrix):
    values, vectors = decomposed(matrix)
    scale = max(float(np.abs(matrix).max()), np.finfo(float).tiny)
    np.testing.assert_allclose(values / scale, np.linalg.eigvalsh(matrix / scale), atol=1e-14 * len(matrix) ** 1.5)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(len(matrix)), atol=1e-13 * len(matrix))
    np.testing.assert_allclose(vectors.T * (values / scale) @ vectors, matrix / scale, atol=1e-13 * len(matrix))


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 25), st.integers(1, 30), st.integers(0, 1000), st.sampled_from([1e-150, 1e-8, 1.0, 1e120]))
def test_eigenvalues_are_those_of_lapack(size, rank, seed, scale):
    factor = np.random.default_rng(seed).normal(size=(size, rank)) * scale
    assert_decomposed(factor @ factor.T)


@pytest.mark.parametrize(
    "matrix",
    [
        np.zeros((4, 4)),
        np.eye(5),
        np.diag([3.0, 0.0, -2.0, 1e-30]),
        np.ones((6, 6)),
        np.diag(np.logspace(-12, 12, 9)),
        np.array([[0.0, 1.0], [1.0, 0.0]]),
    ],
)
def test_special_matrices_are_decomposed(matrix):
    assert_decomposed(matrix)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 90), st.integers(1, 6), st.integers(1, 12), st.floats(0.5, 1e4), st.integers(0, 1000))
@pytest.mark.slow
def test_a_step_is_the_sketchs(dimension, rank, block, old, seed):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(rank + 2 * block, dimension)) * np.linspace(3, 1, dimension) + 5
    sketch = Sketch.of(rows[: rank + 1], rank)
    mean, loadings, noise = sketch.mean.copy(), sketch.loadings.copy(), sketch.noise.copy()
    room = np.empty(workspace_size(rank + block, dimension))
    for first in (0, block):
        part = np.ascontiguousarray(rows[first : first + block])
        sketch.absorb(part, old)
        step(part, mean, loadings, noise, sketch.floor, old, room)
        np.testing.assert_allclose(mean, sketch.mean, rtol=1e-10)
        np.testing.assert_allclose(noise, sketch.noise, rtol=1e-9)
        cross = sketch.loadings.T @ sketch.loadings
        np.testing.assert_allclose(loadings.T @ loadings, cross, atol=1e-10 * max(1.0, np.abs(cross).max()))


def test_the_noise_does_not_fall_below_its_floor():
    random = np.random.default_rng(2)
    rows = random.normal(size=(60, 2)) @ random.normal(size=(2, 9)) + 3.0  # two axes hold all of it
    sketch = Sketch.of(rows[:3], 2)
    sketch.floor, sketch.noise[0] = 0.05, 0.1
    mean, loadings, noise = sketch.mean.copy(), sketch.loadings.copy(), sketch.noise.copy()
    for first in range(3, 60, 3):
        part = np.ascontiguousarray(rows[first : first + 3])
        sketch.absorb(part, 10.0)
        step(part, mean, loadings, noise, sketch.floor, 10.0, np.empty(workspace_size(5, 9)))
    assert noise[0] == sketch.noise[0] == 0.05
    np.testing.assert_allclose(loadings.T @ loadings, sketch.loadings.T @ sketch.loadings, atol=1e-9)


@pytest.mark.parametrize("weights", [(80.0, 100.0), (1.0, 0.0), (0.0, 1.0), (0.3, 1.0)])
def test_merging_is_the_sketchs(weights):
    random = np.random.default_rng(1)
    past, current = (Sketch.of(random.normal(size=(30, 12)) + k, 3) for k in (0, 2))
    for sketch in (past, current):
        sketch.absorb(random.normal(size=(50, 12)) * np.linspace(4, 1, 12), 1.0)
    wanted = merged(past, current, *weights)
    out = np.zeros(12), np.zeros((3, 12)), np.zeros(2)
    sketches = [(s.mean, s.loadings, s.noise) for s in (past, current)]
    join(sketches[0], weights[0], sketches[1], weights[1], out, past.floor, np.empty(workspace_size(7, 12)))
    np.testing.assert_allclose(out[0], wanted.mean, atol=1e-12)
    np.testing.assert_allclose(out[1].T @ out[1], wanted.loadings.T @ wanted.loadings, atol=1e-11)
    np.testing.assert_allclose(out[2][0], wanted.noise[0], rtol=1e-12)


@pytest.mark.slow
def test_latent_features_keep_their_meaning_when_axes_change_places():
    axes = np.linalg.qr(np.random.default_rng(0).normal(size=(8, 3)))[0].T
    loadings, room = np.array([[3.0], [2.0], [1.0]]) * axes, np.empty(alignment_size(3))
    turn, shown = np.eye(3), np.zeros((3, 8))
    turn_to(loadings, 0.1, turn, shown, room)
    np.testing.assert_allclose(turn, np.eye(3), atol=1e-12)
    before = shown.copy()
    swapped = np.ascontiguousarray(loadings[[1, 0, 2]] * [[1], [-1], [1]])
    turn_to(swapped, 0.1, turn, shown, room)
    np.testing.assert_allclose(shown, before, atol=1e-3)
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-12)


def test_a_rotation_without_reason_stays():
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    kept, shown = turn.copy(), np.zeros((3, 8))
    loadings = np.zeros((3, 8))
    turn_to(loadings, 1.0, turn, shown, np.empty(alignment_size(3)))
    np.testing.assert_allclose(turn, kept, atol=1e-12)
    np.testing.assert_array_equal(shown, 0.0)
