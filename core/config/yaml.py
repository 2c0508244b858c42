"""YAML that knows where each of its values stands.

The scalars are those of YAML 1.2: `1e-3` is a number, `no` is a string, and `010` is neither an octal nor a decimal.
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml

from hutch.core.config.document import Document, Path, Place
from hutch.core.errors import ConfigError, at

_SCALARS = (
    ("tag:yaml.org,2002:null", r"^(?:~|null|Null|NULL|)$", "~nN\0"),
    ("tag:yaml.org,2002:bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("tag:yaml.org,2002:int", r"^[-+]?(?:0|[1-9][0-9]*|0x[0-9a-fA-F]+)$", "-+0123456789"),
    (
        "tag:yaml.org,2002:float",
        r"^(?:[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
        "-+0123456789.",
    ),
)


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, Any] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        problem = "aliases are not read; write it out" if self.check_event(yaml.AliasEvent) else None
        if getattr(event, "tag", None) is not None:
            problem = f"the tag {event.tag} is not read"
        if problem:
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
        return super().compose_node(parent, index)


class _Dumper(yaml.SafeDumper):  # keeps YAML 1.1's scalars too, so that what they would change is quoted
    def represent_str(self, data: str) -> yaml.ScalarNode:
        """Double quotes escape what other styles would lose, such as the line break U+0085."""
        style = None if data.isprintable() else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(str, _Dumper.represent_str)


for _tag, _pattern, _first in _SCALARS:
    for _class in (_Loader, _Dumper):
        _class.add_implicit_resolver(_tag, re.compile(_pattern), ["" if c == "\0" else c for c in _first])


def read(text: str, source: str) -> Document:
    """Parse one YAML document.

    Args:
        text: the document.
        source: its name in messages.

    Raises:
        ConfigError: not YAML, a key given twice, a key that is no string, an alias or a tag; with the place.

    >>> document = read("weights: {bits: 18}", "chain.yaml")
    >>> document.value, document.keys["weights", "bits"].column
    ({'weights': {'bits': 18}}, 11)
    """
    document = Document(None, source)
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        if root is not None:
            document.value = _value(loader, document, root, ())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(part for part in (error.context, error.problem) if part)
        raise ConfigError(_place(source, mark).says(f"not YAML: {what}")) from None
    except yaml.YAMLError as error:
        raise ConfigError(at(source, None, None, f"not YAML: {' '.join(str(error).split())}")) from None
    return document


def _place(source: str, mark: yaml.Mark | None) -> Place:
    return Place(source, mark.line + 1, mark.column + 1) if mark else Place(source)


def _value(loader: _Loader, document: Document, node: yaml.Node, path: Path) -> Any:
    document.values[path] = _place(document.name, node.start_mark)
    if isinstance(node, yaml.MappingNode):
        return {
            key: _value(loader, document, value, (*path, key)) for key, value in _items(loader, document, node, path)
        }
    if isinstance(node, yaml.SequenceNode):
        return [_value(loader, document, item, (*path, i)) for i, item in enumerate(node.value)]
    return loader.construct_object(node)


def _items(loader: _Loader, document: Document, node: yaml.MappingNode, path: Path) -> Iterator[tuple[str, yaml.Node]]:
    for key_node, value_node in node.value:
        place = _place(document.name, key_node.start_mark)
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            raise ConfigError(place.says(f"got the key {key!r}, wanted a name"))
        if (*path, key) in document.keys:
            first = document.keys[(*path, key)]
            raise ConfigError(place.says(f"{key!r} is given twice, first at line {first.line}"))
        document.keys[(*path, key)] = place
        yield key, value_node


def scalar(text: str) -> Any:
    """Read the value of `--set path=value`.

    Raises:
        ConfigError: not YAML.
    """
    return read(text, "value").value


def write(value: Any) -> str:
    """YAML of plain values: mappings in the order given, the innermost on one line.

    >>> print(write({"weights": {"bits": 18}, "chain": ["linear"]}), end="")
    weights: {bits: 18}
    chain: [linear]
    """
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=110, allow_unicode=True)
