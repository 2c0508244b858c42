"""The Vowpal Wabbit command line of a chain: the reverse of `hutch.vw.translate`."""

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from hutch.chain import Chain
from hutch.core.config.chain_config import ChainConfig
from hutch.core.errors import HutchError, UsageError
from hutch.vw.class_bandits import LAYERS as CLASS_BANDITS
from hutch.vw.class_bandits import class_bandit_words
from hutch.vw.decisions import SLOT_NAMESPACE
from hutch.vw.numbers import LAYERS as LAYERS_OF_NUMBERS
from hutch.vw.numbers import number_words
from hutch.vw.options.bandits import ALL_PAIRS
from hutch.vw.options.declared import BASES, DECLARED
from hutch.vw.options.option import Option
from hutch.vw.options.search import LAYERS as SEARCHES
from hutch.vw.options.table import NAMED, OPTIONS
from hutch.vw.parse import parse
from hutch.vw.replaying import REPLAY, replay_words
from hutch.vw.search import search_words
from hutch.vw.translate import LOSS_PARAMETERS, chain_of

Layer = tuple[str, Any]
"""Name and parameters."""
_KINDS = ("adaptive", "normalized", "invariant")
_NOT_KEPT = (
    "active",
    "cost_sensitive_active",
    "distributionally_",
    "explore_decaying",
    "interaction_",
    "kernel_svm",
    "latent_",
    "lbfgs",
    "logarithmic_",
    "marginal",
    "matrix_",
    "eigen_memory",
    "memory_",
    "policy_values",
    "probabilistic_",
    "polynomial_",
    "recall_",
    "rejection",
    "search_",
    "simulate_",
    "sketched_",
    "stagewise_",
    "svrg",
    "warm_start_",
)
"""How the names of layers begin whose state VW's models lack."""
_LOSSES = ("squared", "classic", "hinge", "logistic", "quantile", "expectile", "poisson")


def options_of(chain: Chain) -> tuple[list[str], list[str], list[str]]:
    """The options of VW for a chain in its present state, and the values of its `--ngram` and its `--skips`.

    Raises:
        UsageError: VW lacks such a chain; the message names the layer.

    >>> options_of(Chain.from_config({"chain": [{"ngrams": {"size": 2}}, {"linear": {"loss": "logistic"}}]}))
    (['--loss_function', 'logistic'], ['2'], [])
    """
    layers = [_as_it_is(layer) for layer in chain.layers]
    for name, _ in layers:
        if any(option.note.endswith("lacks it") for option in (DECLARED[name].options if name in DECLARED else ())):
            raise UsageError(f"VW has no {name}")
    words, (sizes, skips) = [*_words(chain.config, layers)], _grams(layers)
    words += ["--named_labels", chain.remarks["named_labels"]] if "named_labels" in chain.remarks else []
    whole = [*words, *_given("ngram", sizes), *_given("skips", skips), "-b", str(chain.config.weights.bits)]
    try:
        again = Chain.from_config(chain_of(parse(whole)))
    except HutchError as error:
        raise UsageError(f"VW has no such chain: {error}") from None
    _check(chain, again, layers, [_as_it_is(layer) for layer in again.layers])
    return words, sizes, skips


def words_of(config: ChainConfig) -> list[str]:
    """The options of `hutch vw` for a chain as it began, also where VW's models do not keep its state.

    Raises:
        UsageError: they have no such loss; of other chains the words make another chain.

    >>> layers = [{"ngrams": {"size": 2}}, {"linear": {"loss": "logistic"}}]
    >>> words_of(Chain.from_config({"chain": layers, "seed": 3}).config)
    ['--loss_function', 'logistic', '--ngram', '2', '-b', '18', '--random_seed', '3']
    """
    layers = [(layer.name, layer.parameters) for layer in config.chain]
    sizes, skips = _grams(layers)
    words = [*_words(config, layers), *_given("ngram", sizes), *_given("skips", skips)]
    for name, given in layers:
        if name == "active":
            words += ["--simulation"] * given.simulation + ["--mellowness", repr(given.mellowness)]
    seed = ["--random_seed", str(config.seed)] if config.seed else []
    return [*words, "-b", str(config.weights.bits), *seed]


def _given(name: str, values: list[str]) -> list[str]:
    return [f"--{name}", *values] if values else []


def _grams(layers: list[Layer]) -> tuple[list[str], list[str]]:
    """The values of `--ngram` and of `--skips`."""
    grams = [(given, letter) for name, given in layers if name == "ngrams" for letter in given.namespaces or ("",)]
    return (
        [f"{letter}{given.size}" for given, letter in grams],
        [f"{letter}{given.skips}" for given, letter in grams if given.skips],
    )


def _as_it_is(layer: Any) -> Layer:
    """A layer with the parameters of its present state; the initial weights are left out, as the weight table has them.

    Raises:
        UsageError: VW cannot continue the layer.
    """
    given = layer.parameters
    if layer.name == "linear":
        rate = {"learning_rate": float(layer.saved()["learning_rate"][0])} if given.decay != 1 else {}
        given = replace(given, initial_weight=0.0, random_weights=None, initial_constant=0.0, **rate)
    if layer.name == "freegrad" and given.project and given.radius is None:
        raise UsageError("VW models do not keep the radius that freegrad has reached")
    counts = layer.name == "boosting" and given.algorithm != "majority"  # examples, by which its steps become smaller
    counts |= layer.name == "explore_classes" and given.method == "first"
    if counts or getattr(given, "dropout", False) or layer.name.startswith(_NOT_KEPT):
        raise UsageError(f"VW models do not keep the state of {layer.name}")
    if hasattr(given, "interactions"):
        given = replace(given, interactions=tuple(tuple(term) for term in given.interactions))
    first = int(layer.saved()["first_class"][0]) if "first_class" in layer.saved() else -1
    return layer.name, replace(given, first_class=first) if first in (0, 1) else given


def _check(chain: Chain, again: Chain, layers: list[Layer], found: list[Layer]) -> None:
    """Compare a chain with the one that its options make.

    Raises:
        UsageError: they differ.
    """
    names, others = [name for name, _ in layers], [name for name, _ in found]
    if names != others:
        lacking = next((name for name in names if name not in others), names[0])
        raise UsageError(f"VW has no {lacking} in such a chain: got {', '.join(names)}")
    for (name, given), (_, theirs) in zip(layers, found, strict=True):
        for key in (field.name for field in fields(given)):
            if (got := getattr(given, key)) != getattr(theirs, key):
                raise UsageError(f"VW has no such {name}: got {key} {got}, and there it is {getattr(theirs, key)}")
    named = chain.config.input.ignore or chain.config.input.keep
    for key in ("hash", "hash_seed", "constant", "ignore", "keep", "made", *(("namespaces",) if named else ())):
        ours, theirs = (getattr(each.config.input, key) for each in (chain, again))
        if ours != theirs:
            raise UsageError(f"VW has no such input: got {key} {ours}, and there it is {theirs}")
    ours, theirs = (each.layers[-1].saved().get("learning_rate", [0.0])[0] for each in (chain, again))
    if ours != theirs:
        raise UsageError(f"VW has no such linear: its learning rate has become {ours:g}")


def _words(config: ChainConfig, layers: list[Layer]) -> Iterator[str]:
    names = [name for name, _ in layers]
    if numbers := {*LAYERS_OF_NUMBERS}.intersection(names):
        words, layers = number_words(layers)
        yield from words
        names = [name for name, _ in layers]
    if not numbers and "bandit_per_class" in names:
        yield from class_bandit_words(layers)
        left_out = (*CLASS_BANDITS, "cost_sensitive_one_against_all")
        layers, names = [layer for layer in layers if layer[0] not in left_out], []
    explores = any(name.startswith("explore_") for name in names)
    of_classes = any(DECLARED[name].makes_actions for name in names if name in DECLARED)
    unsaid = {"cb" if explores else "cb_explore", "cb_explore_adf", "noop"}  # or implied by others
    unsaid |= {"cb_adf"} if explores or of_classes else set()
    unsaid |= {"csoaa_ldf"} if "contextual_bandit" in names else set()
    if explores and not of_classes:
        yield "--cb_explore_adf"
    for name, given in [("input", config.input), *layers]:
        if name == "linear" and not all(getattr(given, kind) for kind in _KINDS):
            yield from [f"--{kind}" for kind in _KINDS if getattr(given, kind)] or ["--sgd"]
            yield from ("--learning_rate", repr(given.learning_rate))
        if name == "interact":
            yield from ("--interact", _coded((given.left, given.right)))
            continue
        if name == REPLAY:
            yield from replay_words(layers, given)
            continue
        if name in SEARCHES:
            yield from search_words(name, given)
        if name == "feature_limit":
            yield from ("--feature_limit", *(f"{_coded(each)}{given.features}" for each in given.namespaces or ("",)))
        if isinstance(getattr(given, "first_class", None), int):
            yield from ("--indexing", str(given.first_class))
        if name in ("active_cover", "cost_sensitive_active"):
            yield from ("--mellowness", repr(given.mellowness))
        if name == "memory_tree":
            yield from ("--alpha", repr(given.alpha))
        if name == "active_cover":
            yield from ("--cover", str(given.policies))
        if name == "action_probabilities":
            yield "--probabilities"
        if name == "contextual_bandit" and given.lists == "all" and not explores:
            yield "--rank_all"
        if name == "cost_sensitive_with_features" and given.lists == "all" and names[0] == name:
            yield "--csoaa_rank"
        if name == "input" and given.made.is_needed:
            from hutch.vw.made import words_of_made

            yield from words_of_made(given, _coded)
        for option, key in _sets(name):
            if option.name not in unsaid:
                yield from _said(option, key, given)


def _sets(name: str) -> Iterator[tuple[Option, str]]:
    """The options for a layer, each with the parameter that it sets; empty for an option that adds the layer."""
    if name in DECLARED:
        for option in DECLARED[name].options:
            if option.key or option is DECLARED[name].options[0]:
                yield option, option.key
        yield from ((NAMED[option], key) for option, key in DECLARED[name].beside)
    elif name not in ("linear", "ngrams", "feature_limit"):
        yield from ((option, option.key) for option in OPTIONS if option.part == name)
    if name == "linear" or name in BASES:
        yield from ((option, option.key) for option in OPTIONS if option.part == "base")


def _said(option: Option, key: str, given: Any) -> list[str]:
    """The words of an option if its parameter differs from the default."""
    name = f"--{option.name}"
    value: Any = getattr(given, key, None) if key else True
    brings = option.brings_layer or (option.name == "csoaa_ldf")
    if option.name == "csoaa_ldf" and value == ALL_PAIRS:
        return ["--wap_ldf", "m"]
    if option.name == "lrq":
        return [] if given.field_aware else [name, *(_coded(pair.namespaces) + str(pair.rank) for pair in given.pairs)]
    if option.name == "lrqfa":
        return [name, _coded(given.fields) + str(given.pairs[0].rank)] if given.field_aware else []
    if option.name == "marginal":
        return [name, _coded(value)]
    if value is None or (key and not brings and value == getattr(type(given), key, None)):
        return []
    if option.reads == "loss":
        if value.name not in _LOSSES:
            raise UsageError(f"VW has no loss {value.name!r}, wanted one of {', '.join(_LOSSES)}")
        if option.name == "loss_function":
            return [name, value.name]
        owner, part = LOSS_PARAMETERS[option.name]
        shape = dict(value.parameters or {}) if value.name == owner else {}
        shape |= {"q": 1 - shape["tau"]} if part == "q" and "tau" in shape else {}
        return [name, repr(shape[part])] if part in shape else []
    if option.reads == "terms":
        terms = [term for term in value if SLOT_NAMESPACE not in term]
        return [name, *map(_coded, terms)] if terms and name == "--interactions" else []
    if option.kind == "flag":
        return [name] if value == option.value else []
    if option.reads == "letters":
        return [name, "".join(map(_coded, value))]
    return [name, str({there: word for word, there in reversed(option.means)}.get(value, value))]


def _coded(text: Any) -> str:
    """Letters in the form of options, `\\xNN` for all but letters and digits."""
    return "".join(one if one.isalnum() or one in "_:" else f"\\x{ord(one):02x}" for one in "".join(text))
