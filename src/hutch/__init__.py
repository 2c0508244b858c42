"""Hutch: noisy human labels in, an online model out.

Importing this package is cheap: numpy, numba and the reductions are loaded when a name that needs them is first used.
Type checkers read the names in `__init__.pyi`.
"""

__all__ = [
    "Batch",
    "Benchmark",
    "Chain",
    "HutchError",
    "NumberPolicy",
    "Policy",
    "__version__",
    "crowd",
    "estimate",
    "evaluate",
    "hookimpl",
    "judges",
    "label",
    "preferences",
]

_HOMES = {
    "Batch": "hutch.core.batch",
    "Benchmark": "hutch.functions.benchmark",
    "Chain": "hutch.chain",
    "HutchError": "hutch.core.errors",
    "NumberPolicy": "hutch.number_policy",
    "Policy": "hutch.policy",
    "crowd": "hutch",
    "estimate": "hutch",
    "evaluate": "hutch.off_policy",
    "hookimpl": "hutch.core.hooks",
    "judges": "hutch",
    "label": "hutch",
    "preferences": "hutch.functions.preferences",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name == "__version__":
        from hutch.core.version import version

        return version()
    if name not in _HOMES:
        raise AttributeError(f"module 'hutch' has no attribute {name!r}")
    if _HOMES[name] == "hutch":
        return import_module(f"hutch.{name}")  # a package that can be called: hutch.core.callable_package
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
