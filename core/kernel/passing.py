"""Kernels that any layer may have: they pass requests on, or record that a kernel is missing."""

import numpy as np
from numpy import uint64

from hutch.core.kernel.abi import (
    importance_to_next,
    kernel,
    layer_of,
    learn_next,
    predict_next,
    sensitivity_next,
    uint64s_at,
)


@kernel
def pass_learn(layer, example, label, importance, offset):
    """Let the layer below learn."""
    return learn_next(layer, example, label, importance, offset)


@kernel
def pass_predict(layer, example, label, importance, offset):
    """Let the layer below predict."""
    return predict_next(layer, example, label, importance, offset)


@kernel
def pass_importance_to(layer, example, label, target, offset):
    """h_min of the layer below, for a layer that hands its prediction on or whose prediction moves with it."""
    return importance_to_next(layer, example, label, target, offset)


@kernel
def pass_sensitivity(layer, example, label, importance, offset):
    """Sensitivity of the layer below."""
    return sensitivity_next(layer, example, label, importance, offset)


@kernel
def missing(layer, example, label, importance, offset):
    """Replaces a kernel that a layer lacks; records the layer for the engine, which reports it after the batch."""
    uint64s_at(layer_of(layer).missed, uint64(1))[0] = layer
    return np.float32(np.nan)
