"""Learning from a soft label: a share of the importance for each class."""

import numpy as np
from numpy import uint64

from hutch.core.kernel.abi import UNLABELED, example_of, float32s_at, learn_next
from hutch.core.kernel.decorators import helper


@helper
def learn_soft_next(layer, example, targets, classes, importance, offset, whole):
    """Let the layer below learn a soft label.

    Args:
        layer, example, importance, offset: as of `learn_next`.
        targets: address of float32[classes], the share of each class.
        classes: number of classes, whose labels count from 1.
        whole: 1: at once, in EXAMPLE.targets; 0: as one hard label per class, weighted by its share.
    """
    e = example_of(example)
    if whole == 1:
        e.targets, e.importance = targets, importance
        learn_next(layer, example, UNLABELED, importance, offset)
        e.targets = uint64(0)
        return
    shares = float32s_at(targets, uint64(classes))
    for k in range(classes):
        e.importance = importance * shares[k]
        if e.importance > np.float32(0):
            learn_next(layer, example, np.float32(k + 1), e.importance, offset)
