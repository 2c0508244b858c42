"""The chain of a VW command line that continues a model: the changes that options may make, and those refused."""

import json
from argparse import Namespace
from collections.abc import Mapping
from typing import Any

import numpy as np

from hutch.chain import Chain
from hutch.core.chain.model_of_chain import load_chain_model
from hutch.core.chain.stored import Stored
from hutch.core.config.override import layer_name
from hutch.core.errors import UsageError
from hutch.vw.decisions import declared_layer
from hutch.vw.declared import DECLARED
from hutch.vw.model_state import set_regularization
from hutch.vw.translate import chain_of, linear_parameters, terms_of, with_slots

_EXPLORERS = tuple(name for name in DECLARED if name.startswith("explore_"))
_STATELESS = {
    "binary": ("link", "active", "linear"),
    "link": ("active", "linear"),
    "sample_action": _EXPLORERS,
    "choose_slots": _EXPLORERS,
}
"""Layers that a command line may add to a model that was learned without them, and above which others."""

_OF_SLOTS = {"choose_slots", "choose_slate"}
_CHANGEABLE = {"explore_softmax": ("rate",), "choose_slots": ("all_slots",), "one_hidden_layer": ("dropout",)}
"""Parameters of a layer that the options may change, beside `epsilon` and those a model's explorer leaves unset."""


def load_chain(options: Namespace) -> Chain:
    """The chain of the model, with the learner's parameters and the input options that the command line names.

    Raises:
        HutchError: no model, or options that contradict it.
    """
    path = options.initial_regressor
    arrays, metadata = _model(path, options)
    asked, chain = chain_of(options), metadata["chain"]
    bits = chain["weights"]["bits"]
    if options.bit_precision not in (None, bits):
        raise UsageError(f"-b: got {options.bit_precision}, but the model has {bits}")
    for name in ("hash", "hash_seed"):
        if name in asked["input"] and asked["input"][name] != chain["input"].get(name):
            raise UsageError(f"--{name}: got {asked['input'][name]}, but the model has {chain['input'].get(name)}")
    layers = [*chain["chain"]]
    there = {str(layer_name(layer)): _parameters(layer) for layer in layers}
    explorer = next((name for name in there if name.startswith("explore_")), None)
    wanted = asked["chain"][:-1]
    if explorer and not any(str(layer_name(layer)).startswith("explore_") for layer in wanted):
        wanted.append(declared_layer(explorer, options))
    changed: dict[str, dict[str, Any]] = {}
    for layer in reversed(wanted):  # each that is added goes above those below it
        if explorer and layer_name(layer) == "explore_epsilon":  # from --cb_explore_adf; the model names the explorer
            layer = declared_layer(explorer, options)
        name, parameters = str(layer_name(layer)), _parameters(layer)
        free = {"epsilon", *_CHANGEABLE.get(name, ())}
        if name == explorer:
            free |= parameters.keys() - there[name].keys() - {"regressor"}  # parameters at their defaults in the model
        changed[name] = {key: parameters.pop(key) for key in free & parameters.keys()}
        _check_or_add({name: parameters} if name in map(layer_name, layers) else layer, layers)
    arrays = _moved(arrays, chain["chain"], layers)
    if "choose_slots" in changed.keys() - there.keys():
        arrays["layer.0.choose_slots.several"] = np.zeros(1, np.uint64)
    learner = linear_parameters(options)
    if changed.keys() & _OF_SLOTS and not terms_of(options):  # the model has the terms
        terms = _parameters(layers[-1]).get("interactions", [])
        learner["interactions"] = terms if there.keys() & _OF_SLOTS else with_slots(terms)
    overrides = [f"chain.{len(layers) - 1}.{layer_name(layers[-1])}.{name}={json.dumps(value)}"
                 for name, value in learner.items()]  # fmt: skip
    overrides += [f"input.{name}={json.dumps(asked['input'][name])}" for name in _INPUT if name in asked["input"]]
    for k, layer in enumerate(layers):
        if options.probabilities and layer_name(layer) == "one_against_all":
            overrides.append(f"chain.{k}.one_against_all.probabilities=true")
        name = str(layer_name(layer))
        overrides += [f"chain.{k}.{name}.{key}={json.dumps(value)}" for key, value in changed.get(name, {}).items()]
    overrides += [f"seed={options.random_seed}"] if options.random_seed is not None else []
    found = Chain.from_arrays(arrays, {**metadata, "chain": {**chain, "chain": layers}}, path, overrides)
    set_regularization(found, options)
    base: Any = found.layers[-1]
    if options.testonly and base.name == "linear":
        base.materialise(found.weights)
    return found


def _model(path: str, options: Namespace) -> tuple[dict[str, Stored], Mapping[str, Any]]:
    """The content of a model written by Hutch or VW."""
    from hutch.vw.model_binary import is_vw_model, read_vw_model

    if not is_vw_model(path):
        return load_chain_model(path)
    chain = read_vw_model(path, options)
    return dict(chain.arrays()), chain.metadata()


_INPUT = ("constant", "ignore", "keep")


def _parameters(layer: Any) -> dict[str, Any]:
    return {} if isinstance(layer, str) else dict(layer[layer_name(layer)] or {})


def _check_or_add(layer: Any, layers: list[Any]) -> None:
    """Match a layer of the command line with the model's, or insert it if it holds no state.

    Raises:
        UsageError: the model has it with other parameters, or not at all.
    """
    name, asked = layer_name(layer), _parameters(layer)
    for found in layers:
        if layer_name(found) == name:
            there = _parameters(found)
            for key, value in asked.items():
                if (
                    key in there
                    and key != "probabilities"
                    and json.dumps(there[key]) != json.dumps(value)
                    and value != "detect"
                ):
                    raise UsageError(f"{name}: got {key} {value}, but the model has {there[key]}")
            return
    if name not in _STATELESS:
        raise UsageError(f"the model was learned without {name}, which the options ask for; its chain: "
                         + ", ".join(str(layer_name(each)) for each in layers))  # fmt: skip
    below = [k for k, each in enumerate(layers) if layer_name(each) in _STATELESS[name]]
    layers.insert(0 if name == "choose_slots" else below[0] if below else len(layers) - 1, layer)


def _moved(arrays: dict[str, Stored], before: list[Any], after: list[Any]) -> dict[str, Stored]:
    """The arrays of a model, under the places that its layers have now."""
    if len(before) == len(after):
        return arrays
    places = {id(layer): k for k, layer in enumerate(after)}
    found = {}
    for name, array in arrays.items():
        head, _, rest = name.partition(".")
        place, _, rest = rest.partition(".") if head == "layer" else ("", "", "")
        if place.isascii() and place.isdecimal() and int(place) < len(before):
            name = f"layer.{places[id(before[int(place)])]}.{rest}"
        found[name] = array
    return found
