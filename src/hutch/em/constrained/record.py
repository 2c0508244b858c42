"""How a layer holds the M-step of the layer below near an anchor: through one record that both see.

A layer that offers it names its `statistics` and takes the record in `constrain` (see `hutch.core.chain.reduction`).
"""

import numpy as np

from hutch.core.kernel.abi import record_of

STEP, CLASS = 0, 1
COUNTS = -1.0
"""A beta that leaves the weight of the anchor to the layer below: as many samples as the anchor represents there."""

CONSTRAINT = np.dtype(
    [
        ("beta", "f8"),  # weight of the anchor beside the statistics, ≥ 0, or COUNTS
        ("mode", "i8"),  # STEP: the anchor is the model before the step; CLASS: the model at the last boundary
        ("boundaries", "u8"),  # classes that have ended; the layer above counts
        ("scoring", "i8"),  # 1: the layer above reads `score`
        ("score", "f8"),  # out: log-likelihood of the present example under the current class; NaN: it has none
    ]
)

constraint_of = record_of(CONSTRAINT)
