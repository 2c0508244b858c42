"""From VW's options to a chain."""

import re
from argparse import Namespace
from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Any

from hutch.core.config.override import layer_name
from hutch.core.errors import UsageError
from hutch.vw.decisions import SLOT_NAMESPACE, base_layer, decision_layers
from hutch.vw.numbers import imply
from hutch.vw.options.bandits import ALL_PAIRS
from hutch.vw.options.declared import DECLARED
from hutch.vw.options.table import NAMED, OPTIONS
from hutch.vw.replaying import put_in_place, replay_layer
from hutch.vw.search import imply as imply_search

MADE = ("affix", "spelling", "dictionary", "redefine")
"""The options for features made of names, and for namespaces under other names."""
_CLASSES = ("cb", "cb_explore", "cbify")
_MULTICLASS = (
    "oaa",
    "ect",
    "csoaa",
    "cs_active",
    "log_multi",
    "recall_tree",
    "multilabel_oaa",
    "plt",
    "emt",
    "memory_tree",
)
_OF_ANY_CLASS = ("emt", "memory_tree")
"""Those that need not be told how many classes there are."""


def decode(text: str) -> str:
    r"""Letters of an option; `\xNN` is a byte.

    >>> decode(r"a\x20")
    'a '
    """
    return re.sub(r"\\x([0-9a-fA-F]{2})", lambda match: chr(int(match[1], 16)), text)


def chain_of(options: Namespace) -> dict[str, Any]:
    """The chain, as YAML would give it, of a VW command line.

    Args:
        options: as `hutch.vw.parse.parse` returns them.

    Raises:
        UsageError: options that contradict each other.

    >>> from hutch.vw.parse import parse
    >>> chain_of(parse(["--oaa", "3", "-b", "10"]))["chain"]
    [{'one_against_all': {'classes': 3, 'first_class': 'detect'}}, 'linear']
    """
    imply_explorers(options)
    if options.wap_ldf is not None:
        if options.csoaa_ldf not in (None, ALL_PAIRS):
            raise UsageError("got --csoaa_ldf and --wap_ldf, wanted one of them")
        if bandits := [name for name in ("cb_adf", "cb_explore_adf", *_CLASSES) if getattr(options, name)]:
            raise UsageError(
                f"got --wap_ldf and --{bandits[0]}, wanted one of them: pairs need the costs of all actions"
            )
        options.csoaa_ldf = ALL_PAIRS
    imply(options)
    imply_search(options)
    _check_needs(options)
    linear = linear_parameters(options)
    if _has_submodels(options):
        linear.pop("initial_constant", None)  # VW sets a weight that no sub-model reads
    layers = [*_layers(options), base_layer(options, linear)]
    copies = _any_of(_CLASSES, options)  # of an example with its grams, whose hashes they change
    layers = put_in_place(layers, options)
    place = sum(layer_name(layer) in ("ngrams", "feature_limit", "interact") for layer in layers) if copies else 0
    layers[place:place] = decision_layers(options)
    chain: dict[str, Any] = {"chain": layers, "input": {"namespaces": "letter"} | _section("input", options)}
    if options.lda is not None:
        chain["input"]["constant"] = False
    if named := letters(options.keep or options.ignore):
        chain["input"]["keep" if options.keep else "ignore"] = named
    if any(getattr(options, name) for name in MADE):
        from hutch.vw.made import made_of

        chain["input"] |= made_of(options, decode)
    if weights := _section("weights", options):
        chain["weights"] = weights
    if options.random_seed is not None:
        chain["seed"] = options.random_seed
    return chain


def imply_explorers(options: Namespace) -> None:
    """Set the options for exploring that others imply in VW.

    Args:
        options: the command line; it is changed.
    """
    if options.ccb_explore_adf or options.slates:
        options.cb_explore_adf = options.cb_sample = True
    options.cb_explore_adf |= options.explore_eval or options.cbify_ldf
    if options.ot is not None and options.cb_explore is None:
        options.cb_explore = 2


def _has_submodels(options: Namespace) -> bool:
    """Whether a feature has several rows of weights."""
    names = ("oaa", "multilabel_oaa", "plt", "csoaa", "cs_active", "bootstrap", "bag", "cats", "cats_pdf")
    counts = [getattr(options, name) for name in names]
    return any((count or 1) > 1 for count in counts) or bool(
        options.ect
        or options.active_cover
        or options.nn
        or options.lrq
        or options.lrqfa
        or options.cover
        or options.cb_type == "dr"
    )


def _section(name: str, options: Namespace) -> dict[str, Any]:
    """The values that options set unchanged in a section of a chain, or of its base learner."""
    found = {}
    for option in OPTIONS:
        if option.part == name and option.reads == "value" and (value := option.given(options)) is not None:
            found[option.key] = value
    return found


def letters(values: Iterable[str]) -> list[str]:
    """The single letters of options such as `--ignore ab`, sorted."""
    return sorted({letter for value in values for letter in decode(value)})


def linear_parameters(options: Namespace) -> dict[str, Any]:
    """The parameters of the learner that a command line names."""
    found = _section("base", options)
    if options.print:
        found["learning_rate"] = 0.0
    if (loss := loss_of(options)) is not None:
        found["loss"] = loss
    if options.log_multi is not None:
        if loss not in (None, "quantile", {"quantile": {"tau": 0.5}}):
            raise UsageError("--loss_function: --log_multi learns by quantile loss, the median")
        found["loss"] = "quantile"
    kinds = [name for name in ("adaptive", "normalized", "invariant") if getattr(options, name)]
    if kinds or options.sgd:
        found |= {name: name in kinds for name in ("adaptive", "normalized", "invariant")}
        if not {"adaptive", "normalized"} <= set(kinds):
            found.setdefault("learning_rate", 10.0)
    if len(random := options_of_first_weights(options)) > 1:
        raise UsageError(f"got {' and '.join(random)}, wanted one of them")
    if options.sparse_weights and random not in ([], ["--initial_weight"]):
        raise UsageError(f"{random[0]}: got it with --sparse_weights, of which VW draws weights as they are needed")
    if terms := interactions(options):
        found["interactions"] = terms
    if options.feature_mask is not None:
        found["learn_zeros"] = False
    if options.ignore_linear:
        found["ignore_linear"] = letters(options.ignore_linear)
    return found


def options_of_first_weights(options: Namespace) -> list[str]:
    """The given options that set the first weights."""
    names = ("initial_weight", "random_weights", "normal_weights", "truncated_normal_weights")
    return [f"--{name}" for name in names if getattr(options, name)]


def interactions(options: Namespace) -> list[Any]:
    """The interactions of all options that name some.

    Raises:
        UsageError: a term of the wrong length.
    """
    found: list[Any] = [*terms_of(options)]
    return with_slots(found) if options.ccb_explore_adf or options.slates else found


def with_slots(terms: list[Any]) -> list[Any]:
    """Interactions, and each of them and each namespace with the slot's."""
    return terms + [[*term, SLOT_NAMESPACE] for term in [*terms, ":"]]


def terms_of(options: Any) -> list[str]:
    """The interactions of `--quadratic`, `--cubic` and `--interactions`, as letters.

    Raises:
        UsageError: a term of the wrong length.
    """
    found: list[str] = []
    for name, length in (("quadratic", 2), ("cubic", 3), ("interactions", None)):
        for value in map(decode, getattr(options, name) or ()):
            if len(value) != length if length else len(value) < 2:
                wanted = f"{length} letters" if length else "at least 2 letters"
                raise UsageError(f"--{name}: got {value!r}, wanted {wanted}")
            found.append(value)
    return found


def loss_of(options: Any) -> Any:
    """The loss that options name, with its parameters; None if it is the squared one, without any.

    Args:
        options: holds `loss_function` and the parameters of losses.

    Raises:
        UsageError: a parameter of another loss, or out of range.
    """
    name = options.loss_function or "squared"
    found = {}
    for option in OPTIONS:
        if option.reads != "loss" or option.name == "loss_function" or (value := option.given(options)) is None:
            continue
        owner, key = LOSS_PARAMETERS[option.name]
        if name != owner:
            raise UsageError(f"--{option.name} needs --loss_function {owner}, got {name}")
        found[key] = value
    if name == "expectile":
        q = found.pop("q", None)
        if q is None or not 0 < q <= 0.5:
            raise UsageError(f"--expectile_q: got {q}, wanted a number above 0, at most 0.5")
        found["tau"] = 1.0 - q
    return {name: found} if found else (None if name == "squared" else name)


LOSS_PARAMETERS = {
    "quantile_tau": ("quantile", "tau"),
    "expectile_q": ("expectile", "q"),
    "logistic_min": ("logistic", "lower"),
    "logistic_max": ("logistic", "upper"),
}
"""The loss, and its parameter, that an option sets."""


def _layers(options: Namespace) -> list[Any]:
    """The layers above the learner, from the top: those of the options given, in the order of the table.

    Raises:
        UsageError: an option has a value that it cannot have.
    """
    declares = any(getattr(options, name) is not None for name in ("csoaa_ldf", "multilabel_oaa", "plt"))
    elsewhere = ["probabilities"] if declares else []  # a layer that decides declares it, or the link below
    elsewhere += ["alpha"] if options.OjaNewton or options.memory_tree else []
    asked: dict[str, dict[str, Any]] = {}
    for option in OPTIONS:
        if option.layer in DECLARED or option.name in elsewhere:
            continue
        if option.layer and (value := option.meant(options)) is not None:
            parameters = asked.setdefault(option.layer, {})
            if option.key:
                parameters[option.key] = value
    found: list[Any] = []
    for name, parameters in asked.items():
        finish = _FINISHED.get(name)
        found += finish(parameters, options) if finish else [{name: parameters} if parameters else name]
    return found


def _any_of(names: Iterable[str], options: Namespace) -> bool:
    return any(NAMED[name].given(options) is not None for name in names)


def _check_needs(options: Namespace) -> None:
    missing: dict[str, list[str]] = {}
    for option in OPTIONS:
        if not option.needs or option.given(options) is None or _any_of(option.needs, options):
            continue
        if option.name == "cover" and options.active_cover:
            continue
        if options.initial_regressor is None or option.needs == ("active",):  # else the model may have it
            missing.setdefault(" or --".join(option.needs), []).append(f"--{option.name}")
    if missing:
        verb = {True: "needs", False: "need"}
        raise UsageError("\n".join(f"{' and '.join(n)} {verb[len(n) == 1]} --{m}" for m, n in missing.items()))
    asked = [name for name in _MULTICLASS if NAMED[name].given(options) is not None]
    if len(asked) > 1:
        raise UsageError(f"got {' and '.join('--' + name for name in asked)}, wanted one of them")
    names = options.named_labels.split(",") if options.named_labels else []
    if (
        asked
        and asked[0] not in _OF_ANY_CLASS
        and names
        and len(names) != getattr(options, *asked)
        and options.initial_regressor is None
    ):
        raise UsageError(
            f"--{asked[0]}: got {getattr(options, *asked)}, wanted {len(names)}: --named_labels names so many"
        )


def _grams(parameters: dict[str, Any], options: Namespace) -> list[Any]:
    """One layer for each namespace that `--ngram` names, or one for all."""
    sizes, skips = _numbers("ngram", options.ngram), _numbers("skips", options.skips)
    for namespace in skips:
        if namespace and namespace not in sizes or not sizes:
            raise UsageError(f"--skips {namespace}{skips[namespace]} needs --ngram {namespace}N")
    if "" in sizes and len(sizes) > 1:
        raise UsageError("--ngram: got a size for all namespaces and one for some, wanted either")
    found: list[Any] = []
    for namespace, size in sizes.items():
        if size < 2:
            continue  # a gram of one feature is the feature
        given: dict[str, Any] = {"size": size, "skips": skips.get(namespace, skips.get("", 0))}
        found.append({"ngrams": given | ({"namespaces": [namespace]} if namespace else {})})
    return found


def _two_letters(value: str) -> dict[str, str]:
    """The namespaces of `--interact`."""
    letters = decode(value)
    if len(letters) != 2 or letters[0] == letters[1] or ":" in letters:
        raise UsageError(f"--interact: got {value!r}, wanted two different letters of namespaces")
    return {"left": letters[0], "right": letters[1]}


def _limits(parameters: dict[str, Any], options: Namespace) -> list[Any]:
    """One layer for each namespace that `--feature_limit` names, or one for all; of several limits, the last counts."""
    found: dict[str, int] = {}
    for value in options.feature_limit:
        if value[1:2] == ":":
            wanted = f"wanted {value[0]}{value[2:]}; VW reads it as a limit of 0"
            raise UsageError(f"--feature_limit: got {value!r}, {wanted}")
        ((letter, limit),) = _numbers("feature_limit", [value]).items()
        if limit < 1:
            raise UsageError(f"--feature_limit: got {value!r}, wanted at least 1; --ignore leaves a namespace out")
        found = {letter: limit} if not letter else found | {letter: limit}
    if "" in found and len(found) > 1:
        raise UsageError("--feature_limit: got a limit for all namespaces and one for some, wanted either")
    return [
        {"feature_limit": {"features": limit} | ({"namespaces": [letter]} if letter else {})}
        for letter, limit in found.items()
    ]


def _numbers(name: str, values: Iterable[str]) -> dict[str, int]:
    """Numbers by namespace of options such as `--ngram a2`, or `--ngram 2` for all."""
    found = {}
    for value in values:
        match = re.fullmatch(r"(\D?)(\d+)", decode(value), re.DOTALL)
        if not match:
            raise UsageError(f"--{name}: got {value!r}, wanted a number, or a letter and a number")
        found[match[1]] = int(match[2])
    return found


def _first_class(options: Namespace) -> dict[str, Any]:
    return {"first_class": "detect" if options.indexing is None else options.indexing}


def _one_against_all(parameters: dict[str, Any], options: Namespace) -> list[Any]:
    if options.oaa is not None:
        parameters |= _first_class(options)
        linked = (options.link or "identity") != "identity" and not options.probabilities
        layers = options.bootstrap or options.nn or options.lrq or options.lrqfa or options.replay_b or options.replay_m
        if layers or options.l1 or options.l2 or options_of_first_weights(options) or linked:
            parameters["predict_first"] = True
    return [{"one_against_all": parameters}]


def _boosting(parameters: dict[str, Any], options: Namespace) -> list[Any]:
    if not options.binary:
        parameters["predict_first"] = True
    return [{"boosting": parameters}]


def _marginal(parameters: dict[str, Any], options: Namespace) -> list[Any]:
    """The namespaces of `--marginal`, by letter."""
    if ":" in (names := decode(parameters["namespaces"])):
        raise UsageError(f"--marginal: got {parameters['namespaces']!r}, wanted letters of namespaces")
    return [{"marginal": parameters | {"namespaces": sorted(set(names))}}]


def _stagewise(parameters: dict[str, Any], options: Namespace) -> list[Any]:
    """The layer just above the learner: VW has those named here below it."""
    for name in ("lrq", "lrqfa", "autolink", "marginal", "nn", "active"):
        if NAMED[name].given(options) is not None:
            raise UsageError(f"got --stage_poly and --{name}, wanted one of them")
    if not (options.binary or _any_of(_MULTICLASS, options) or options.boosting):
        parameters["predict_first"] = True
    return [{"stagewise_polynomial": parameters} if parameters else "stagewise_polynomial"]


def _low_rank(parameters: dict[str, Any], options: Namespace) -> list[Any]:
    if options.lrq and options.lrqfa:
        raise UsageError("got --lrq and --lrqfa, wanted one of them")
    if options.lrqfa:
        letters, rank = _letters_and_rank("lrqfa", decode(options.lrqfa), "..+", "two letters or more")
        if len(set(letters)) < len(letters) > 2:
            raise UsageError(f"--lrqfa: got {options.lrqfa!r}, wanted different letters, or one twice")
        pairs = [{"namespaces": list(pair), "rank": rank} for pair in combinations(letters, 2)]
        return [{"low_rank_quadratic": {"pairs": pairs, "field_aware": True}}]
    found = [_letters_and_rank("lrq", value, "..", "two letters") for value in sorted(set(map(decode, options.lrq)))]
    pairs = [{"namespaces": list(both), "rank": rank} for both, rank in found]
    return [{"low_rank_quadratic": {"pairs": pairs, **parameters}}]


def _letters_and_rank(name: str, value: str, letters: str, wanted: str) -> tuple[str, int]:
    """The parts of the value of `--lrq` or `--lrqfa`: letters that are no digits at the end, and a number."""
    match = re.fullmatch(rf"({letters}?)(\d+)", value, re.DOTALL)
    if not match or ":" in match[1] or int(match[2]) < 1:
        raise UsageError(f"--{name}: got {value!r}, wanted {wanted} and a rank")
    return match[1], int(match[2])


def _active(parameters: dict[str, Any], options: Namespace) -> list[Any]:
    given = {"rule": "vw", "mellowness": 1.0 if options.mellowness is None else options.mellowness} | parameters
    return [{"active": given if options.simulation else given | {"simulation": False}}]


def _active_cover(parameters: dict[str, Any], options: Namespace) -> list[Any]:
    given = {"mellowness": options.mellowness, "policies": options.cover}
    parameters |= {name: value for name, value in given.items() if value is not None}
    if not options.binary:
        parameters["predict_first"] = True
    if "beta" in parameters:
        parameters["beta"] = parameters["beta"] ** 2
    if options.active:
        raise UsageError("got --active and --active_cover, wanted one of them")
    return [{"active_cover": parameters} if parameters else "active_cover"]


def _memory_tree(parameters: dict[str, Any], options: Namespace) -> list[Any]:
    given = {} if options.alpha is None else {"alpha": options.alpha}
    return [{"memory_tree": parameters | given}]


def _cost_sensitive_active(parameters: dict[str, Any], options: Namespace) -> list[Any]:
    if not (options.simulation or options.testonly):
        raise UsageError("--cs_active: wanted --simulation with it: without it VW learns nothing")
    if options.mellowness is not None:
        parameters["mellowness"] = options.mellowness
    if "budget" in parameters:
        parameters["budget"] *= parameters["classes"]
    return [{"cost_sensitive_active": parameters}]


_FINISHED: dict[str, Callable[[dict[str, Any], Namespace], list[Any]]] = {
    "ngrams": _grams,
    "interact": lambda parameters, options: [{"interact": _two_letters(options.interact)}],
    "feature_limit": _limits,
    "one_against_all": _one_against_all,
    "cost_sensitive_one_against_all": lambda parameters, options: [
        {"cost_sensitive_one_against_all": parameters | _first_class(options)}
    ],
    "link": lambda parameters, options: (
        [] if parameters["function"] == "identity" or options.probabilities else [{"link": parameters}]
    ),
    "multilabel_one_against_all": lambda parameters, options: [
        {"multilabel_one_against_all": parameters},
        *([{"link": {"function": "logistic"}}] if options.probabilities else []),
    ],
    "boosting": _boosting,
    "marginal": _marginal,
    "stagewise_polynomial": _stagewise,
    "low_rank_quadratic": _low_rank,
    "active": _active,
    "active_cover": _active_cover,
    "cost_sensitive_active": _cost_sensitive_active,
    "memory_tree": _memory_tree,
    "experience_replay": lambda parameters, options: replay_layer(options),
}
"""Layers with an option whose value is not the parameter's value."""
