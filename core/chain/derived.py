"""Properties derived from the declarations of a layer and of those below it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.chain.reduction import Labels, Reduction


def declared(layer: Reduction, attribute: str) -> Any:
    """The `takes` or `predicts` of a layer, or that of the nearest layer below that declares it."""
    own, below = getattr(layer, attribute), layer.context.below
    return declared(below, attribute) if own is None and below else own


def learns_once(layer: Reduction) -> bool:
    """Whether the layer, or one below it, is a `one_pass` learner."""
    below = layer.context.below
    return layer.inputs.one_pass or (below is not None and learns_once(below))


def learns_soft_labels(layer: Reduction) -> bool:
    """Whether a layer that has classes, or the first below it that has, is reached by soft labels and learns them."""
    below = layer.context.below
    if not (layer.inputs.soft_labels or layer.kernels.rewrite):
        return False
    return layer.takes is not None or (below is not None and learns_soft_labels(below))


def first_class(layer: Reduction) -> int:
    """The smallest label of a class, 0 or 1; 2 while it is unknown, from `saved` or from the layer below."""
    if "first_class" in layer.saved():
        return int(np.ravel(layer.saved()["first_class"])[0])
    return first_class(layer.context.below) if layer.context.below else 1


def accepted(layer: Reduction, labels: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Which labels a layer is made for, bool (labels); see `Inputs.learns_any_label` for the others."""
    takes, below, answers = declared(layer, "takes"), layer.context.below, layer.answers
    if takes.of_one_line is Labels.MULTICLASS and answers.classes is not None:
        first = first_class(layer)
        return (labels >= first % 2) & (labels <= answers.classes - (first == 0))
    if takes is Labels.LOGGED_NUMBER and answers.label_range is not None:
        low, high = map(np.float32, answers.label_range)
        return np.asarray((low <= labels) & (labels <= high))
    if takes is Labels.SIMPLE:
        if answers.labels is not None:
            return np.asarray(np.isin(labels, answers.labels))
        if below is not None and declared(below, "takes") is takes:
            return accepted(below, labels)
        if answers.loss is not None:
            return answers.loss.resolve(layer.context.losses).accepts(labels, answers.loss.parameters)
    return np.ones(len(labels), np.bool_)


def lacking(layer: Reduction, name: str) -> Reduction | None:
    """The layer, this one or one below, without a kernel, so that a layer above cannot call it here.

    Args:
        layer: the layer that is asked.
        name: `importance_to`, `sensitivity` or `predict_many`.

    Returns:
        None if the kernel is offered.
    """
    kernels, below = layer.kernels, layer.context.below
    if getattr(kernels, name) is None:
        return layer
    return None if below is None or name in kernels.self_contained else lacking(below, name)
