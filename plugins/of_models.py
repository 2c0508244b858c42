"""The package that a saved model's kind comes from: written into the file, and asked for when it is read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hutch.core.errors import ModelError, at, warn
from hutch.core.hooks import PROJECT


def packages_of(kind: str, name: str) -> dict[str, dict[str, str]]:
    """What a model file says about the package that its model comes from; nothing where that is Hutch.

    Args:
        kind: of items of the registry, as `crowd_models`.
        name: of the model.

    Returns:
        Versions by distribution under the key `plugins`, as in the model of a chain.
    """
    from hutch.plugins.manager import installed

    plugins = installed()
    versions = plugins.versions({plugins.registry.origins.get((kind, name), "")})
    versions.pop(PROJECT, None)
    return {"plugins": versions} if versions else {}


def ask_for_packages(path: str | Path, metadata: Mapping[str, Any]) -> None:
    """Compare the packages that a model was made with to those that are installed; says which version differs.

    Args:
        path: of the model, for messages.
        metadata: of the model.

    Raises:
        ModelError: one is not installed, or left out.
    """
    needed = metadata.get("plugins", {})
    if not isinstance(needed, dict) or not all(isinstance(each, str) for each in needed.values()):
        text = f"the model is damaged: its plugins are {str(needed)[:40]!r}"
        raise ModelError(at(str(path), None, None, text))
    if needed:
        from hutch.core.chain.model_file import check_plugins
        from hutch.plugins.manager import installed

        plugins = installed()
        for notice in check_plugins(path, needed, plugins.versions(), plugins.registry.left_out):
            warn(notice)
