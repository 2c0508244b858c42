"""What a shell offers for a word: names of layers, of their parameters, of losses and models, and files of chains.

Where nothing is offered, the shell offers files.
"""

import os
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

from hutch.plugins.defaults import DEFAULT_PLUGINS

Completer = Callable[[Any, list[str], str], list[str]]
"""What Typer calls with the context, the words before and the word that is begun."""

_ENDINGS = (".yaml", ".yml")


def names(*choices: str) -> Completer:
    """Offer some names.

    >>> names("batch", "online")(None, [], "b")
    ['batch']
    """

    def complete(ctx: Any, args: list[str], incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return complete


def crowd_models(ctx: Any, args: list[str], incomplete: str) -> list[str]:
    """Offer the crowd models that come with Hutch.

    >>> crowd_models(None, [], "o")
    ['one_coin', 'ordinal']
    """
    from hutch.crowd.table import BUILT_IN

    return names(*sorted(model.name for model in BUILT_IN))(ctx, args, incomplete)


def registered(*kinds: str) -> Completer:
    """Offer the names that come with Hutch.

    Args:
        kinds: of the registry, such as `losses`.

    >>> registered("losses")(None, [], "q")
    ['quantile']
    """
    found = {name for what in DEFAULT_PLUGINS.values() for kind in kinds for name in what.get(kind, ())}
    return names(*sorted(found))


def chains(ctx: Any, args: list[str], incomplete: str) -> list[str]:
    """Offer the YAML files in the folder that is begun; the shell offers what else is there if there are none."""
    folder, begun = os.path.split(incomplete)
    try:
        inside = sorted(os.listdir(folder or "."))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in inside if name.startswith(begun) and name.endswith(_ENDINGS)]


def overrides(ctx: Any, args: list[str], incomplete: str) -> list[str]:
    """Offer the paths of `--set`: sections with their keys, layers with their parameters.

    >>> overrides(None, [], "dyadic.ra")
    ['dyadic.rank=', 'dyadic.rates=']
    """
    from hutch.core.config.sections import Frame

    if "=" in incomplete:
        return []
    top, dot, _ = incomplete.partition(".")
    if dot:
        inside = parameters_of_layer(top) or _keys(Frame).get(top, [])
        return [path for name in inside if (path := f"{top}.{name}=").startswith(incomplete)]
    layers = [name for what in DEFAULT_PLUGINS.values() for name in what.get("reductions", ())]
    sections = [f"{name}." if inside else f"{name}=" for name, inside in _keys(Frame).items()]
    return [path for path in [*sorted(sections), *(f"{name}." for name in sorted(layers))] if path.startswith(top)]


def _keys(kind: type[Any]) -> dict[str, list[str]]:
    return {
        field.name: [key.name for key in fields(field.default)] if is_dataclass(field.default) else []
        for field in fields(kind)
    }


def parameters_of_layer(name: str) -> list[str]:
    """Names of the parameters of a layer; none of another name.

    >>> parameters_of_layer("scoring_filter_tree")
    ['classes', 'first_class', 'shape']
    """
    from hutch.plugins.manager import installed

    reductions = installed().registry.reductions
    return [each.name for each in fields(reductions[name].Parameters)] if name in reductions else []
