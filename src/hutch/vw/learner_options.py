"""VW's options for the base learner and the input, as overrides of a chain."""

import json
from typing import Any

from hutch.core.config.override import OptionOverride, layer_name
from hutch.core.config.read import read_chain
from hutch.core.errors import ConfigError, UsageError, warn
from hutch.vw.options.option import Option
from hutch.vw.options.table import LEARNER_OPTIONS
from hutch.vw.translate import letters, loss_of, terms_of


def _given(values: Any) -> dict[Option, Any]:
    found = {option: option.given(values) for option in LEARNER_OPTIONS}
    return {option: value for option, value in found.items() if value is not None}


def vw_chain(values: Any) -> dict[str, Any]:
    """The chain if none is named: one `linear` layer, namespaces by letter if options name them so."""
    chain: dict[str, Any] = {"chain": [{"linear": {}}]}
    if any(option.reads in ("terms", "letters") for option in _given(values)):
        chain["input"] = {"namespaces": "letter"}
    return chain


_FIRST = ("initial_weight", "random_weights", "normal_weights", "truncated_normal_weights", "constant", "initial_t")
_RANGE = ("min_prediction", "max_prediction")


def warn_of_no_effect(values: Any, model: str) -> None:
    """Warn of the options that set what a model has already: its first weights, and the range of its predictions."""
    for option in _given(values):
        if option.name in _FIRST + _RANGE:
            kept = "the weights" if option.name in _FIRST else "a range of predictions"
            warn(f"--{option.name}: has no effect beside -i: {model} has {kept} already")


def vw_overrides(values: Any, source: Any) -> list[str]:
    """The `path=value` overrides for VW's options.

    Args:
        values: those of `LEARNER_OPTIONS` as attributes; None and empty lists are not given.
        source: the chain that they override, as for `read_chain`.

    Raises:
        UsageError: options that contradict each other or the chain.

    >>> from types import SimpleNamespace
    >>> values = {option.name: None for option in LEARNER_OPTIONS} | {"bit_precision": 10, "learning_rate": 0.1}
    >>> vw_overrides(SimpleNamespace(**values), {"chain": ["linear"]})
    ['weights.bits=10', 'chain.0.linear.learning_rate=0.1']
    """
    given = _given(values)
    if not given:
        return []
    document = read_chain(source)
    layers = document.value.get("chain")
    name = layer_name(layers[-1]) if isinstance(layers, list) and layers else None
    if name is None:
        raise ConfigError(document.place(("chain",)).says("chain: wanted a list of layers such as '- linear'"))
    by_letter = (document.value.get("input") or {}).get("namespaces") == "letter"
    found: dict[str, tuple[str, Any]] = {}
    for option, value in given.items():
        place = f"chain.{len(layers) - 1}.{name}.{option.key}" if option.part == "base" else option.sets
        if option.reads == "loss":
            value = loss_of(values)
        elif option.reads == "terms":
            value = terms_of(values)
            if not by_letter:
                raise UsageError(
                    "-q, --cubic and --interactions name namespaces by letter, but the chain goes by name: "
                    "--set input.namespaces=letter, or write interactions: [[first, second]] into the chain"
                )
        elif option.reads == "letters" and by_letter:
            value = letters(value)
        elif option.reads == "value" and place in found:
            raise UsageError(f"got --{found[place][0]} and --{option.name}, wanted one of them")
        found[place] = (option.name, value)
    return [OptionOverride(f"{place}={json.dumps(value)}", f"--{name}") for place, (name, value) in found.items()]
