"""Checks a written chain, and gathers every mistake with its place."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from pydantic import ValidationError

from hutch.core.chain.reduction import LayerConfig
from hutch.core.chain.registry import Registry
from hutch.core.config.adapter import adapter
from hutch.core.config.chain_config import ChainConfig
from hutch.core.config.document import Document, Path, Place, config_path, shown
from hutch.core.config.errors import loss_mistakes, messages
from hutch.core.config.limits import MOST_LAYERS
from hutch.core.config.override import layer_name
from hutch.core.config.sections import Frame
from hutch.core.errors import ConfigError, did_you_mean
from hutch.core.loss.losses import LossChoice
from hutch.core.parameters import parameters_of


def check_chain(document: Document, registry: Registry) -> ChainConfig:
    """Check a chain; see `hutch.core.config.read.validate`."""
    checker = Checker(document, registry)
    given = {key: value for key, value in document.value.items() if key != "chain"}
    frame = checker.check(Frame, given, (), ("chain",))
    layers = list(checker.layers())
    if layers and len(layers) == len(document.value["chain"]) and all(layer.parameters for layer in layers):
        checker.check_copies(layers)
    checker.finish()
    return ChainConfig(
        frame.weights,
        frame.input,
        frame.seed,
        frame.plugins,
        tuple(layers),
        (_written(frame, layers), _written(frame, layers, document)),
    )


def _written(frame: Frame, layers: Iterable[LayerConfig], given: Document | None = None) -> dict[str, Any]:
    """The chain as plain values: all of them, or only those that a document gives."""
    found: dict[str, Any] = adapter(Frame).dump_python(frame, mode="json", exclude_defaults=given is not None)
    found["chain"] = []
    for i, layer in enumerate(layers):
        values = adapter(type(layer.parameters)).dump_python(layer.parameters, mode="json")
        if given is not None:
            entry = given.value["chain"][i]
            values = _given(values, (entry[layer.name] if isinstance(entry, dict) else None) or {})
        found["chain"].append({layer.name: values} if values else layer.name)
    return found


def _given(values: Any, given: Any) -> Any:
    """The part of some values that was given; all of it where it was given in another form, as a loss by its name."""
    if isinstance(values, dict) and isinstance(given, dict) and given.keys() <= values.keys():
        return {key: _given(values[key], given[key]) for key in values if key in given}
    return values


class Checker:
    """Checks the parts of one document against the installed plugins.

    Args:
        document: the chain.
        registry: the installed plugins.
    """

    def __init__(self, document: Document, registry: Registry) -> None:
        self._document = document
        self._registry = registry
        self._mistakes: list[tuple[Place, str]] = []

    def finish(self) -> None:
        """Raise a ConfigError that lists all mistakes in the order of the file, one per line, if there are any."""
        if self._mistakes:
            self._mistakes.sort(key=lambda mistake: mistake[0].order)
            raise ConfigError("\n".join(place.says(text) for place, text in self._mistakes))

    def _complain(self, path: Path, text: str, *, key: bool = False, subject: str | None = None) -> None:
        """Record a mistake at `path`; the text begins with the path unless its place or another subject names it."""
        if self._document.is_overridden(path):
            subject = ""
        subject = config_path(path) if subject is None else subject
        self._mistakes.append((self._document.place(path, key=key), f"{subject}: {text}" if subject else text))

    def layers(self) -> Iterator[LayerConfig]:
        """Every sound layer."""
        entries = self._document.value.get("chain")
        if not isinstance(entries, list) or not entries:
            got = f"got {shown(entries)}" if "chain" in self._document.value else "is missing"
            self._complain(("chain",), f"{got}, wanted a list of layers such as '- linear'")
            return
        if len(entries) > MOST_LAYERS:
            self._complain(("chain",), f"got {len(entries)} layers, wanted at most {MOST_LAYERS}")
            return
        for i, entry in enumerate(entries):
            name = layer_name(entry)
            if name is None:
                text = f"got {shown(entry)}, wanted one layer as 'name' or 'name: {{parameters}}'"
                if isinstance(entry, dict) and entry:
                    text += f"; indent the parameters below '{next(iter(entry))}:'"
                self._complain(("chain", i), text)
            elif name not in self._registry.reductions:
                text = f"unknown reduction {name!r}; {self._registry.unknown('reductions', name)}"
                self._complain(("chain", i, name), text, key=True, subject=f"chain[{i}]")
            else:
                given = entry[name] if isinstance(entry, dict) and entry[name] is not None else {}
                kind = self._registry.reductions[name].Parameters
                parameters = self.check(kind, given, ("chain", i, name))
                self._check_losses(kind, given, ("chain", i, name))
                yield LayerConfig(name, parameters)

    def check_copies(self, layers: list[LayerConfig]) -> None:
        """Check the parameters that copies of layers change against the parameters of these layers."""
        for i, above in enumerate(layers):
            for j, changes in enumerate(self._registry.reductions[above.name].copies(above.parameters)):
                for name, values in changes.items():
                    path = ("chain", i, above.name, "copies", j, name)
                    places = [k for k in range(i + 1, len(layers)) if layers[k].name == name]
                    if not places:
                        below = [layer.name for layer in layers[i + 1 :]]
                        self._complain(path, f"no layer below; {did_you_mean(name, below)}", key=True)
                    for k in places:
                        entry = self._document.value["chain"][k]
                        given = (entry[name] if isinstance(entry, dict) else None) or {}
                        self.check(self._registry.reductions[name].Parameters, {**given, **values}, path)

    def check(self, kind: type[Any], value: Any, path: Path, known: Iterable[str] = ()) -> Any:
        """Validate a value as strict JSON: no text for a number, no true for 1; None if something is wrong.

        Args:
            kind: the expected type.
            value: plain values.
            path: its place.
            known: further names to suggest for an unknown key at the top.
        """
        try:
            text = json.dumps(value, default=_plain)
        except (TypeError, ValueError) as error:
            self._complain(path, f"{error}, wanted plain YAML values")
            return None
        try:
            return adapter(kind).validate_json(text, strict=True)
        except ValidationError as error:
            for below, is_key, what in messages(error, kind, value, known):
                self._complain((*path, *below), what, key=is_key)
            return None

    def _check_losses(self, kind: type[Any], given: Any, path: Path) -> None:
        """Look up the losses that a layer names, even if the layer has other mistakes."""
        for parameter in parameters_of(kind):
            name = parameter.name
            if parameter.annotation is not LossChoice or not isinstance(given, dict) or name not in given:
                continue
            try:
                choice = adapter(LossChoice).validate_python(given[name])
            except ValidationError:
                continue  # reported with the layer's other parameters
            for below, is_key, what in loss_mistakes(choice, self._registry):
                self._complain((*path, name, *below), what, key=is_key)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"got {shown(value)}")
