"""Why Numba does not compile a function, in one line."""

import re

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_FRAME = re.compile(r'File "[^"]*", line (\d+)')
_NOISE = ("Failed in nopython mode pipeline", "During:", "File ", "- ", "There are", ">>>", "Enable logging")
_RETURNED = re.compile(r"No conversion from (.+) to \w+ for '\$\w*return_value")
_GIVEN = re.compile(r"No definition for lowering State\(.*\)\.(\w+) = ")
_PREFIX = "The compiler failed to analyze the bytecode. "


def reason(error: Exception) -> tuple[str, int | None]:
    """The mistake in the function, and its line in the file, if known.

    Args:
        error: raised by Numba.

    >>> reason(KeyError("randm"))
    ("there is no field 'randm' in the record", None)
    >>> reason(TypeError("No conversion from none to float32 for '$44return_value.9', defined at None"))
    ('`return`: got nothing on one of its ways, wanted a number', None)
    """
    if isinstance(error, KeyError):
        return f"there is no field {str(error)} in the record", None
    if isinstance(error, NotImplementedError) and (given := _GIVEN.search(str(error))):
        return f"{given[1]!r} of the state does not change: declare an Array, and write to its elements", None
    lines = [line.strip() for line in _COLOUR.sub("", str(error)).splitlines()]
    said = next((line for line in lines if line and not line.startswith(_NOISE)), "")
    if returned := _RETURNED.search(said):
        got = "nothing on one of its ways" if returned[1] == "none" else f"{returned[1]}"
        said = f"`return`: got {got}, wanted a number"
    place = next((found for line in lines if (found := _FRAME.match(line))), None)
    return said.removeprefix(_PREFIX) or type(error).__name__, int(place[1]) if place else None
