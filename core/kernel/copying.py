"""Copies of arrays within kernels.

Numba's own `target[:] = source` checks shapes and can word an error about them, which takes a second to compile and
calls into Python: such a kernel would not be kept as machine code.
"""

from hutch.core.kernel.decorators import helper


@helper
def copy(source, target):
    """Copy the elements of an array of one dimension to the begin of another."""
    for i in range(len(source)):
        target[i] = source[i]
