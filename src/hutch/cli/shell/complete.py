"""What a shell offers for a word: names of layers, of their parameters, of losses and models, and files of chains.

Where nothing is offered, the shell offers files. Modules of layers are read, not imported: they would import NumPy.
"""

import ast
import os
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from importlib.util import find_spec
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
    declared = (_assigned(body, "name") for body in _classes("hutch.crowd.table", depth=2).values())
    found = (value.value for values in declared for value in values if isinstance(value, ast.Constant))
    return names(*sorted(map(str, found)))(ctx, args, incomplete)


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
    """Names of the parameters of a layer that comes with Hutch, as its source declares them; none of another name.

    >>> parameters_of_layer("scoring_filter_tree")
    ['classes', 'first_class', 'shape']
    """
    modules = (module for module, what in DEFAULT_PLUGINS.items() if name in what.get("reductions", ()))
    module = next(modules, None)
    if module is None:
        return []
    classes = _classes(module)
    own = [body for body in classes.values() if any(_is_text(value, name) for value in _assigned(body, "name"))]
    assigned = (value for body in [*own, *classes.values()] for value in _assigned(body, "Parameters"))
    chosen = next((value.id for value in assigned if isinstance(value, ast.Name)), None)
    return list(dict.fromkeys(_fields(chosen, classes))) if chosen else []


def _is_text(value: ast.expr | None, text: str) -> bool:
    return isinstance(value, ast.Constant) and value.value == text


def _classes(module: str, depth: int = 3) -> dict[str, ast.ClassDef]:
    """Classes by name: those of a module first, then those of the modules of its room that it imports."""
    spec = find_spec(module)
    if spec is None or spec.origin is None or depth == 0:
        return {}
    with open(spec.origin, encoding="utf-8") as source:
        tree = ast.parse(source.read())
    room = ".".join(module.split(".")[:2]) + "."  # such as hutch.reductions
    found = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(room):
            found = _classes(node.module or "", depth - 1) | found
    return dict(sorted(found.items(), key=lambda pair: pair[1] not in tree.body))


def _assigned(body: ast.ClassDef, name: str) -> Iterator[ast.expr | None]:
    """The values that a class assigns to one of its names."""
    for node in body.body:
        targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
        if any(isinstance(each, ast.Name) and each.id == name for each in targets):
            yield getattr(node, "value", None)


def _fields(name: str, classes: dict[str, ast.ClassDef]) -> Iterator[str]:
    """The annotated fields of a class, those of its bases first."""
    if name in classes:
        for base in classes[name].bases:
            if isinstance(base, ast.Name):
                yield from _fields(base.id, classes)
        for node in classes[name].body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                if not ast.unparse(node.annotation).startswith("ClassVar"):
                    yield node.target.id
