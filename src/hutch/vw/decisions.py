"""Vowpal Wabbit's options for decisions as layers."""

from argparse import Namespace
from typing import Any

from hutch.core.errors import UsageError

_METHODS = {
    "m": "regression",
    "multiline": "regression",
    "mc": "classification",
    "multiline-classifier": "classification",
}
_EXPLORERS = ("first", "softmax", "squarecb", "regcb", "bag", "cover", "rnd", "synthcover")
_EXPLORING = ("cb_explore_adf", "cb_explore", "cbify", "cbify_ldf")
_BANDITS = ("cb_adf", "cb", *_EXPLORING)
_BELONGS = {
    "mellowness": ("active", "regcb", "regcbopt", "squarecb"),
    "csoaa_rank": ("csoaa_ldf", *_BANDITS),
    "rank_all": ("cb_adf",),
    "no_predict": ("cb_adf",),
    "cb_type": _BANDITS,
    "clip_p": _BANDITS,
    "cb_sample": ("cb_explore_adf", "cb_explore", "cbify", "cbify_ldf"),
    "named_labels": ("oaa", "ect", "csoaa"),
    **dict.fromkeys(("epsilon", *_EXPLORERS, "regcbopt", "first_only"), _EXPLORING),
    "loss0": ("cbify", "cbify_ldf"),
    "loss1": ("cbify", "cbify_ldf"),
    "flip_loss_sign": ("cbify",),
    "cbify_cs": ("cbify",),
    "eval": ("cb",),
    "lambda": ("softmax",),
    "gamma_scale": ("squarecb",),
    "gamma_exponent": ("squarecb",),
    "elim": ("squarecb",),
    "cb_min_cost": ("squarecb", "regcb", "regcbopt"),
    "cb_max_cost": ("squarecb", "regcb", "regcbopt"),
    "greedify": ("bag",),
    "psi": ("cover",),
    "nounif": ("cover",),
    "rnd_alpha": ("rnd",),
    "rnd_invlambda": ("rnd",),
    "synthcoverpsi": ("synthcover",),
    "synthcoversize": ("synthcover",),
}
"""Options that mean something beside one of others only."""

_NOT_EVALUATED = (
    "cb_explore", "cbify", "cb_explore_adf", "cb_adf", "csoaa_ldf", "wap_ldf", "csoaa_rank", "clip_p", "cb_sample",
)  # fmt: skip
"""What VW does not have beside `--eval`."""


def _is_given(options: Namespace, name: str) -> bool:
    return getattr(options, name, None) not in (None, False)


def decision_layers(options: Namespace) -> list[Any]:
    """The layers that decide, from the top; empty if the options ask for none.

    Raises:
        UsageError: options that contradict each other, or stand alone.
    """
    loaded = options.initial_regressor is not None
    for name, owners in _BELONGS.items():
        if _is_given(options, name) and not loaded and not any(_is_given(options, owner) for owner in owners):
            raise UsageError(f"--{name} needs " + " or ".join(f"--{owner}" for owner in owners))
    if options.eval:
        return _evaluation(options)
    exploring = any(_is_given(options, name) for name in _EXPLORING)
    bandit = any(_is_given(options, name) for name in _BANDITS)
    if options.csoaa_ldf is None and options.wap_ldf is None and not bandit:
        return []
    if options.wap_ldf is not None:
        return [_all_pairs(options)]
    layers = _classes(options) + (_explorer(options) if exploring else [])
    if bandit:
        lists = None if exploring or options.rank_all else "best"
        layers.append(_layer("contextual_bandit", type=_cb_type(options), clip=options.clip_p, lists=lists))
    probable = bool(options.probabilities)
    if probable and bandit:
        raise UsageError("--probabilities needs --oaa or --csoaa_ldf alone, got a bandit, which predicts its own")
    if probable and options.csoaa_rank:
        raise UsageError("got --csoaa_rank and --probabilities, wanted one of them")
    layers += ["action_probabilities"] if probable else []
    lists = None if bandit or options.csoaa_rank or probable else "best"
    return [*layers, _layer("cost_sensitive_with_features", method=_method(options), lists=lists)]


def _all_pairs(options: Namespace) -> Any:
    """The layer of `--wap_ldf`, whose modes all do the same, as in VW.

    Raises:
        UsageError: a mode that there is not, or an option that it does not have.
    """
    for name in ("csoaa_ldf", "csoaa_rank", "probabilities", *_BANDITS):
        if _is_given(options, name):
            raise UsageError(f"--{name}: --wap_ldf does not have it")
    if options.wap_ldf not in _METHODS:
        raise UsageError(f"--wap_ldf: got {options.wap_ldf!r}, wanted one of {', '.join(_METHODS)}")
    return {"weighted_all_pairs": {"lists": "best"}}


def _classes(options: Namespace) -> list[Any]:
    """The layer that makes actions of classes."""
    asked = [name for name in ("cb", "cb_explore", "cbify", "cbify_ldf") if _is_given(options, name)]
    if not asked:
        return []
    if len(asked) > 1 or options.cb_adf:
        raise UsageError(f"got {' and '.join('--' + name for name in asked)}, wanted one of them and no --cb_adf")
    classes = getattr(options, asked[0])
    if asked == ["cbify_ldf"]:
        if options.csoaa_ldf is not None:
            raise UsageError("--csoaa_ldf: --cbify_ldf does not have it")
        return [_simulation(options, "simulate_bandit_with_features")]
    if asked != ["cbify"]:
        return [{"action_per_class": {"classes": classes}}]
    return [_simulation(options, "simulate_cost_sensitive_bandit" if options.cbify_cs else "simulate_bandit")]


def _simulation(options: Namespace, layer: str) -> Any:
    """The layer that makes a bandit's test of data with classes or costs."""
    right, wrong = _losses(options)
    given: dict[str, Any] = {} if options.cbify is None else {"classes": options.cbify}
    given |= ({"right": right} if right != 0 else {}) | ({"wrong": wrong} if wrong != 1 else {})
    return {layer: given} if given else layer


def _losses(options: Namespace) -> tuple[float, float]:
    """What a right and a wrong class cost in a simulation."""
    sign = -1 if options.flip_loss_sign else 1
    right = 0.0 if options.loss0 is None else options.loss0
    wrong = 1.0 if options.loss1 is None else options.loss1
    return sign * right, sign * wrong


def _layer(name: str, **parameters: Any) -> Any:
    given = {key: value for key, value in parameters.items() if value not in (None, False)}
    return {name: given} if given else name


def _method(options: Namespace) -> str | None:
    if options.csoaa_ldf is None:
        return None
    if options.csoaa_ldf not in _METHODS:
        raise UsageError(f"--csoaa_ldf: got {options.csoaa_ldf!r}, wanted one of {', '.join(_METHODS)}")
    method = _METHODS[options.csoaa_ldf]
    return None if method == "regression" else method


def _cb_type(options: Namespace) -> str | None:
    return None if options.cb_type == "mtr" else options.cb_type


def _explorer(options: Namespace) -> list[Any]:
    """The layer that explores, and the one that draws."""
    asked = [name for name in _EXPLORERS if _is_given(options, name)]
    if options.regcbopt and "regcb" not in asked:
        asked.append("regcb")
    if len(asked) > 1:
        raise UsageError(f"got {' and '.join('--' + name for name in asked)}, wanted one of them")
    if options.epsilon is not None and not 0 <= options.epsilon <= 1:
        raise UsageError(f"--epsilon: got {options.epsilon}, wanted a number from 0 to 1")
    kind = asked[0] if asked else "epsilon"
    layer = _MAKERS[kind](options)
    return ["sample_action", layer] if options.cb_sample else [layer]


def _costs(options: Namespace) -> dict[str, Any]:
    low, high = options.cb_min_cost, options.cb_max_cost
    if options.cbify is not None or options.cbify_ldf:
        for name, given, owner, cost in (("min", low, "loss0", 0.0), ("max", high, "loss1", 1.0)):
            cost = cost if getattr(options, owner) is None else getattr(options, owner)
            if given not in (None, cost):
                raise UsageError(
                    f"--cb_{name}_cost: got {given:g}, wanted {cost:g}: a simulation takes --{owner} for it"
                )
        low, high = options.loss0, options.loss1
    return {"mellowness": options.mellowness, "lowest_cost": low, "highest_cost": high}


def _softmax(options: Namespace) -> Any:
    rate = getattr(options, "lambda")
    return _layer("explore_softmax", rate=None if rate is None else abs(rate), epsilon=options.epsilon)


def _squarecb(options: Namespace) -> Any:
    return _layer(
        "explore_squarecb",
        scale=options.gamma_scale,
        exponent=options.gamma_exponent,
        epsilon=options.epsilon,
        eliminate=options.elim,
        **_costs(options),
    )


def _regcb(options: Namespace) -> Any:
    method = "optimism" if options.regcbopt else None
    return _layer("explore_regcb", method=method, first_only=options.first_only, **_costs(options))


def _bag(options: Namespace) -> Any:
    return _layer(
        "explore_bag",
        policies=options.bag,
        greedy_first=options.greedify,
        first_only=options.first_only,
        epsilon=options.epsilon,
    )


def _cover(options: Namespace) -> Any:
    given = {"epsilon": options.epsilon} if options.epsilon is not None else {}
    given |= {"psi": options.psi} if options.psi is not None else {}
    given |= {"uniform": False} if options.nounif else {}
    given |= {"regressor": False} if options.cb_type not in (None, "mtr") else {}
    given |= {"first_only": True} if options.first_only else {}
    return {"explore_cover": {"policies": options.cover} | given}


def _rnd(options: Namespace) -> Any:
    given = {"alpha": options.rnd_alpha, "scale": options.rnd_invlambda, "epsilon": options.epsilon}
    return {"explore_rnd": {"models": options.rnd} | {key: value for key, value in given.items() if value is not None}}


def _synthcover(options: Namespace) -> Any:
    return _layer(
        "explore_synthetic_cover",
        steps=options.synthcoversize,
        psi=options.synthcoverpsi,
        epsilon=options.epsilon,
    )


def _epsilon(options: Namespace) -> Any:
    given = {} if options.epsilon is None else {"epsilon": options.epsilon}
    given |= {"first_only": True} if options.first_only else {}
    return {"explore_epsilon": given} if given else "explore_epsilon"


def _first(options: Namespace) -> Any:
    return {"explore_first": {"decisions": options.first} | ({"epsilon": options.epsilon} if options.epsilon else {})}


_MAKERS = {
    "epsilon": _epsilon,
    "first": _first,
    "softmax": _softmax,
    "squarecb": _squarecb,
    "regcb": _regcb,
    "bag": _bag,
    "cover": _cover,
    "rnd": _rnd,
    "synthcover": _synthcover,
}


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
_UNUSED = ("learning_rate", "power_t", "initial_t", "decay")


def base_layer(options: Namespace, linear: dict[str, Any]) -> Any:
    """The base learner.

    Args:
        options: the command line.
        linear: the parameters of `linear` that it sets.

    Raises:
        UsageError: more than one, or parameters that it does not have.
    """
    asked = [name for name in _SUMS if getattr(options, name)]
    if len(asked) > 1:
        raise UsageError(f"got {' and '.join('--' + name for name in asked)}, wanted one of them")
    given = {"alpha": options.ftrl_alpha, "beta": options.ftrl_beta}
    sums = {name: value for name, value in given.items() if value is not None}
    if not asked:
        if sums and options.initial_regressor is None:
            raise UsageError("--ftrl_alpha and --ftrl_beta need --ftrl, --coin or --pistol")
        return {"linear": linear} if linear else "linear"
    known = (*_SHARED, "l1", "l2") if asked == ["ftrl"] else _SHARED
    for name in ["sgd"] if options.sgd else linear:
        if name not in (*known, *_UNUSED):
            raise UsageError(f"--{name}: --{asked[0]} does not have it")
    parameters = {name: value for name, value in linear.items() if name in known} | sums
    return {_SUMS[asked[0]]: parameters} if parameters else _SUMS[asked[0]]


def _evaluation(options: Namespace) -> list[Any]:
    """The layers of `--cb` with `--eval`.

    Raises:
        UsageError: options that it does not have.
    """
    if options.cb is None:
        raise UsageError("--eval needs --cb")
    for name in _NOT_EVALUATED:
        if _is_given(options, name):
            raise UsageError(f"--{name}: --eval does not have it")
    if options.cb_type == "dm":
        raise UsageError("--eval: got --cb_type dm, whose estimates are biased, wanted ips or dr")
    given: dict[str, Any] = {"classes": options.cb} | ({"type": "ips"} if options.cb_type == "ips" else {})
    costs = {"cost_sensitive_one_against_all": {"classes": options.cb, "first_class": 1}}
    return [{"evaluate_class_policy": given}, costs]
