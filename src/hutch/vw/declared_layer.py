"""A layer of a chain from the options of a command line, by its declaration."""

from argparse import Namespace
from typing import Any

from hutch.vw.options.declared import DECLARED
from hutch.vw.options.table import NAMED


def declared_layer(name: str, options: Namespace, **more: Any) -> Any:
    """A layer with the parameters that options set by its declaration, and more; None takes one back."""
    declared = DECLARED[name]
    sets = [*((option, option.key) for option in declared.options),
            *((NAMED[option], key) for option, key in declared.beside)]  # fmt: skip
    found = {key: option.meant(options) for option, key in sets if key and option.given(options) is not None}
    found = {key: value for key, value in (found | more).items() if value is not None}
    return {name: found} if found else name
