"""What the kernels of `bayesian_linear` see: its record, those of the covariances, and the row of an example.

A sub-model has a mean for each dimension and one for the constant. The covariance of these belongs to the sub-model or
to all of them; what the example learned last has added to its precision waits in the record, so that sub-models that
learn from one row change the covariance once, and by the mean of what each would.
"""

import numpy as np
from numpy import int64, uint64

from hutch.core.batch import CONSTANT_NAMESPACE
from hutch.core.kernel.abi import float32s_at, float64s_at, int64s_at, record_of, shared_of, state_of, uint32s_at
from hutch.core.kernel.decorators import helper, inlined
from hutch.reductions.linear.dense_row import read_dense

BAYESIAN = np.dtype(
    [
        ("loss", "u8"),  # address of the LOSS record
        ("namespace", "u8"),  # id of the dense namespace
        ("first", "u8"),  # index of the feature that is dimension 0
        ("hashed", "i8"),
        ("dimension", "i8"),
        ("size", "i8"),  # dimension + 1: the constant comes last
        ("rank", "i8"),  # of the low-rank part
        ("means", "u8"),  # address of float64[submodels, size]
        ("shared", "u8"),  # 1: all sub-models have one covariance
        ("groups", "u8"),  # address of GROUP[covariances]
        ("matrices", "u8"),  # address of float64[covariances, matrix_size]; see `full` and `low_rank`
        ("matrix_size", "u8"),
        ("rows", "u8"),  # address of float64[covariances, size]: the row learned last
        ("directions", "u8"),  # the same: the covariance times that row
        ("row", "u8"),  # address of float64[size]: the present example's
        ("probe_rows", "u8"),  # as rows and directions: those that h_min was asked about last
        ("probe_directions", "u8"),
        ("workspace", "u8"),  # address of float64[workspace_size]
        ("workspace_size", "u8"),
        ("prior_variance", "f8"),  # of a mean; 0: `reach` divided by |x|² of the first row, zeros in it counted as 1
        ("reach", "f8"),
        ("constant_variance", "f8"),
        ("sparse_variance", "f8"),
        ("forgetting", "f8"),
    ]
)
GROUP = np.dtype(
    [
        ("variance", "f8"),  # of each mean before anything is learned; 0: not known yet
        ("spread", "f8"),  # x'Sx of the row learned last
        ("added", "f8"),  # sum over sub-models of the precision that the label added along the row
        ("learners", "i8"),  # how many these are
        ("last", "i8"),  # 1 + the sub-model that learned last from the row; 0: none
        ("probed", "i8"),  # 1: the probe holds for the covariance as it stands
        ("probe_spread", "f8"),
    ]
)
bayesian_of, group_of = state_of(BAYESIAN), record_of(GROUP)
_GROUP_SIZE = np.uint64(GROUP.itemsize)
LEARNED = ("variance", "spread", "added", "learners", "last")
"""The fields of a GROUP that belong in a model."""


@inlined
def covariance_of(s, offset):
    """The number of the covariance of a sub-model."""
    return uint64(0) if s.shared == uint64(1) else uint64(offset)


@inlined
def group_at(s, number):
    """The record of a covariance."""
    return group_of(s.groups + number * _GROUP_SIZE)


@inlined
def vector_at(s, address, number):
    """Row `number` of a float64 array with `size` columns."""
    size = uint64(s.size)
    return float64s_at(address + uint64(8) * number * size, size)


@inlined
def matrix_at(s, number):
    """The numbers of covariance `number`."""
    return float64s_at(s.matrices + uint64(8) * number * s.matrix_size, s.matrix_size)


@inlined
def workspace_of(s):
    """Room for sums."""
    return float64s_at(s.workspace, s.workspace_size)


@helper
def read_row(s, e):
    """Write the dense namespace and the constant into the row; returns |x|² without the constant.

    A value of 0 counts as 1 there: standardised columns are all 0 in the first row, and of mean square 1 later.
    """
    row, mask = float64s_at(s.row, uint64(s.size)), shared_of(e.shared).mask
    read_dense(e, s.namespace, s.first, mask, s.hashed, s.dimension, row)
    starts, ids = int64s_at(e.namespaces, e.namespace_count + uint64(1)), uint32s_at(e.namespace_ids, e.namespace_count)
    values, constant, square = float32s_at(e.values, e.length), 0.0, 0.0
    for j in range(e.namespace_count):
        for i in range(starts[j] - starts[0], starts[j + 1] - starts[0]):
            if ids[j] == CONSTANT_NAMESPACE:
                constant += values[i]
            elif ids[j] == s.namespace and values[i] == 0:
                square += 1.0
    row[s.dimension] = constant
    for k in range(s.dimension):
        square += row[k] * row[k]
    return square


@inlined
def is_sparse(s, name):
    """Whether a namespace is neither the dense one nor the constant's."""
    return name != s.namespace and name != CONSTANT_NAMESPACE


@helper
def same_row(x, y):
    """Whether two rows are equal."""
    for k in range(int64(len(x))):
        if x[k] != y[k]:
            return False
    return True
