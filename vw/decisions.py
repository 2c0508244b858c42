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
_TYPES = ("mtr", "ips", "dm", "dr", "sm")
_EXPLORERS = ("first", "softmax", "squarecb", "regcb", "bag", "cover", "rnd", "synthcover")
_BELONGS = {
    "csoaa_rank": ("csoaa_ldf",),
    "rank_all": ("cb_adf",),
    "no_predict": ("cb_adf",),
    "cb_type": ("cb_adf", "cb_explore_adf"),
    "clip_p": ("cb_adf", "cb_explore_adf"),
    "cb_sample": ("cb_explore_adf",),
    "epsilon": ("cb_explore_adf",),
    **dict.fromkeys(_EXPLORERS, ("cb_explore_adf",)),
    "regcbopt": ("cb_explore_adf",),
    "lambda": ("softmax",),
    "gamma_scale": ("squarecb",),
    "gamma_exponent": ("squarecb",),
    "elim": ("squarecb",),
    "cb_min_cost": ("squarecb", "regcb", "regcbopt"),
    "cb_max_cost": ("squarecb", "regcb", "regcbopt"),
    "first_only": ("cb_explore_adf",),
    "greedify": ("bag",),
    "psi": ("cover",),
    "nounif": ("cover",),
    "rnd_alpha": ("rnd",),
    "rnd_invlambda": ("rnd",),
    "synthcoverpsi": ("synthcover",),
    "synthcoversize": ("synthcover",),
}
"""Options that mean something beside one of others only."""


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
    bandit = options.cb_adf or options.cb_explore_adf
    if options.csoaa_ldf is None and not bandit:
        return []
    layers = [*_explorer(options)] if options.cb_explore_adf else []
    if bandit:
        layers.append(_layer("contextual_bandit", type=_cb_type(options), clip=options.clip_p))
    layers.append(_layer("cost_sensitive_with_features", method=_method(options)))
    return layers


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
    if options.cb_type not in (None, *_TYPES):
        raise UsageError(f"--cb_type: got {options.cb_type!r}, wanted one of {', '.join(_TYPES)}")
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
    return {
        "mellowness": options.mellowness,
        "lowest_cost": options.cb_min_cost,
        "highest_cost": options.cb_max_cost,
    }


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
    "synthcover": _synthcover,
}
