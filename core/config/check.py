"""Checks a chain as it is written, and gathers every mistake with its place."""

import json
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
from pydantic import BaseModel, TypeAdapter, ValidationError

from hutch.core.chain.reduction import LayerConfig, Reduction
from hutch.core.chain.registry import Registry
from hutch.core.config.document import Document, Path, Place, shown
from hutch.core.config.errors import loss_mistakes, messages
from hutch.core.config.override import layer_name
from hutch.core.config.read import ChainConfig
from hutch.core.config.sections import Frame
from hutch.core.errors import ConfigError
from hutch.core.loss.losses import LossChoice


def config_path(path: Path) -> str:
    """A path as messages show it.

    >>> config_path(("chain", 1, "filter_tree", "classes"))
    'chain[1].filter_tree.classes'
    """
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def check_chain(document: Document, registry: Registry) -> ChainConfig:
    """Check a chain; see `hutch.core.config.read.validate`."""
    checker = Checker(document, registry)
    given = {key: value for key, value in document.value.items() if key != "chain"}
    frame = checker.check(Frame, given, (), ("chain",))
    layers = list(checker.layers())
    checker.finish()
    return ChainConfig(
        _plain_object(frame.weights),
        _plain_object(frame.input),
        frame.seed,
        _plain_object(frame.plugins),
        tuple(LayerConfig(name, _as_taken(registry.reductions[name], parameters)) for name, parameters in layers),
        (_written(frame, layers, True), _written(frame, layers, False)),
    )


def _as_taken(reduction: type[Reduction], parameters: BaseModel) -> Any:
    return _plain_object(parameters) if reduction.parameters_module() else parameters


def _plain_object(model: BaseModel) -> Any:
    """The values of a model, which pydantic is not needed for."""
    return SimpleNamespace(**vars(model))


def _written(frame: Frame, layers: Iterable[tuple[str, Any]], defaults: bool) -> dict[str, Any]:
    """The chain as plain values, with all defaults or only with what was given."""
    found = frame.model_dump(mode="json", exclude_defaults=not defaults)
    found["chain"] = []
    for name, model in layers:
        parameters = model.model_dump(mode="json", exclude_unset=not defaults)
        found["chain"].append({name: parameters} if parameters else name)
    return found


class Checker:
    """Checks the parts of one document against what is installed.

    Args:
        document: the chain.
        registry: what is installed.
    """

    def __init__(self, document: Document, registry: Registry) -> None:
        self._document = document
        self._registry = registry
        self._mistakes: list[tuple[Place, str]] = []

    def finish(self) -> None:
        """Raise a ConfigError that tells all mistakes as they stand in the file, one a line, if there are any."""
        if self._mistakes:
            self._mistakes.sort(key=lambda mistake: mistake[0].order)
            raise ConfigError("\n".join(place.says(text) for place, text in self._mistakes))

    def _complain(self, path: Path, text: str, *, key: bool = False, subject: str | None = None) -> None:
        """Note a mistake at `path`, which the text begins with unless another subject is given."""
        subject = config_path(path) if subject is None else subject
        self._mistakes.append((self._document.place(path, key=key), f"{subject}: {text}" if subject else text))

    def layers(self) -> Iterator[tuple[str, Any]]:
        """Name and parameters of every sound layer."""
        entries = self._document.value.get("chain")
        if not isinstance(entries, list) or not entries:
            got = f"got {shown(entries)}" if "chain" in self._document.value else "is missing"
            self._complain(("chain",), f"{got}, wanted a list of layers such as '- linear'")
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
                model = self._registry.reductions[name].Parameters
                parameters = self.check(model, given, ("chain", i, name))
                self._check_losses(model, given, ("chain", i, name))
                yield name, parameters

    def check(self, model: type[BaseModel], value: Any, path: Path, known: Iterable[str] = ()) -> Any:
        """Validate a value as strict JSON: no text for a number, no true for 1; None if something is wrong.

        Args:
            model: what it is meant to be.
            value: plain values.
            path: where it stands.
            known: further names to offer for an unknown key at its top.
        """
        try:
            text = json.dumps(value, default=_plain)
        except (TypeError, ValueError) as error:
            self._complain(path, f"{error}, wanted plain YAML values")
            return None
        try:
            return model.model_validate_json(text, strict=True)
        except ValidationError as error:
            for below, is_key, what in messages(error, model, value, known):
                self._complain((*path, *below), what, key=is_key)
            return None

    def _check_losses(self, model: type[BaseModel], given: Any, path: Path) -> None:
        """Look up the losses that a layer names, whatever else is wrong with it."""
        for name, field in model.model_fields.items():
            if field.annotation is not LossChoice or not isinstance(given, dict) or name not in given:
                continue
            try:
                choice = TypeAdapter(LossChoice).validate_python(given[name])
            except ValidationError:
                continue  # told with the layer's other parameters
            for below, is_key, what in loss_mistakes(choice, self._registry):
                self._complain((*path, name, *below), what, key=is_key)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"got {shown(value)}")
