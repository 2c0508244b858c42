"""The chain of a VW command line that continues a model: the changes that options may make, and those refused."""

import copy
import json
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from hutch.chain import Chain
from hutch.core.chain.contract import width_of
from hutch.core.chain.model_of_chain import load_chain_model
from hutch.core.chain.reduction import LayerConfig
from hutch.core.chain.stored import Stored
from hutch.core.config.chain_config import ChainConfig
from hutch.core.config.override import layer_name
from hutch.core.config.read import load_chain as read_config
from hutch.core.errors import UsageError, warn
from hutch.core.parameters import values_of
from hutch.plugins.manager import installed
from hutch.vw.beside import merged, of_chain, own_options, warn_of_no_effect
from hutch.vw.command_line import words_of
from hutch.vw.idle import leave_out, without_idle
from hutch.vw.model_state import set_regularization
from hutch.vw.options.declared import DECLARED
from hutch.vw.options.table import NAMED, OPTIONS
from hutch.vw.predicting import PREDICTS_ONLY, forget_rates
from hutch.vw.translate import MADE, chain_of

_EXPLORERS = tuple(name for name in DECLARED if name.startswith("explore_"))
_ADDABLE = (
    *_EXPLORERS,
    "few_actions",
    "link",
    "binary",
    "ngrams",
    "sample_action",
    "choose_slots",
    "action_probabilities",
    "rejection_sampling",
)
"""Layers that a command line may put on a learned chain, since they learn nothing."""
_FIXED = {
    "linear": {"adaptive", "adapt_to", "normalized"},
    "matrix_factorization": {"rank"},
    "kernel_svm": {"kernel", "bandwidth", "degree", "l2", "pool"},
    "latent_dirichlet_allocation": {"topics"},
    "link": {"function"},
    "contextual_bandit": {"type"},
    "cost_sensitive_with_features": {"method"},
    "explore_first": {"decisions"},
    "explore_decaying": {"models"},
    "explore_cover": {"regressor"},
    "action_per_class": {"classes"},
    "bandit_per_class": {"classes", "type", "evaluates"},
    "offset_tree": {"classes"},
    "explore_classes": {"classes", "method", "policies", "decisions"},
    "simulate_bandit": {"classes"},
    "action_density": {"parts", "lowest", "highest", "bandwidth"},
    "action_tree": {"classes", "reach"},
    "simulate_part_bandit": {"classes"},
    "zeroth_order": {"policy"},
}
"""Parameters by which the layers have learned; all others of these layers, and of those not named here, may change."""
_FREE = {
    "one_against_all": {"first_class", "probabilities", "predict_first", "negatives"},
    "cost_sensitive_one_against_all": {"first_class"},
    "eigen_memory_tree": set[str](),
    "memory_tree": {"leaf_multiplier", "alpha", "replays", "online", "learns_replays"},
    "error_correcting_tournament": set[str](),
    "logarithmic_tree": {"swap_resistance"},
    "one_hidden_layer": {"dropout"},
    "marginal": {"decay", "denominator", "numerator", "update_first", "weighted"},
    "polynomial_link": set[str](),
    "probabilistic_label_tree": {"threshold", "best"},
    "recall_tree": {"penalty", "randomized"},
    "stagewise_polynomial": {"exponent", "predict_first"},
    "boosting": {"edge", "predict_first"},
    "bootstrap": {"type"},
    "active": {"mellowness", "simulation"},
    "active_cover": {"mellowness", "alpha", "beta", "predict_first"},
    "cost_sensitive_active": {"mellowness", "width", "of_best", "budget"},
}
"""Layers of which only these parameters may change."""
_FIRST = {"initial_weight", "random_weights", "initial_constant", "initial_t"}
"""Parameters that set the first weights."""
_RANGE = {"min_prediction": "min_label", "max_prediction": "max_label"}
"""Ends of the range of predictions: options, and counters of the chain, which a model keeps."""
_INPUT = ("ignore", "keep")
_MADE = ("affixes", "shapes", "dictionaries", "renamed")


def load_chain(options: Namespace) -> Chain:
    """The chain of the model, with what the command line adds to it or changes.

    Raises:
        HutchError: no model, or options that contradict it.
    """
    arrays, metadata = _model(options.initial_regressor, options)
    names = (metadata.get("remarks") or {}).get("named_labels")
    if names is not None and options.named_labels not in (None, names):
        raise UsageError(f"--named_labels: got {options.named_labels}, but the model has {names}")
    if given := of_chain(options):
        of_options = [option.name for option in given]
        arrays, metadata, final, first = _continued(options, of_options, arrays, metadata)
        found = Chain.from_arrays(arrays, metadata, options.initial_regressor, config=final)
        if first:
            _begin_again(found, final, first)
        if _RANGE.keys() & of_options:
            _keep_range(found, options)
    else:
        found = Chain.from_arrays(arrays, metadata, options.initial_regressor)
    if PREDICTS_ONLY in found.remarks and not options.testonly:
        forget_rates(found)
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


def _continued(
    options: Namespace, names: list[str], arrays: dict[str, Stored], metadata: Mapping[str, Any]
) -> tuple[dict[str, Stored], Mapping[str, Any], dict[str, Any], set[str]]:
    """A model's content under the places of the layers of the chain that goes on, and that chain.

    Args:
        options: the command line.
        names: of its options that concern the chain.
        arrays, metadata: of the model.

    Returns:
        Arrays and metadata as `Chain.from_arrays` takes them, the chain, and its parameters of first weights that are
        new.

    Raises:
        UsageError: options that contradict the model.
    """
    registry, chain = installed().registry, metadata["chain"]
    model = read_config(chain, registry)
    _check_input(options, names, model)
    given, options = options, copy.copy(options)
    for name, field in _RANGE.items():
        if getattr(options, name) is not None:
            setattr(options, name, np.asarray(arrays[f"shared.{field}"]).item())
    own = own_options(model)
    if own is None:
        wanted = _plain(options, chain)
    else:
        try:
            together = merged(own, options)
            for name in (name for names in without_idle(together).values() for name in names):
                for each in (options, given):
                    leave_out(each, name)
                warn(f"--{name}: has no effect on this model, whose options are {' '.join(words_of(model))}")
            wanted = chain_of(together)
        except UsageError as error:
            raise UsageError(f"{error}; the model has {' '.join(words_of(model))}") from None
        warn_of_no_effect(own, options, wanted)
    changed = {name: wanted["input"][name] for name in _INPUT if name in wanted["input"] and name in names}
    if set(MADE) & set(names):
        changed |= {name: wanted["input"][name] for name in _MADE if name in wanted["input"]}
    changed |= {"constant": False} if options.noconstant else {}
    final = {**chain, "chain": wanted["chain"], "input": {**chain["input"], **changed}}
    final |= {"seed": options.random_seed} if options.random_seed is not None else {}
    config = read_config(final, registry)
    places = _places(model.chain, config.chain)
    _check_width(model.chain, config.chain)
    written = [chain["chain"][places[k]] if k in places else wanted["chain"][k] for k in range(len(config.chain))]
    metadata = {**metadata, "chain": {**chain, "chain": written}}
    arrays = _moved(arrays, {old: new for new, old in places.items()})
    if (
        len(places) < len(written) or options.sparse_l2 or options.oaa_subsample
    ):  # there is state that the model does not have
        small = Chain.from_config(final | {"weights": {"bits": min(model.weights.bits, 16)}}).arrays()
        arrays |= {name: array.copy() for name, array in small.items() if name not in arrays}
    old, base = model.chain[-1].parameters, config.chain[-1].parameters
    first = {name for name in _FIRST if getattr(old, name, None) != getattr(base, name, None)}
    return arrays, metadata, final, first


def _plain(options: Namespace, chain: Mapping[str, Any]) -> dict[str, Any]:
    """The chain of a model that no command line of VW makes, with the parameters of its learner that options name.

    Raises:
        UsageError: options for other layers, or parameters that its learner does not have.
    """
    asked = chain_of(options)
    layers = [{str(layer_name(layer)): dict(parameters_in(layer))} for layer in chain["chain"]]
    for wanted in asked["chain"][:-1]:
        name = layer_name(wanted)
        there = next((layer[name] for layer in layers if name in layer), None)
        if there is None:
            raise UsageError(f"{name}: VW has no such chain as the model's, and adds nothing to it: {_listed(layers)}")
        for key, value in parameters_in(wanted).items():
            if value != "detect" and json.dumps(there.get(key)) != json.dumps(value):
                raise UsageError(f"{name}: got {key} {value}, but the model has {there.get(key)}")
    ((base, parameters),) = layers[-1].items()
    _check_base(str(layer_name(asked["chain"][-1])), base, usual="linear")
    for key, value in parameters_in(asked["chain"][-1]).items():
        if key not in parameters:
            raise UsageError(f"{_options_for([key])}: the model was learned by {base}, which does not have it")
        parameters[key] = value
    return {"chain": layers, "input": asked["input"]}


def parameters_in(layer: Any) -> Mapping[str, Any]:
    """The parameters of a layer of a chain in plain values."""
    return {} if isinstance(layer, str) else layer[layer_name(layer)] or {}


def _options_for(keys: Iterable[str]) -> str:
    """The options for parameters of the learner."""
    return ", ".join(f"--{option.name}" for option in OPTIONS if option.part == "base" and option.key in keys)


def _listed(layers: Iterable[Any]) -> str:
    return "its chain is " + ", ".join(str(layer_name(layer)) for layer in layers)


def _check_base(asked: str, there: str, usual: str = "") -> None:
    """Refuse another learner than the model's; `usual` is the one of options that name none."""
    if asked not in (there, usual):
        raise UsageError(f"--{DECLARED[asked].options[0].name}: the model was learned by {there}, got {asked}")


def _check_input(options: Namespace, names: list[str], model: ChainConfig) -> None:
    """Refuse options that hash features otherwise than the model.

    Raises:
        UsageError: there are any.
    """
    bits = model.weights.bits
    if options.bit_precision not in (None, bits):
        raise UsageError(f"-b: got {options.bit_precision}, but the model has {bits}")
    for name in ("hash", "hash_seed"):
        if (value := getattr(options, name)) not in (None, getattr(model.input, name)):
            raise UsageError(f"--{name}: got {value}, but the model has {getattr(model.input, name)}")
    by_letter = [f"--{name}" for name in names if NAMED[name].reads in ("terms", "letters")]
    if by_letter and model.input.namespaces == "name":
        raise UsageError(f"{by_letter[0]}: it names namespaces by letter, but the model has their full names")


def _places(before: Sequence[LayerConfig], after: Sequence[LayerConfig]) -> dict[int, int]:
    """The places that layers of a chain had in the model, by those that they have now.

    Raises:
        UsageError: a layer that learns is new or gone, or its parameters are not those by which it learned.
    """
    _check_base(after[-1].name, before[-1].name)
    chain = "its chain is " + ", ".join(layer.name for layer in before)
    rest, names, found = list(enumerate(before)), {layer.name for layer in after}, dict[int, int]()
    for k, layer in enumerate(after):
        while rest and rest[0][1].name in _EXPLORERS and rest[0][1].name not in names:
            rest.pop(0)  # another one takes its place
        if rest and rest[0][1].name == layer.name:
            found[k] = rest[0][0]
            _check_same(rest.pop(0)[1], layer)
        elif rest and rest[0][1].name not in names:
            raise UsageError(f"the model was learned with {rest[0][1].name}, which the options leave out; {chain}")
        elif layer.name not in _ADDABLE:
            raise UsageError(f"the model was learned without {layer.name}, which the options ask for; {chain}")
    return found


def _check_same(there: LayerConfig, asked: LayerConfig) -> None:
    """Check that a layer keeps the parameters by which it learned.

    Raises:
        UsageError: it does not.
    """
    old, name = values_of(there.parameters), there.name
    for key, value in values_of(asked.parameters).items():
        free = key in _FREE[name] if name in _FREE else key not in _FIXED.get(name, ())
        if value != old[key] and not free:
            raise UsageError(f"{name}: got {key} {value}, but the model has {old[key]}")


def _check_width(before: Sequence[LayerConfig], after: Sequence[LayerConfig]) -> None:
    """Check that sub-models lie where they lay in the model.

    Raises:
        UsageError: a layer needs others.
    """
    kinds = installed().registry.reductions
    there, wanted = (
        [(layer.name, count) for layer in each if (count := width_of(kinds[layer.name], layer.parameters)) > 1]
        for each in (before, after)
    )
    if there != wanted:
        name, count = next(pair for pair in (*wanted, *there) if pair not in there or pair not in wanted)
        got = f"got {count} sub-models of {name}" if (name, count) in wanted else f"got no {name}"
        raise UsageError(f"{got}, but the model has {dict(there).get(name, 1)}")


def _moved(arrays: dict[str, Stored], places: Mapping[int, int]) -> dict[str, Stored]:
    """The arrays of a model under the places that its layers have now; those of layers that are gone are left out."""
    found = {}
    for name, array in arrays.items():
        head, _, rest = name.partition(".")
        place, _, rest = rest.partition(".") if head == "layer" else ("", "", "")
        if place.isascii() and place.isdecimal():
            if int(place) not in places:
                continue
            name = f"layer.{places[int(place)]}.{rest}"
        found[name] = array
    return found


def _keep_range(chain: Chain, options: Namespace) -> None:
    """Fix the range of predictions where it is, as VW does, and warn of another one."""
    chain.shared["fixed_range"] = 1
    for name, field in _RANGE.items():
        value, there = getattr(options, name), chain.shared[field].item()
        if value is not None and np.float32(value) != np.float32(there):
            warn(
                f"--{name}: got {value:g}, but predictions stay in the model's range, which ends at {there:g}, as in VW"
            )


def _begin_again(chain: Chain, final: Mapping[str, Any], names: Iterable[str]) -> None:
    """Give rows that the model has not learned their first weights, as VW does; it warns if there are none."""
    first, unused = Chain.from_config(final).weights, ~chain.weights.any(axis=1)
    if not first[unused].any():
        warn(f"{_options_for(names)}: has no effect on this model, which has all weights already")
    chain.weights[unused] = first[unused]
