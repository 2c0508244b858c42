"""VW's names for parameters of the base learner and of the input, as overrides of a chain."""

import json
from collections.abc import Mapping
from typing import Any

from hutch.core.config.override import layer_name
from hutch.core.config.read import read_chain
from hutch.core.errors import ConfigError, UsageError

TOP = {
    "bits": "weights.bits",
    "hash": "input.hash",
    "hash_seed": "input.hash_seed",
    "random_seed": "seed",
}
"""Options that set a key of the chain's top."""
BASE = ("learning_rate", "power_t", "initial_t", "decay", "l1", "l2", "min_prediction", "max_prediction")
"""Options that set a parameter of the base learner."""
BY_LETTER = ("interactions", "ignore", "keep")
"""Options in which VW's users name namespaces by their first letters."""


def vw_chain(options: Mapping[str, Any]) -> dict[str, Any]:
    """The chain of someone who names none: one `linear` layer, namespaces by letter if options name them so."""
    chain: dict[str, Any] = {"chain": [{"linear": {}}]}
    if any(options.get(name) for name in BY_LETTER):
        chain["input"] = {"namespaces": "letter"}
    return chain


def vw_overrides(options: Mapping[str, Any], source: Any) -> list[str]:
    """The `path=value` overrides that VW's options stand for.

    Args:
        options: values by name: `bits`, `loss`, `quantile_tau`, `constant`, and those of `TOP`, `BASE` and `BY_LETTER`;
            None and empty lists are not given.
        source: the chain that they override, as `read_chain` takes it.

    Raises:
        UsageError: options that contradict each other or the chain.

    >>> vw_overrides({"bits": 10, "learning_rate": 0.1}, {"chain": ["linear"]})
    ['weights.bits=10', 'chain.0.linear.learning_rate=0.1']
    """
    given = {name: value for name, value in options.items() if value not in (None, [], ())}
    if not given:
        return []
    document = read_chain(source)
    layers = document.value.get("chain")
    base = layer_name(layers[-1]) if isinstance(layers, list) and layers else None
    if base is None:
        raise ConfigError(document.place(("chain",)).says("chain: wanted a list of layers such as '- linear'"))
    base = f"chain.{len(layers) - 1}.{base}"
    found = [f"{path}={json.dumps(given[name])}" for name, path in TOP.items() if name in given]
    found += [f"{base}.{name}={json.dumps(given[name])}" for name in BASE if name in given]
    found += _loss(given, base)
    if given.get("constant") is False:
        found.append("input.constant=false")
    by_letter = (document.value.get("input") or {}).get("namespaces") == "letter"
    for name in ("ignore", "keep"):
        if name in given:
            names = sorted({letter for value in given[name] for letter in value}) if by_letter else list(given[name])
            found.append(f"input.{name}={json.dumps(names)}")
    if "interactions" in given:
        if not by_letter:
            raise UsageError(
                "-q, --cubic and --interactions name namespaces by letter, but the chain goes by name: "
                "--set input.namespaces=letter, or write interactions: [[first, second]] into the chain"
            )
        found.append(f"{base}.interactions={json.dumps(list(given['interactions']))}")
    return found


def _loss(given: Mapping[str, Any], base: str) -> list[str]:
    loss, tau = given.get("loss"), given.get("quantile_tau")
    if tau is None:
        return [] if loss is None else [f"{base}.loss={json.dumps(loss)}"]
    if loss != "quantile":
        raise UsageError(f"--quantile_tau: got --loss_function {loss}, wanted quantile")
    return [f"{base}.loss={json.dumps({loss: {'tau': tau}})}"]
