"""Whether plain `numba.njit` is to compile the kernels."""

import os

PLAIN = "HUTCH_PLAIN_NUMBA"
"""The variable that asks for it."""


def plain_wanted() -> bool:
    """Whether it is asked for; a Numba that Hutch does not know has the same effect."""
    return os.environ.get(PLAIN, "") not in ("", "0")
