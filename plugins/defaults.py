"""The plugins that come with Hutch: modules registered through the same door as third-party ones.

The names that each registers are listed here, so that a module is imported only when one of its names is used.
Reductions are known by their place, each under its own name: `reductions/NAME.py`, `reductions/NAME/layer.py`, or, in a
folder of several reductions, every file that registers some, under the names that it gives them.
"""

import os
import re
from collections.abc import Mapping

_REDUCTIONS = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "reductions")


def reduction_files() -> dict[str, str]:
    """Files of reductions by module."""
    found = {}
    for name in ("", *os.listdir(_REDUCTIONS)):
        inside, room = _modules(os.path.join(_REDUCTIONS, name)), f"hutch.reductions.{name}".rstrip(".")
        for each in ("layer",) if name and "layer" in inside else inside:
            found[f"{room}.{each}"] = os.path.join(_REDUCTIONS, name, f"{each}.py")
    return found


def _modules(folder: str) -> list[str]:
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return [name[:-3] for name in names if name.endswith(".py") and name != "__init__.py"]


def _names(file: str) -> tuple[str, ...]:
    """Of the reductions that a file registers, sorted."""
    with open(file, "rb") as source:
        text = source.read()
    if not re.search(rb"\n(def )?hutch_register_reductions\b", text):
        return ()
    return tuple(sorted(name.decode() for name in re.findall(rb'\n    name(?:: ClassVar\[str\])? = "(\w+)"', text)))


_REGISTERED = {module: names for module, file in reduction_files().items() if (names := _names(file))}

DEFAULT_PLUGINS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "hutch.core.loss.losses": {
        "losses": ("squared", "classic", "hinge", "logistic", "quantile", "expectile", "poisson"),
    },
    "hutch.core.data.csv": {"readers": (".csv", ".ssv", ".tsv")},
    "hutch.core.data.json_lines": {"readers": (".jsonl", ".ndjson")},
    "hutch.core.data.parquet": {"readers": (".parquet",)},
    "hutch.vw.json.reader": {"readers": (".dsjson",)},
    "hutch.em.models": {"em_models": ("ppca",)},
    **{module: {"reductions": _REGISTERED[module]} for module in sorted(_REGISTERED, key=_REGISTERED.__getitem__)},
}
"""Module -> kind of the registry -> names."""
