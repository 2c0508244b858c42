"""The exact natural step for one row after another, compiled."""

import numpy as np

from hutch.core.kernel_cache import compiled


@compiled
def absorb_rows(rows, mean, loadings, noise, floor, old):  # type: ignore[no-untyped-def]
    """Each row in turn is the whole block of `hutch.em.natural.Sketch.absorb`; the sketch changes in place.

    Args:
        rows: float64 (n, d).
        mean: float64 (d).
        loadings: float64 (q, d), rows orthogonal.
        noise: float64 (1).
        floor: least noise, > 0.
        old: float64 (n), > 0: how many samples the sketch stands for when row i comes.
    """
    rank, dimension = loadings.shape
    kept = min(rank, dimension - 1)
    # Two buffers take turns: the kept axes and, below them, the row that comes.
    here, there = np.empty((kept + 1, dimension)), np.empty((kept + 1, dimension))
    here[:kept] = loadings[:kept]
    turn = np.empty((kept, kept + 1))
    for i in range(len(rows)):
        weight, total = old[i], old[i] + 1.0
        for t in range(dimension):
            centred = rows[i, t] - mean[t]
            mean[t] += centred / total
            here[kept, t] = centred
        gram = np.dot(here, here.T)
        across = np.sqrt(weight / total)
        for j in range(kept):
            for m in range(kept):
                gram[j, m] *= weight
            gram[j, kept] *= across * np.sqrt(weight)
            gram[kept, j] = gram[j, kept]
        gram[kept, kept] *= across * across
        energy, vectors = np.linalg.eigh(gram)
        # The smallest of the kept + 1 eigenvalues is all that the kept axes leave out.
        rest = max(energy[0], 0.0) / (dimension - kept)
        noise[0] = max((weight * noise[0] + rest) / total, floor)
        for j in range(kept):
            value = energy[kept - j]
            scale = np.sqrt(max(value - rest, 0.0) / (total * value)) if value > 0 else 0.0
            if vectors[j, kept - j] < 0:  # an axis keeps its direction
                scale = -scale
            for m in range(kept):
                turn[j, m] = scale * np.sqrt(weight) * vectors[m, kept - j]
            turn[j, kept] = scale * across * vectors[kept, kept - j]
        np.dot(turn, here, there[:kept])
        here, there = there, here
    loadings[:kept] = here[:kept]
