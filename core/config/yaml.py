"""YAML that knows where each of its values stands.

The scalars are those of YAML 1.2: `1e-3` is a number, `no` is a string, and `010` is neither an octal nor a decimal.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml

from hutch.core.config.document import Document, Path, Place, shown
from hutch.core.config.limits import LONGEST_KEY, MOST_CHARACTERS, excess, excess_digits
from hutch.core.errors import ConfigError, at

_PARSER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's, ten times as fast, where PyYAML was built with it


def _float(text: str) -> float:
    return float(text.replace(".inf", "inf").replace(".nan", "nan") if text[-1] in "fn" else text)


_SCALARS: tuple[tuple[str, str, str, Callable[[str], Any]], ...] = (
    ("null", r"^(?:~|null|Null|NULL|)$", "~nN\0", lambda text: None),
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF", lambda text: text[0] in "tT"),
    (
        "int",
        r"^[-+]?(?:0|[1-9][0-9]*|0x[0-9a-fA-F]+)$",
        "-+0123456789",
        lambda text: int(text, 16 if "x" in text else 10),
    ),
    (
        "float",
        r"^(?:[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
        "-+0123456789.",
        lambda text: _float(text.lower()),
    ),
)
"""For each kind of scalar that is not text: YAML's tag, its pattern, its possible first characters, its value."""


class TooMuch(ConfigError):
    """A document beyond the limits of `hutch.core.config.limits`."""


class _Dumper(yaml.SafeDumper):  # keeps YAML 1.1's scalars too, so that text which they would change is quoted
    def represent_str(self, data: str) -> yaml.ScalarNode:
        """Double quotes escape what other styles would lose, such as the line break U+0085."""
        style = None if data.isprintable() else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(str, _Dumper.represent_str)
_BY_FIRST: dict[str, list[tuple[str, re.Pattern[str], Callable[[str], Any]]]] = {}
for _tag, _pattern, _first, _value in _SCALARS:
    _firsts = ["" if c == "\0" else c for c in _first]
    _Dumper.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), _firsts)
    for _c in _firsts:
        _BY_FIRST.setdefault(_c, []).append((_tag, re.compile(_pattern), _value))


def read(text: str, source: str) -> Document:
    """Parse one YAML document.

    Args:
        text: the document.
        source: its name in messages.

    Raises:
        ConfigError: not YAML, a key given twice, a key that is not a string, an alias or a tag; with the place. It is a
            `TooMuch` if the document is larger than any chain.

    >>> document = read("weights: {bits: 18}", "chain.yaml")
    >>> document.value, document.keys["weights", "bits"].column
    ({'weights': {'bits': 18}}, 11)
    """
    if len(text) > MOST_CHARACTERS:
        raise TooMuch(at(source, None, None, f"got {len(text)} characters, wanted at most {MOST_CHARACTERS}"))
    reader = _Reader(source)
    try:
        for event in yaml.parse(text, Loader=_PARSER):
            reader.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(part for part in (error.context, error.problem) if part)
        if mark and "".join(text.split("\n")[mark.line : mark.line + 1]).startswith("\t", mark.column):
            what = "got a tab, wanted blanks"
        raise ConfigError(_place(source, mark).says(f"not YAML: {what}")) from None
    except (yaml.YAMLError, UnicodeError) as error:
        raise ConfigError(at(source, None, None, f"not YAML: {' '.join(str(error).split())}")) from None
    return reader.document


def _place(source: str, mark: yaml.Mark | None) -> Place:
    return Place(source, mark.line + 1, mark.column + 1) if mark else Place(source)


@dataclass(slots=True)
class _Open:
    """A list or mapping that may still get items."""

    value: dict[str, Any] | list[Any]
    path: Path
    key: str | None = None  # of the item that comes next


class _Reader:
    """Makes a document of a parser's events, as they come: no deeper or longer than the limits."""

    def __init__(self, source: str) -> None:
        self.document = Document(None, source)
        self._open: list[_Open] = []
        self._values = 0
        self._begun = False

    def take(self, event: Any) -> None:
        """See the next event."""
        if isinstance(event, yaml.DocumentStartEvent):
            if self._begun:
                raise ConfigError(self._at(event).says("got a second document, wanted one"))
            self._begun = True
        elif isinstance(event, yaml.CollectionEndEvent):
            self._open.pop()
        elif isinstance(event, yaml.NodeEvent):
            self._check(event)
            self._add(event)

    def _at(self, event: Any) -> Place:
        return _place(self.document.name, event.start_mark)

    def _check(self, event: Any) -> None:
        self._values += 1
        if text := excess(self._values, len(self._open)):
            raise TooMuch(self._at(event).says(text))
        problem = "aliases are not read; write it out" if isinstance(event, yaml.AliasEvent) else None
        if getattr(event, "tag", None) is not None:
            problem = f"the tag {event.tag} is not read"
        if problem:
            raise ConfigError(self._at(event).says(f"not YAML: {problem}"))

    def _add(self, event: Any) -> None:
        """Put a value where it belongs, or remember a key."""
        document, place = self.document, self._at(event)
        parent = self._open[-1] if self._open else None
        if parent is not None and isinstance(parent.value, dict) and parent.key is None:
            parent.key = self._key(event, place)
            if (*parent.path, parent.key) in document.keys:
                first = document.keys[(*parent.path, parent.key)]
                raise ConfigError(place.says(f"{parent.key!r} is given twice, first at line {first.line}"))
            document.keys[(*parent.path, parent.key)] = place
            return
        value = self._value(event, place)
        path: Path = ()
        if parent is None:
            document.value = value
        elif isinstance(parent.value, list):
            path = (*parent.path, len(parent.value))
            parent.value.append(value)
        else:
            assert parent.key is not None
            path, parent.key = (*parent.path, parent.key), None
            parent.value[str(path[-1])] = value
        document.values[path] = place
        if isinstance(event, yaml.CollectionStartEvent):
            self._open.append(_Open(value, path))

    def _key(self, event: Any, place: Place) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            raise ConfigError(place.says("got a list or mapping as a key, wanted a name"))
        key = self._value(event, place)
        if not isinstance(key, str):
            raise ConfigError(place.says(f"got the key {shown(key)}, wanted a name"))
        if len(key) > LONGEST_KEY:
            raise TooMuch(place.says(f"got a key of {len(key)} characters, wanted at most {LONGEST_KEY}"))
        return key

    def _value(self, event: Any, place: Place) -> Any:
        """The value that begins or is an event."""
        if not isinstance(event, yaml.ScalarEvent):
            return {} if isinstance(event, yaml.MappingStartEvent) else []
        text = event.value
        if not event.implicit[0]:  # quoted
            return text
        for tag, pattern, convert in _BY_FIRST.get(text[:1], ()):
            if pattern.match(text):
                if tag == "int" and (excessive := excess_digits(len(text))):
                    raise TooMuch(place.says(excessive))
                return convert(text)
        return text


def write(value: Any) -> str:
    """YAML of plain values: mappings in the order given, the innermost on one line.

    >>> print(write({"weights": {"bits": 18}, "chain": ["linear"]}), end="")
    weights: {bits: 18}
    chain: [linear]
    """
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=110, allow_unicode=True)
