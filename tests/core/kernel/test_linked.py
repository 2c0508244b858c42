"""Functions that only kernels call: compiled within the kernels, to the same numbers as by themselves."""

import numpy as np

from hutch.core.kernel.cache import ArrayKernel
from hutch.core.kernel.decorators import helper, inlined


@helper
def innermost(x, factor):
    total = 0.0
    for k in range(len(x)):
        total += x[k] * x[k] * factor
    return total, min(total, 3.0)


@inlined
def between(x):
    first, least = innermost(x, 2.5)
    second, _ = innermost(x[1:], 3.5)
    return first * second + least


def outer(x):
    return between(x) - innermost(x, 2.5)[0]


def test_helpers_within_helpers_compute_what_python_computes_and_have_no_machine_code_of_their_own() -> None:
    x = np.random.default_rng(0).normal(size=37)
    got = ArrayKernel(outer)(x)
    total = {p: sum_of(v * v * p for v in values) for p, values in ((2.5, x), (3.5, x[1:]))}
    assert got == (total[2.5] * total[3.5] + min(total[2.5], 3.0)) - total[2.5]
    for function in (innermost, between):
        for compiled in function.made.overloads.values():
            assert compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name) == 0


def sum_of(values) -> float:  # type: ignore[no-untyped-def]
    """In order: `sum` of floats is compensated since Python 3.12."""
    total = 0.0
    for value in values:
        total += value
    return total


def test_options_of_numba_are_compared_by_what_they_say():
    from numba.core.compiler import Flags

    plain, same, other = Flags(), Flags(), Flags()
    same.nrt = plain.nrt  # said, as it is by default
    other.nrt = not plain.nrt
    assert plain == same and hash(plain) == hash(same)
    assert plain != other and plain != "plain"
