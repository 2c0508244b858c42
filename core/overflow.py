"""Whether arithmetic has overflowed: the flags that processors raise, read by C's fenv.h.

Where an operation on finite numbers gives infinity or NaN, IEEE 754 raises a flag that stays up until it is cleared. So
if no flag is up, all numbers that were finite still are; if one is, the numbers must be checked.
"""

import ctypes
import platform
import sys
from typing import Any

_FLAGS = {"x86_64": 1 | 4 | 8, "amd64": 1 | 4 | 8, "aarch64": 1 | 2 | 4, "arm64": 1 | 2 | 4}
"""Invalid, division by zero and overflow, by machine."""


def _functions() -> tuple[Any, Any]:
    try:
        library = ctypes.PyDLL("ucrtbase" if sys.platform == "win32" else None)
        return library.feclearexcept, library.fetestexcept
    except (OSError, AttributeError, TypeError):
        return None, None


_CLEAR, _TEST = _functions()
_ASKED = _FLAGS.get(platform.machine().lower(), 0) if _CLEAR is not None else 0


def clear_flags() -> None:
    """Take down the flags of this thread."""
    if _ASKED:
        _CLEAR(_ASKED)


def may_have_overflowed() -> bool:
    """Whether an operation of this thread may have given infinity or NaN since `clear_flags`.

    Call it right after the operation in question: NumPy's functions clear the flags. True if unknown.

    >>> clear_flags()
    >>> may_have_overflowed() and bool(_ASKED)
    False
    """
    return not _ASKED or _TEST(_ASKED) != 0
