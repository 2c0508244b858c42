"""Helpers of several crowd models' kernels for items whose labels lie together."""

from hutch.core.kernel.decorators import helper


@helper
def most_labels(item_ptr):
    """The number of labels of the item that has the most."""
    most = 0
    for item in range(len(item_ptr) - 1):
        most = max(most, item_ptr[item + 1] - item_ptr[item])
    return most


@helper
def class_shares(counts, fixed, out):
    """P(class) into `out` (classes): counts plus one each, or `fixed` unless that is empty."""
    total = counts.sum() + len(counts)
    for k in range(len(out)):
        out[k] = fixed[k] if len(fixed) else (counts[k] + 1.0) / total
