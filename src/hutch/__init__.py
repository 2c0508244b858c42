"""Hutch: noisy human labels in, an online model out.

Importing this package is cheap: numpy, numba and the reductions are loaded when a name that needs them is first used.
"""

TYPE_CHECKING = False  # as in typing, which would be the first thing of every run to be imported
if TYPE_CHECKING:
    from typing import Any

    from hutch.chain import Chain as Chain
    from hutch.core.batch import Batch as Batch
    from hutch.core.errors import HutchError as HutchError
    from hutch.core.hooks import hookimpl as hookimpl
    from hutch.off_policy import evaluate as evaluate

__version__: str
__all__ = ["Batch", "Chain", "HutchError", "__version__", "evaluate", "hookimpl"]

_HOMES = {
    "Batch": "hutch.core.batch",
    "Chain": "hutch.chain",
    "HutchError": "hutch.core.errors",
    "evaluate": "hutch.off_policy",
    "hookimpl": "hutch.core.hooks",
}


def __getattr__(name: str) -> "Any":
    from importlib import import_module

    if name == "__version__":
        from hutch.core.version import version

        return version()
    if name not in _HOMES:
        raise AttributeError(f"module 'hutch' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
