"""Kernels of a layer that only changes which features an example has.

Such a layer has a single kernel, `rewrite`, which writes features somewhere and makes the example show those. The
kernels here call it, then the layer below, and then make the example show its own features again.
"""

from hutch.core.kernel.abi import (
    call,
    example_of,
    importance_to_next,
    kernel,
    layer_of,
    learn_next,
    predict_next,
    sensitivity_next,
)
from hutch.core.kernel.shown import show, shown_by


@kernel
def rewritten_learn(layer, example, label, importance, offset):
    """Let the layer below learn from the example as rewritten."""
    e = example_of(example)
    read = shown_by(e)
    call(layer_of(layer).rewrite, layer, example, label, importance, offset)
    prediction = learn_next(layer, example, label, importance, offset)
    show(e, read)
    return prediction


@kernel
def rewritten_predict(layer, example, label, importance, offset):
    """Let the layer below predict the example as rewritten."""
    e = example_of(example)
    read = shown_by(e)
    call(layer_of(layer).rewrite, layer, example, label, importance, offset)
    prediction = predict_next(layer, example, label, importance, offset)
    show(e, read)
    return prediction


@kernel
def rewritten_importance_to(layer, example, label, target, offset):
    """h_min of the layer below for the example as rewritten."""
    e = example_of(example)
    read = shown_by(e)
    call(layer_of(layer).rewrite, layer, example, label, target, offset)
    needed = importance_to_next(layer, example, label, target, offset)
    show(e, read)
    return needed


@kernel
def rewritten_sensitivity(layer, example, label, importance, offset):
    """Sensitivity of the layer below for the example as rewritten."""
    e = example_of(example)
    read = shown_by(e)
    call(layer_of(layer).rewrite, layer, example, label, importance, offset)
    found = sensitivity_next(layer, example, label, importance, offset)
    show(e, read)
    return found
