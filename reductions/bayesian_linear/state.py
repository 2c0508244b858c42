"""State of the kernels of `bayesian_linear`: its record, those of the covariances, and the row of an example.

A sub-model has a mean for each dimension and one for the constant. The covariance of these belongs to the sub-model or
to all of them; the precision that the latest example adds stays pending in the record, so that sub-models that
learn from one row change the covariance once, and by the mean of what each would.
"""

import numpy as np
from numpy import int64, uint64

from hutch.core.batch import CONSTANT_NAMESPACE
from hutch.core.kernel.abi import float32s_at, float64s_at, int64s_at, record_of, shared_of, state_of, uint32s_at
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.learner.dense_row import read_dense

BAYESIAN = np.dtype(
    [
        ("loss", "u8"),  # address of the LOSS record
        ("namespace", "u8"),  # id of the dense namespace
        ("first", "u8"),  # index of the feature that is dimension 0
        ("named", "i8"),  # 1: features get places in the order in which they are met; 0: given by their numbers
        ("dimension", "i8"),
        ("room", "i8"),  # dimension + 1
        ("size", "i8"),  # number of them in use
        ("used", "i8"),  # number that have a feature, or are the constant's
        ("constant", "i8"),  # the place of the constant: the first of named features, the last of numbered ones
        ("features", "u8"),  # address of int64[room]: index of the named feature at each place, -1 if none
        ("places", "u8"),  # address of int64[slots]: their places, 0 if none; open addressing
        ("slots", "u8"),  # a power of two
        ("rank", "i8"),  # of the low-rank part
        ("means", "u8"),  # address of float64[submodels, room]
        ("shared", "u8"),  # 1: all sub-models have one covariance
        ("groups", "u8"),  # address of GROUP[covariances]
        ("matrices", "u8"),  # address of float64[covariances, matrix_size]; see `full` and `low_rank`
        ("matrix_size", "u8"),
        ("rows", "u8"),  # address of float64[covariances, room]: the row learned last
        ("directions", "u8"),  # the same: the covariance times that row
        ("row", "u8"),  # address of float64[room]: the present example's
        ("probe_rows", "u8"),  # as rows and directions: of the latest query for h_min
        ("probe_directions", "u8"),
        ("workspace", "u8"),  # address of float64[workspace_size]
        ("workspace_size", "u8"),
        ("prior_variance", "f8"),  # of a mean; 0: `reach` divided by |x|² of the first row, zeros in it counted as 1
        ("reach", "f8"),
        ("constant_variance", "f8"),
        ("sparse_variance", "f8"),
        ("forgetting", "f8"),
        ("moments", "u8"),  # address of the MOMENTS record, of that form; else 0
        # of covariances in blocks, where `used` of them are in use, with up to `size` places each; means and matrices
        # go by block and prior, and groups are SUMS of sub-models
        ("gathered", "u8"),  # address of the FEATURES record
        ("blocks", "i8"),  # the most there may be
        ("priors", "u8"),  # address of float64[prior_count]
        ("prior_count", "i8"),
        ("taken", "u8"),  # address of int64[blocks]: places that have a feature
        ("responses", "u8"),  # as means: the means for labels that are all 1
        ("numbers", "u8"),  # address of int64[blocks]: 1 + a block's place among those of the example; 0: none
        ("found", "u8"),  # BUFFER of int64: the blocks of the example
        ("parts", "u8"),  # BUFFER of float64[blocks of the example, room]: its features
        ("products", "u8"),  # BUFFER, as `parts`: the covariance times these
        ("firsts", "u8"),  # address of float64[blocks, room]: first variances for a prior of 1
        ("since", "u8"),  # address of float64[blocks]: importance learned when a covariance was brought up to date
    ]
)
GROUP = np.dtype(
    [
        ("variance", "f8"),  # of each mean before anything is learned; 0: not known yet
        ("spread", "f8"),  # x'Sx of the row learned last
        ("added", "f8"),  # sum over sub-models of the precision that the label added along the row
        ("learners", "i8"),  # number of these sub-models
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
    """The part in use of row `number` of a float64 array with `room` columns."""
    return float64s_at(address + uint64(8) * number * uint64(s.room), uint64(s.size))


@inlined
def matrix_at(s, number):
    """The numbers of covariance `number`."""
    return float64s_at(s.matrices + uint64(8) * number * s.matrix_size, s.matrix_size)


@inlined
def workspace_of(s):
    """Room for sums."""
    return float64s_at(s.workspace, s.workspace_size)


@helper
def _slot_of(s, index):
    """Where the place of a named feature stands, or would stand."""
    features, places = int64s_at(s.features, uint64(s.room)), int64s_at(s.places, s.slots)
    at = uint64(index) & (s.slots - uint64(1))
    while places[at] > 0 and features[places[at]] != int64(index):
        at = (at + uint64(1)) & (s.slots - uint64(1))
    return at


@inlined
def place_of_named(s, index):
    """The place of a named feature in the row, 0 if it has none."""
    return int64s_at(s.places, s.slots)[_slot_of(s, index)]


@inlined
def has_place(s, index):
    """Whether a named feature has a place in the row."""
    return place_of_named(s, index) > 0


@helper
def enter(s, index):
    """The place of a named feature, which gets the next one if it has none and one is left; else 0."""
    at, places = _slot_of(s, index), int64s_at(s.places, s.slots)
    if places[at] == 0 and s.used < s.room:
        places[at], int64s_at(s.features, uint64(s.room))[s.used] = s.used, int64(index)
        s.used += 1
        s.size = max(s.size, s.used)
    return places[at]


@helper
def read_row(s, e, learn):
    """Write the dense namespace and the constant into the row.

    Args:
        s: BAYESIAN record.
        e: EXAMPLE record.
        learn: whether features that are met first get places.

    Returns:
        |x|² without the constant, a value of 0 counted as 1: standardised columns are all 0 in the first row, and of
        mean square 1 later; and |x|² of the features that are still to get a place.
    """
    row, mask, e.features = float64s_at(s.row, uint64(s.room)), shared_of(e.shared).mask, e.length
    if s.named == 0:
        read_dense(e, s.namespace, s.first, mask, 0, s.dimension, row)
    else:
        row[:] = 0.0
    starts, ids = int64s_at(e.namespaces, e.namespace_count + uint64(1)), uint32s_at(e.namespace_ids, e.namespace_count)
    indices, values = uint32s_at(e.indices, e.length), float32s_at(e.values, e.length)
    constant, square, fresh = 0.0, 0.0, 0.0
    for j in range(e.namespace_count):
        for i in range(starts[j] - starts[0], starts[j + 1] - starts[0]):
            x = np.float64(values[i])
            if ids[j] == CONSTANT_NAMESPACE:
                constant += x
            elif ids[j] == s.namespace:
                square += 1.0 if x == 0.0 else x * x
                if s.named == 1:
                    places = int64s_at(s.places, s.slots)
                    place = enter(s, indices[i]) if learn else places[_slot_of(s, indices[i])]
                    if place > 0:
                        row[place] += x
                    elif s.used < s.room:
                        fresh += x * x
    row[s.constant] = constant
    return square, fresh


@inlined
def is_sparse(s, name):
    """Whether features of a namespace may be outside the row: any but the constant's, unless all have places."""
    if name == s.namespace:
        return s.named == 1 and s.used == s.room
    return name != CONSTANT_NAMESPACE


@helper
def same_row(x, y):
    """Whether two rows are equal."""
    for k in range(int64(len(x))):
        if x[k] != y[k]:
            return False
    return True
