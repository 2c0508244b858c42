"""Random Fourier features: curves for linear learners, in one pass.

From the features x of a namespace, of which the first row learned has n, and for r = 1 … D / 2

    a_r = Σ_j ω_jr x_j / ℓ_r        √(2 s n / D) cos a_r        √(2 s n / D) sin a_r

with ω_jr normal, from a hash of feature, r and seed, so that columns may be missing, words, or come later; ℓ_r is
`length` · √(2 n), about the distance of two standardised rows, for every other r, and half of it for the others. The
new features of a row have the squared length s n, where n standardised columns have about n.

Source: A. Rahimi, B. Recht, "Random features for large-scale kernel machines", 2007.
"""

import math
from collections.abc import Mapping
from functools import cache
from statistics import NormalDist
from typing import Annotated, ClassVar

import numpy as np
from numpy import int64, uint64
from numpy.typing import NDArray

from hutch.core.chain.declarations import Inputs
from hutch.core.chain.limits import Limits
from hutch.core.chain.reduction import Context, Kernels, Reduction
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    float64s_at,
    int64s_at,
    kernel,
    learn_next,
    shared_of,
    state_of,
    uint32s_at,
)
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.random import GOLDEN, mixed
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import show, shown_by
from hutch.core.learner.memory import Buffer, append
from hutch.core.parameters import Parameters, Within
from hutch.core.text.hashing import hash_namespace, namespace_id

_NORMAL = 4096


@cache
def _quantiles() -> NDArray[np.float64]:
    """Of the normal distribution: one per equal share of it."""
    return np.array([NormalDist().inv_cdf((k + 0.5) / _NORMAL) for k in range(_NORMAL)])


class RandomFeaturesParameters(Parameters):
    """Parameters of `random_features`.

    Attributes:
        namespace: whose features are read, and which gets the new ones, too.
        count: of new features; 0: the layer does nothing, as in a copy of `hedge`.
        length: over which the prediction may bend, in distances of standardised rows.
        scale: squared length of the new features, in that of the features they are made of.
    """

    namespace: str = "x"
    count: Annotated[int, Within(ge=0, le=1 << 16)] = 256
    length: Annotated[float, Within(gt=0)] = 1.0
    scale: Annotated[float, Within(gt=0)] = 3.2


RANDOM_FEATURES = np.dtype(
    [
        ("namespace", "u4"),
        ("first", "u4"),  # index of the first new feature
        ("pairs", "i8"),
        ("length", "f8"),
        ("scale", "f8"),
        ("seed", "u8"),
        ("normal", "u8"),  # address of float64[4096]: quantiles
        ("present", "u8"),  # address of float64[1]: features of the first row learned; 0: not known yet
        ("angles", "u8"),  # address of float64[pairs]
        ("built", "u8"),  # BUFFER of starts int64, ids uint32, indices uint32, values float32
    ]
)
own = state_of(RANDOM_FEATURES)


@helper
def _turn(s, e, angles):
    """Write the angles before any scaling by length; returns the number of features."""
    starts, ids = int64s_at(e.namespaces, e.namespace_count + uint64(1)), uint32s_at(e.namespace_ids, e.namespace_count)
    indices, values = uint32s_at(e.indices, e.length), float32s_at(e.values, e.length)
    normal, found = float64s_at(s.normal, uint64(_NORMAL)), 0
    angles[:] = 0.0
    for j in range(e.namespace_count):
        for i in range(starts[j] - starts[0], starts[j + 1] - starts[0]):
            if ids[j] == s.namespace:
                found += 1
                x, state = np.float64(values[i]), mixed(s.seed + uint64(indices[i]))
                for r in range(len(angles) if x != 0.0 else 0):
                    state += GOLDEN
                    angles[r] += x * normal[int64(mixed(state) % uint64(_NORMAL))]
    return found


@helper
def _rewrite(layer, example, store):
    """Show the new features behind the example's own; `store`: and record the number of features of the first row."""
    s, e = own(layer), example_of(example)
    if s.pairs == 0:
        return
    pairs, angles, present = s.pairs, float64s_at(s.angles, uint64(s.pairs)), float64s_at(s.present, uint64(1))
    met = _turn(s, e, angles)
    indices, values = append(s.built, e, s.namespace, uint64(2 * pairs))
    n = present[0] if present[0] > 0.0 else max(np.float64(met), 1.0)
    if store and len(indices) > 0:
        present[0] = n
    size, mask = math.sqrt(s.scale * n / pairs), shared_of(e.shared).mask
    for place in range(len(indices)):
        r = place // 2
        angle = angles[r] / (s.length * math.sqrt(2.0 * n) * (0.5 if r % 2 == 1 else 1.0))
        indices[place] = np.uint32((uint64(s.first) + uint64(place)) & mask)
        values[place] = size * (math.cos(angle) if place % 2 == 0 else math.sin(angle))


@kernel
def rewrite(layer, example, label, importance, offset):
    """Make the example show the new features, too."""
    _rewrite(layer, example, False)
    return np.float32(0)


@kernel
def learn(layer, example, label, importance, offset):
    """Learn from the new features, too."""
    e = example_of(example)
    read, taught = shown_by(e), label != UNLABELED and importance > np.float32(0)
    _rewrite(layer, example, taught and shared_of(e.shared).testing == uint64(0))
    prediction = learn_next(layer, example, label, importance, offset)
    show(e, read)
    return prediction


class RandomFeatures(Reduction):
    """Gives linear learners below random waves over a namespace of numbers, so that they learn curves."""

    name: ClassVar[str] = "random_features"
    Parameters: ClassVar[type[Parameters]] = RandomFeaturesParameters
    kernels = Kernels.rewriting(rewrite, learn)
    keeps: ClassVar[Mapping[str, Limits]] = {"present": Limits(0, 1 << 32)}

    def __init__(self, parameters: RandomFeaturesParameters, context: Context) -> None:
        super().__init__(parameters, context)
        p, parser = parameters, context.parser
        self.inputs = Inputs(namespaces=(p.namespace,))
        self.state = Record(
            RANDOM_FEATURES,
            namespace=namespace_id(p.namespace, parser.namespaces),
            first=hash_namespace("random features", parser.hash_seed, parser.hash) & ((1 << context.bits) - 1),
            pairs=p.count // 2,
            length=p.length,
            scale=p.scale,
            seed=context.seed,
            normal=_quantiles(),
            present=np.zeros(1),
            angles=np.zeros(max(p.count // 2, 1)),
            built=Buffer(),
        )
