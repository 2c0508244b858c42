"""Why Numba does not compile a function, in one line."""

import re

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_FRAME = re.compile(r'File "[^"]*", line (\d+)')
_NOISE = ("Failed in nopython mode pipeline", "During:", "File ", "- ", "There are", ">>>", "Enable logging")
_PREFIX = "The compiler failed to analyze the bytecode. "


def reason(error: Exception) -> tuple[str, int | None]:
    """The mistake in the function, and its line in the file, if known.

    Args:
        error: raised by Numba.

    >>> reason(KeyError("randm"))
    ("there is no field 'randm' in the record", None)
    """
    if isinstance(error, KeyError):
        return f"there is no field {str(error)} in the record", None
    lines = [line.strip() for line in _COLOUR.sub("", str(error)).splitlines()]
    said = next((line for line in lines if line and not line.startswith(_NOISE)), "")
    place = next((found for line in lines if (found := _FRAME.match(line))), None)
    return said.removeprefix(_PREFIX) or type(error).__name__, int(place[1]) if place else None
