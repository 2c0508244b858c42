"""A chain as its YAML gives it: read, overridden, checked against what is installed, written back.

weights: {bits: 18}
chain:
  - filter_tree: {classes: 5}
  - linear: {loss: hinge}
"""

import copy
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hutch.core import config_yaml
from hutch.core.config_errors import loss_mistakes, messages, shown
from hutch.core.config_override import apply_override, layer_name
from hutch.core.config_yaml import Document, Place
from hutch.core.errors import ConfigError, at, did_you_mean
from hutch.core.losses import LossChoice
from hutch.core.registry import Registry
from hutch.core.roles import Roles


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class WeightOptions(_Section):
    """The hashed weight table."""

    bits: Annotated[int, Field(ge=1, le=31, description="the table has 2^bits rows")] = 18


class InputOptions(_Section):
    """How text becomes features."""

    namespaces: Annotated[
        Literal["name", "letter"],
        Field(description="tell namespaces apart by full name, or by first letter as VW does"),
    ] = "name"
    hash: Annotated[
        Literal["strings", "all"],
        Field(description="strings: a name that is a number is its own index; all: hash it too"),
    ] = "strings"
    hash_seed: Annotated[int, Field(ge=0, lt=1 << 32, description="seed of the feature hash")] = 0
    constant: Annotated[bool, Field(description="add the constant feature to every example")] = True
    ignore: Annotated[tuple[str, ...], Field(description="namespaces to leave out")] = ()
    keep: Annotated[tuple[str, ...], Field(description="namespaces to keep; all others are left out")] = ()
    columns: Annotated[Roles, Field(description="what the columns of tables and matrices stand for")] = Roles()


class PluginOptions(_Section):
    """Which plugins this chain loads."""

    block: Annotated[tuple[str, ...], Field(description="plugins or distributions to leave out")] = ()


class Frame(_Section):
    """Everything but the layers."""

    weights: WeightOptions = WeightOptions()
    input: InputOptions = InputOptions()
    seed: Annotated[int, Field(ge=0, lt=1 << 63, description="of every random decision")] = 0
    plugins: PluginOptions = PluginOptions()


SECTIONS = (*Frame.model_fields, "chain")
"""The keys at the top of a chain's YAML."""


@dataclass(frozen=True, slots=True)
class LayerConfig:
    """One layer: the reduction's name and its validated parameters."""

    name: str
    parameters: Any


@dataclass(frozen=True, slots=True)
class ChainConfig:
    """A checked chain.

    Attributes:
        weights: the weight table.
        input: how text becomes features.
        seed: of every random decision.
        plugins: which plugins are loaded.
        chain: the layers, from top to base.
    """

    weights: WeightOptions
    input: InputOptions
    seed: int
    plugins: PluginOptions
    chain: tuple[LayerConfig, ...]

    def to_dict(self, defaults: bool = True) -> dict[str, Any]:
        """Plain values from which `validate` makes the same chain; without `defaults`, only what was given."""
        frame = Frame(weights=self.weights, input=self.input, seed=self.seed, plugins=self.plugins)
        given = {} if defaults else {"exclude_defaults": True}
        plain = frame.model_dump(mode="json", **given)  # type: ignore[arg-type]
        layers = []
        for layer in self.chain:
            parameters = layer.parameters.model_dump(mode="json", exclude_unset=not defaults)
            layers.append({layer.name: parameters} if parameters else layer.name)
        return {**plain, "chain": layers}


def read_chain(source: str | Path | Mapping[str, Any], overrides: Iterable[str] = ()) -> Document:
    """Read a chain without checking it yet.

    Args:
        source: path of a YAML file; the YAML itself, if it holds a line break; or a mapping.
        overrides: `path=value` each: `chain.1.dyadic.rank=3`, `dyadic.rank=3` or `weights.bits=20`; YAML values.

    Raises:
        ConfigError: no such file, not YAML, or an override whose path leads nowhere; with the place.
    """
    if isinstance(source, Mapping):
        document = Document(copy.deepcopy(dict(source)), "")
    elif isinstance(source, str) and "\n" in source:
        document = config_yaml.read(source, "<chain>")
    else:
        document = config_yaml.read(_text(Path(source)), str(source))
    if not isinstance(document.value, dict):
        raise ConfigError(document.place(()).says(f"got {shown(document.value)}, wanted keys such as 'chain:'"))
    for override in overrides:
        apply_override(document, override, SECTIONS)
    return document


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        text = f"not YAML: byte {error.start} ({error.object[error.start]:#04x}) is not UTF-8"
        raise ConfigError(at(str(path), None, None, text)) from None
    except OSError as error:
        raise ConfigError(at(str(path), None, None, f"cannot be read: {error.strerror}")) from None


def blocked_plugins(document: Document) -> tuple[str, ...]:
    """The plugins that a chain does not want, read before it can be checked."""
    section = document.value.get("plugins")
    names = section.get("block") if isinstance(section, dict) else None
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()


def validate(document: Document, registry: Registry) -> ChainConfig:
    """Check a chain's keys, types and ranges against what is installed.

    Args:
        document: as `read_chain` returns it.
        registry: what is installed.

    Raises:
        ConfigError: all mistakes at once, one a line, each with its place, what it got and what was wanted.
    """
    mistakes: list[tuple[Place, str]] = []
    frame = {key: value for key, value in document.value.items() if key != "chain"}
    checked = _check(Frame, frame, document, (), mistakes, known=("chain",))
    layers = _layers(document, registry, mistakes)
    if mistakes or checked is None:
        mistakes.sort(key=lambda mistake: mistake[0].order)
        raise ConfigError("\n".join(place.says(text) for place, text in mistakes))
    return ChainConfig(checked.weights, checked.input, checked.seed, checked.plugins, layers)


def _layers(document: Document, registry: Registry, mistakes: list[tuple[Place, str]]) -> tuple[LayerConfig, ...]:
    entries = document.value.get("chain")
    if not isinstance(entries, list) or not entries:
        got = f"got {shown(entries)}" if "chain" in document.value else "is missing"
        mistakes.append((document.place(("chain",)), f"chain: {got}, wanted a list of layers such as '- linear'"))
        return ()
    layers = []
    for i, entry in enumerate(entries):
        name = layer_name(entry)
        path: config_yaml.Path = ("chain", i)
        if name is None:
            text = f"chain[{i}]: got {shown(entry)}, wanted one layer as 'name' or 'name: {{parameters}}'"
            if isinstance(entry, dict) and entry:
                text += f"; indent the parameters below '{next(iter(entry))}:'"
            mistakes.append((document.place(path), text))
        elif name not in registry.reductions:
            text = f"chain[{i}]: unknown reduction {name!r}; {did_you_mean(name, registry.reductions)}"
            mistakes.append((document.place((*path, name), key=True), text))
        else:
            given = entry[name] if isinstance(entry, dict) and entry[name] is not None else {}
            model = registry.reductions[name].Parameters
            parameters = _check(model, given, document, (*path, name), mistakes)
            _check_losses(model, given, registry, document, (*path, name), mistakes)
            layers.append(LayerConfig(name, parameters))
    return tuple(layers)


def _check(
    model: type[BaseModel],
    value: Any,
    document: Document,
    path: config_yaml.Path,
    mistakes: list[tuple[Place, str]],
    known: Iterable[str] = (),
) -> Any:
    """Validate `value` as strict JSON (no text for a number, no true for 1); collects what is wrong."""
    try:
        text = json.dumps(value, default=_plain)
    except (TypeError, ValueError) as error:
        mistakes.append((document.place(path), f"{config_path(path)}: {error}, wanted plain YAML values"))
        return None
    try:
        return model.model_validate_json(text, strict=True)
    except ValidationError as error:
        for below, is_key, what in messages(error, model, value, known):
            whole = (*path, *below)
            shown_path = config_path(whole)
            mistakes.append((document.place(whole, key=is_key), f"{shown_path}: {what}" if shown_path else what))
        return None


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"got {shown(value)}")


def _check_losses(
    model: type[BaseModel],
    given: Any,
    registry: Registry,
    document: Document,
    path: config_yaml.Path,
    mistakes: list[tuple[Place, str]],
) -> None:
    """Look up the losses that a layer names, whatever else is wrong with it."""
    for name, field in model.model_fields.items():
        if field.annotation is not LossChoice or not isinstance(given, dict) or name not in given:
            continue
        try:
            choice = LossChoice.model_validate(given[name])
        except ValidationError:
            continue  # told with the layer's other parameters
        for below, is_key, text in loss_mistakes(choice, registry.losses):
            whole = (*path, name, *below)
            mistakes.append((document.place(whole, key=is_key), f"{config_path(whole)}: {text}"))


def config_path(path: config_yaml.Path) -> str:
    """A path as messages show it.

    >>> config_path(("chain", 1, "filter_tree", "classes"))
    'chain[1].filter_tree.classes'
    """
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


@contextmanager
def placed(document: Document) -> Iterator[None]:
    """Give a ConfigError from building the chain, whose text begins with a path, the place of that path."""
    try:
        yield
    except ConfigError as error:
        found = re.match(r"\w+(\[\d+\]|\.\w+)*", str(error))
        parts = re.findall(r"\w+", found[0]) if found else []
        path = tuple(int(part) if part.isdecimal() else part for part in parts)
        if not path or path[0] not in SECTIONS:
            raise
        raise ConfigError(document.place(path, key=True).says(str(error))) from None


def load_chain(
    source: str | Path | Mapping[str, Any], registry: Registry, overrides: Iterable[str] = ()
) -> ChainConfig:
    """Read and check a chain; see `read_chain` and `validate`."""
    return validate(read_chain(source, overrides), registry)


def to_yaml(config: ChainConfig, defaults: bool = True) -> str:
    """The chain as YAML, with all defaults spelled out or only with what was given; reading it gives it back."""
    return config_yaml.write(config.to_dict(defaults))
