"""From VW's options to a chain."""

import re
from argparse import Namespace
from collections.abc import Iterable
from typing import Any

from hutch.core.errors import UsageError
from hutch.core.text.hashing import namespace_id
from hutch.vw.decisions import decision_layers

_MULTICLASS = {
    "oaa": "one_against_all",
    "ect": "error_correcting_tournament",
    "csoaa": "cost_sensitive_one_against_all",
}
_LOSS_OPTIONS = {
    "quantile_tau": "quantile",
    "expectile_q": "expectile",
    "logistic_min": "logistic",
    "logistic_max": "logistic",
}
_BASE = ("power_t", "initial_t", "l1", "l2", "sparse_l2", "initial_weight", "min_prediction", "max_prediction")
_LINKS = ("identity", "logistic", "glf1", "poisson")


def decode(text: str) -> str:
    r"""Letters of an option in which `\xNN` stands for a byte.

    >>> decode(r"a\x20")
    'a '
    """
    return re.sub(r"\\x([0-9a-fA-F]{2})", lambda match: chr(int(match[1], 16)), text)


def chain_of(options: Namespace) -> dict[str, Any]:
    """The chain, as YAML would give it, that a VW command line stands for.

    Args:
        options: what `vw_table.parse` returns.

    Raises:
        UsageError: options that contradict each other.

    >>> from hutch.vw.table import parse
    >>> chain_of(parse(["--oaa", "3", "-b", "10"]))["chain"]
    [{'one_against_all': {'classes': 3, 'first_class': 'detect'}}, 'linear']
    """
    linear = linear_parameters(options)
    if options.oaa or options.ect or options.csoaa or options.lrq:
        linear.pop("initial_constant", None)  # VW sets a weight that no sub-model reads
    renamed = _renamed(options)
    layers = [
        *decision_layers(options),
        *([{"merge_namespaces": {"names": renamed}}] if renamed else []),
        *_grams(options),
        *_multiclass(options),
        *_scalar_layers(options),
        _base(options, linear),
    ]
    full_names = bool(options.experimental_full_name_interactions)
    given = {
        "hash": options.hash,
        "hash_seed": options.hash_seed,
        "constant": False if options.noconstant else None,
    } | _left_out(options, renamed)
    chain: dict[str, Any] = {
        "chain": layers,
        "input": {"namespaces": "name" if full_names else "letter"} | _given(given),
    }
    if options.bit_precision is not None:
        chain["weights"] = {"bits": options.bit_precision}
    if options.random_seed is not None:
        chain["seed"] = options.random_seed
    return chain


_SUMS = {"coin": "coin_betting", "ftrl": "ftrl_proximal", "pistol": "pistol"}
_SHARED = (
    "loss",
    "min_prediction",
    "max_prediction",
    "interactions",
    "permutations",
    "duplicate_interactions",
    "ignore_linear",
)
_UNUSED = ("learning_rate", "power_t", "initial_t", "decay", "adaptive", "normalized", "invariant")


def _base(options: Namespace, linear: dict[str, Any]) -> Any:
    """The base learner.

    Raises:
        UsageError: more than one, or parameters that it does not have.
    """
    asked = [name for name in _SUMS if getattr(options, name)]
    if len(asked) > 1:
        raise UsageError(f"got {' and '.join('--' + name for name in asked)}, wanted one of them")
    sums = _given({"alpha": options.ftrl_alpha, "beta": options.ftrl_beta})
    if not asked:
        if sums and options.initial_regressor is None:
            raise UsageError("--ftrl_alpha and --ftrl_beta need --ftrl, --coin or --pistol")
        return {"linear": linear} if linear else "linear"
    known = (*_SHARED, "l1", "l2") if asked == ["ftrl"] else _SHARED
    for name in linear:
        if name not in (*known, *_UNUSED):
            raise UsageError(f"--{name}: --{asked[0]} does not have it")
    parameters = {name: value for name, value in linear.items() if name in known} | sums
    return {_SUMS[asked[0]]: parameters} if parameters else _SUMS[asked[0]]


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def letters(values: Iterable[str]) -> list[str]:
    """The single letters of options such as `--ignore ab`, sorted."""
    return sorted({letter for value in values for letter in decode(value)})


def linear_parameters(options: Namespace) -> dict[str, Any]:
    """The parameters of the learner that a command line names."""
    found = _given({name: getattr(options, name) for name in _BASE})
    loss = _loss(options)
    if loss != "squared":
        found["loss"] = loss
    kinds = [name for name in ("adaptive", "normalized", "invariant") if getattr(options, name)]
    rate = options.learning_rate
    if kinds or options.sgd:
        found |= {name: name in kinds for name in ("adaptive", "normalized", "invariant")}
        if rate is None and not {"adaptive", "normalized"} <= set(kinds):
            rate = 10.0
    found |= _given({"learning_rate": rate, "decay": options.decay_learning_rate, "initial_constant": options.constant})
    terms = interactions(options)
    if terms:
        found["interactions"] = terms
    found |= {"permutations": True} if options.permutations else {}
    found |= {"duplicate_interactions": True} if options.leave_duplicate_interactions else {}
    found |= {"ignore_linear": letters(options.ignore_linear)} if options.ignore_linear else {}
    return found


def interactions(options: Namespace) -> list[Any]:
    """The interactions of all options that name some.

    Raises:
        UsageError: a term of the wrong length.
    """
    found: list[Any] = []
    for name, values, length in (("quadratic", options.quadratic, 2), ("cubic", options.cubic, 3)):
        for value in values:
            if len(decode(value)) != length:
                raise UsageError(f"--{name}: got {value!r}, wanted {length} letters")
            found.append(decode(value))
    for value in options.interactions:
        if len(decode(value)) < 2:
            raise UsageError(f"--interactions: got {value!r}, wanted at least 2 letters")
        found.append(decode(value))
    if options.experimental_full_name_interactions:
        if found:
            raise UsageError(
                "--experimental_full_name_interactions goes by name, -q, --cubic and --interactions by letter"
            )
        names = (decode(value).split("|") for value in options.experimental_full_name_interactions)
        found = [sorted(term, key=lambda name: (name[:1], namespace_id(name))) for term in names]
    return found


def _renamed(options: Namespace) -> dict[str, str]:
    """New letters by old ones, `:` for all others; of several `--redefine` the last counts.

    Raises:
        UsageError: it is not of the form N:=S.
    """
    found: dict[str, str] = {}
    for text in map(decode, options.redefine):
        new, mark, old = text.partition(":=")
        if not mark or len(new) > 1:
            raise UsageError(f"--redefine: got {text!r}, wanted N:=S, a letter for all of the letters S")
        for letter in old:
            if letter == ":":
                found = {":": new or " ", " ": " "}  # all but the anonymous one
                break
            found[letter] = new or " "
    return found


def _left_out(options: Namespace, renamed: dict[str, str]) -> dict[str, list[str] | None]:
    """`--ignore` and `--keep` by the letters of the data: they name what `--redefine` makes of them."""
    keep = bool(options.keep)
    named = set(letters(options.keep or options.ignore))
    if not named or not renamed:
        return {"keep" if keep else "ignore": sorted(named) or None}
    others = renamed.get(":")
    ascii_letters = map(chr, range(1, 128))
    if others is None or others not in named:
        found = [letter for letter in ascii_letters if renamed.get(letter, others or letter) in named]
    else:  # what is left are all others: say the opposite
        keep, found = not keep, [letter for letter in ascii_letters if renamed.get(letter, others) not in named]
    return {"keep" if keep else "ignore": found or None}


def _loss(options: Namespace) -> Any:
    name = options.loss_function or "squared"
    for option, owner in _LOSS_OPTIONS.items():
        if getattr(options, option) is not None and name != owner:
            raise UsageError(f"--{option} belongs to --loss_function {owner}, got {name}")
    parameters = {"tau": options.quantile_tau, "lower": options.logistic_min, "upper": options.logistic_max}
    if name == "expectile":
        if options.expectile_q is None or not 0 < options.expectile_q <= 0.5:
            raise UsageError(f"--expectile_q: got {options.expectile_q}, wanted a number above 0, at most 0.5")
        parameters["tau"] = 1.0 - options.expectile_q
    found = _given(parameters)
    return {name: found} if found else name


def _grams(options: Namespace) -> list[Any]:
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
        parameters: dict[str, Any] = {"size": size, "skips": skips.get(namespace, skips.get("", 0))}
        found.append({"ngrams": parameters | ({"namespaces": [namespace]} if namespace else {})})
    return found


def _numbers(name: str, values: Iterable[str]) -> dict[str, int]:
    """Numbers by namespace of options such as `--ngram a2`, or `--ngram 2` for all."""
    found = {}
    for value in values:
        match = re.fullmatch(r"(\D?)(\d+)", decode(value), re.DOTALL)
        if not match:
            raise UsageError(f"--{name}: got {value!r}, wanted a number, or a letter and a number")
        found[match[1]] = int(match[2])
    return found


def _multiclass(options: Namespace) -> list[Any]:
    asked = [name for name in _MULTICLASS if getattr(options, name) is not None]
    if len(asked) > 1:
        raise UsageError(f"got {' and '.join('--' + name for name in asked)}, wanted one of them")
    loaded = options.initial_regressor is not None
    for name, owner in (("error", "ect"), ("probabilities", "oaa"), ("scores", "oaa"), ("named_labels", "oaa")):
        if getattr(options, name) and asked != [owner] and not loaded:
            raise UsageError(f"--{name} needs --{owner}")
    if not asked:
        return []
    names = options.named_labels.split(",") if options.named_labels else []
    if names and len(names) != options.oaa and not loaded:
        raise UsageError(f"--oaa: got {options.oaa}, wanted {len(names)}: --named_labels names so many")
    [name] = asked
    parameters: dict[str, Any] = {"classes": getattr(options, name)}
    if name != "ect":
        parameters["first_class"] = "detect" if options.indexing is None else options.indexing
    if options.error is not None:
        parameters["errors"] = options.error
    if options.probabilities:
        parameters["probabilities"] = True
    linked = (options.link or "identity") != "identity" and not options.probabilities
    if name == "oaa" and (options.l1 or options.l2 or options.initial_weight or linked or options.lrq):
        parameters["predict_first"] = True
    return [{_MULTICLASS[name]: parameters}]


def _scalar_layers(options: Namespace) -> list[Any]:
    """The layers between a multiclass reduction and the learner, from the top."""
    found: list[Any] = ["binary"] if options.binary else []
    if options.lrq:
        pairs = [_pair(value) for value in sorted(set(map(decode, options.lrq)))]
        found.append({"low_rank_quadratic": {"pairs": pairs} | ({"dropout": True} if options.lrqdropout else {})})
    link = options.link or "identity"
    if link not in _LINKS:
        raise UsageError(f"--link: got {link!r}, wanted one of {', '.join(_LINKS)}")
    if link != "identity" and not options.probabilities:
        found.append({"link": {"function": link}})
    if options.active:
        mellowness = 1.0 if options.mellowness is None else options.mellowness
        asking: dict[str, Any] = {} if options.simulation else {"simulation": False}
        found.append({"active": {"rule": "vw", "mellowness": mellowness} | asking})
    elif options.simulation or options.direct:
        raise UsageError("--simulation and --direct need --active")
    elif options.mellowness is not None and not (options.regcb or options.regcbopt or options.elim):
        raise UsageError("--mellowness needs --active, --regcb or --squarecb --elim")
    return found


def _pair(value: str) -> dict[str, Any]:
    if not re.fullmatch(r"..\d+", value, re.DOTALL) or ":" in value[:2] or int(value[2:]) < 1:
        raise UsageError(f"--lrq: got {value!r}, wanted two letters and a rank")
    return {"namespaces": [value[0], value[1]], "rank": int(value[2:])}
