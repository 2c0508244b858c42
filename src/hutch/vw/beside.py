"""The options of a model together with those that a command line gives beside `-i`."""

import copy
from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from hutch.core.config.chain_config import ChainConfig
from hutch.core.config.override import layer_name
from hutch.core.config.read import load_chain
from hutch.core.errors import HutchError, UsageError, warn
from hutch.plugins.manager import installed
from hutch.vw.command_line import words_of
from hutch.vw.idle import leave_out, without_idle
from hutch.vw.options.declared import DECLARED
from hutch.vw.options.option import EXPLORING, Option
from hutch.vw.options.table import OPTIONS
from hutch.vw.parse import parse
from hutch.vw.translate import LOSS_PARAMETERS, MADE, chain_of, terms_of

_LISTS = ("ignore", "ignore_linear", "keep")
"""Options whose values beside `-i` come on top of the model's; those of all others replace them."""
_EXPLORERS = tuple(
    option.name
    for layer in DECLARED.values()
    if layer.explores
    for option in layer.options
    if option.needs == EXPLORING
)
_INSTEAD = (
    (("quadratic", "cubic", "interactions"), ()),
    (("sgd", "adaptive", "normalized", "invariant"), ()),
    (("initial_weight", "random_weights", "normal_weights", "truncated_normal_weights"), ()),
    (("loss_function",), tuple(LOSS_PARAMETERS)),
    (_EXPLORERS, ()),
    (("cb_explore",), ("cb",)),
)
"""Options that replace each other, and others that they make meaningless."""
_RANGES = ("mellowness", "cb_min_cost", "cb_max_cost")
"""Options for ranges of costs, by which `--squarecb` eliminates actions only if it is asked to."""
_SHOWN = ("scores", "named_labels")
"""Options for the output of a layer."""
_BESIDES = (
    *MADE,
    "print",
    "dictionary_path",
    "feature_mask",
    "sgd",
    "adaptive",
    "normalized",
    "invariant",
    "indexing",
    "simulation",
    "mellowness",
    *_SHOWN,
)
"""Options that concern the chain, though the table names no place of it."""
_NOTHING = ("accepted, and changes nothing", "accepted; weights fill one table, and are the same")


def own_options(config: ChainConfig) -> Namespace | None:
    """The options by which a command line makes a model's chain; None if there are none."""
    try:
        found = parse(words_of(config))
        again = load_chain(chain_of(copy.deepcopy(found)), installed().registry)
    except HutchError:
        return None
    return found if again.chain == config.chain else None


def of_chain(options: Namespace) -> list[Option]:
    """The options given that have a meaning for a chain, not only for a run."""
    return [
        option
        for option in OPTIONS
        if option.supported
        and (option.sets or option.name in _BESIDES or option.layer)
        and option.given(options) is not None
        and option.note not in _NOTHING
    ]


def merged(own: Namespace, given: Namespace) -> Namespace:
    """The options of a model and those given beside it, as one command line would have them."""
    found = copy.deepcopy(own)
    if found.ccb_explore_adf or found.slates or found.explore_eval or found.cbify_ldf:
        found.cb_explore_adf = True  # these options imply it, and those that need it stay
    names = {option.name for option in OPTIONS if option.supported and option.given(given) is not None}
    for those, more in _INSTEAD:
        if names.intersection(those):
            leave_out(found, *those, *more)
    for name in names - {"cb" if found.cb_explore == given.cb else ""}:  # an explorer of the same classes implies it
        value = getattr(given, name)
        setattr(found, name, [*getattr(found, name), *value] if name in _LISTS else value)
    for option in OPTIONS:  # of those that were dropped
        needed = [name for name in option.needs if getattr(found, name, None) not in (None, False)]
        if option.supported and option.needs and not needed and option.name not in names:
            leave_out(found, option.name)
    found.initial_regressor = None
    return found


def warn_of_no_effect(own: Namespace, given: Namespace, wanted: dict[str, Any]) -> None:
    """Warn of the options given that change nothing, though the model has other values.

    Args:
        own: options of the model.
        given: those of the command line.
        wanted: the chain of both together.
    """
    layers = {
        str(layer_name(layer)): {} if isinstance(layer, str) else layer[layer_name(layer)] for layer in wanted["chain"]
    }
    for option in of_chain(given):
        asks_for_layer = option.brings_layer and not option.key and option.layer in layers
        shown = option.name in _SHOWN or (option.name == "probabilities" and "probabilistic_label_tree" in layers)
        if asks_for_layer or shown or option.given(own) == option.given(given):
            continue
        if option.reads == "terms" and set(terms_of(given)) <= set(terms_of(own)):
            continue
        less = copy.copy(given)
        leave_out(less, option.name)
        together = merged(own, less)
        without_idle(together)
        try:
            idle = chain_of(together) == wanted or _is_idle(option.name, layers)
        except UsageError:
            continue  # another option needs it
        if idle:
            warn(f"--{option.name}: has no effect on this model, whose chain is {', '.join(layers)}")


def _is_idle(name: str, layers: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether an option sets a parameter that has no meaning beside the others of its layer."""
    *_, base = layers.values()
    terms = ["".join(term) for term in base.get("interactions", ())]
    if name == "permutations":
        return all(len(set(term)) == len(term) for term in terms)
    if name == "leave_duplicate_interactions":
        alike = len({"".join(sorted(term)) for term in terms}) < len(terms)
        return not alike and all(term.count(":") < 2 for term in terms)
    if name == "loss_01_ratio":
        return all(layer.get("cost") != "zero_one" for layer in layers.values())
    squarecb = layers.get("explore_squarecb", {"eliminate": True})
    return name in _RANGES and not squarecb.get("eliminate")
