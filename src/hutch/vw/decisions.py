"""Vowpal Wabbit's options for decisions as layers."""

from argparse import Namespace
from typing import Any

import numpy as np

from hutch.core.config.override import layer_name
from hutch.core.errors import UsageError, warn
from hutch.vw.class_bandits import class_bandit_layers, policy_layers
from hutch.vw.declared_layer import declared_layer
from hutch.vw.json.line import BAD_NAMESPACE, FEEDBACK_NAMESPACE
from hutch.vw.numbers import number_layers
from hutch.vw.options.declared import BASES, DECLARED
from hutch.vw.options.option import EXPLORING
from hutch.vw.options.table import OPTIONS
from hutch.vw.search import search_layers

SLOT_NAMESPACE = "\u00ff"
"""The namespace by which the layers of slots distinguish them."""
_BANDITS = ("cb_adf", "cb", *EXPLORING)


def _is_given(options: Namespace, name: str) -> bool:
    return getattr(options, name, None) not in (None, False)


def decision_layers(options: Namespace) -> list[Any]:
    """The layers that decide, from the top; empty if the options ask for none.

    Raises:
        UsageError: options that contradict each other.
    """
    if layers := number_layers(options) or search_layers(options):
        return layers
    exploring = any(_is_given(options, name) for name in EXPLORING)
    bandit = any(_is_given(options, name) for name in _BANDITS)
    if options.multiworld_test:
        return policy_layers(options)
    if options.csoaa_ldf is None and not bandit and options.ot is None:
        return []
    if options.cb_force_legacy or options.eval or options.ot is not None:
        return class_bandit_layers(options, _costs(options))
    slots = [name for name in ("ccb_explore_adf", "slates") if _is_given(options, name)]
    chooser = "choose_slate" if "slates" in slots else "choose_slots"
    layers = [declared_layer(chooser, options)] if slots else _actions(options)
    layers += [_grounded(options)] if options.experimental_igl else []
    layers += _explorer(options) if exploring else []
    if options.cb_dro:
        if slots:
            raise UsageError(f"got --cb_dro and --{slots[0]}, wanted one of them")
        place = sum(layer_name(layer) in ("rejection_sampling", "sample_action") for layer in layers)
        layers.insert(place, declared_layer("distributionally_robust", options))
    if bandit:
        lists = None if exploring or options.rank_all else "best"
        layers.append(declared_layer("contextual_bandit", options, lists=lists))
    probable = bool(options.probabilities)
    if probable and bandit:
        raise UsageError("--probabilities needs --oaa or --csoaa_ldf alone, got a bandit, which predicts its own")
    if probable and options.csoaa_rank:
        raise UsageError("got --csoaa_rank and --probabilities, wanted one of them")
    layers += ["action_probabilities"] if probable else []
    lists = None if bandit or options.csoaa_rank or probable else "best"
    return [*layers, declared_layer("cost_sensitive_with_features", options, lists=lists)]


def _actions(options: Namespace) -> list[Any]:
    """The layer that makes actions of classes, or a bandit's test of data with classes or costs."""
    asked = [name for name in ("cb", "cb_explore", "cbify") if _is_given(options, name)]
    if options.cbify_ldf:
        if asked:
            raise UsageError(f"got --cbify_ldf and --{asked[0]}, wanted one of them")
        return [declared_layer("simulate_bandit_with_features", options)]
    if options.warm_cb:
        return [_warm_start(options, asked)]
    if not asked:
        return []
    if len(asked) > 1 or options.cb_adf:
        raise UsageError(f"got {' and '.join('--' + name for name in asked)}, wanted one of them and no --cb_adf")
    if asked[0] in ("cb", "cb_explore"):
        return [declared_layer("action_per_class", options)]
    name = "simulate_cost_sensitive_bandit" if options.cbify_cs else "simulate_bandit"
    return [declared_layer(name, options, **({"right": None, "wrong": None} | _costs(options)))]


def _warm_start(options: Namespace, asked: list[str]) -> Any:
    """The layer that begins with full labels."""
    if asked or options.cb_adf:
        raise UsageError(f"got --warm_cb and --{[*asked, 'cb_adf'][0]}, wanted one of them")
    learned = (bool(options.warm_start_update), bool(options.interaction_update))
    learns = {(True, True): None, (True, False): "warm_start", (False, True): "interaction"}.get(learned, "nothing")
    name = "warm_start_cost_sensitive_bandit" if options.warm_cb_cs else "warm_start_bandit"
    if options.warm_cb_cs and (options.corrupt_prob_warm_start or options.corrupt_type_warm_start):
        raise UsageError("--corrupt_prob_warm_start: got it with --warm_cb_cs, wanted labels that are classes")
    return declared_layer(name, options, learns=learns)


def _costs(options: Namespace) -> dict[str, float]:
    """Those of a right and a wrong class in a simulation that are not the usual ones."""
    given = dict(zip(("right", "wrong"), _losses(options), strict=True))
    return {name: cost for name, cost in given.items() if cost != (name == "wrong")}


def _losses(options: Namespace) -> tuple[float, float]:
    """The costs of a right and a wrong class in a simulation; VW flips no sign of labels with costs."""
    sign = -1 if options.flip_loss_sign and not options.cbify_cs else 1
    right = 0.0 if options.loss0 is None else options.loss0
    wrong = 1.0 if options.loss1 is None else options.loss1
    return sign * right, sign * wrong


def _explorer(options: Namespace) -> list[Any]:
    """The layer that explores, and the one that draws."""
    asked = {}
    for name, layer in DECLARED.items():
        ways = [each.name for each in layer.options if each.needs == EXPLORING and each.given(options) is not None]
        if layer.explores and ways:
            asked[name] = f"--{ways[0]}"
    if len(asked) > 1:
        raise UsageError(f"got {' and '.join(asked.values())}, wanted one of them")
    if options.epsilon is not None and not 0 <= options.epsilon <= 1:
        raise UsageError(f"--epsilon: got {options.epsilon}, wanted a number from 0 to 1")
    name, more = next(iter(asked), "explore_epsilon"), {}
    if name == "explore_cover" and options.cb_type not in (None, "mtr"):
        more = {"regressor": False}  # the bandit below has one, or none is needed
    elif name == "explore_decaying":
        more = _of_decay(options)
    elif name in ("explore_regcb", "explore_squarecb"):
        more = _range_of_costs(options)
    above = ["sample_action"] if options.cb_sample else []
    above += [declared_layer("rejection_sampling", options)] if options.explore_eval else []
    above += [_spanner(options, name)] if options.large_action_space else []
    return [*above, declared_layer(name, options, **more)]


def _grounded(options: Namespace) -> Any:
    """The layer that learns from feedback in place of costs.

    Raises:
        UsageError: options that it does not go with, or a format that has no feedback.
    """
    others = ("ccb_explore_adf", "slates", "cb_explore", "cbify", "cbify_ldf", "cb_sample", "explore_eval", "cb_dro")
    if given := [name for name in (*others, "epsilon_decay", "warm_cb") if _is_given(options, name)]:
        raise UsageError(f"got --experimental_igl and --{given[0]}, wanted one of them")
    if not options.dsjson:
        raise UsageError("--experimental_igl: got data without feedback, wanted --dsjson, which has it under 'o'")
    if not options.coin:
        raise UsageError("--experimental_igl: got another learner, wanted --coin, whose bets its decoder makes, too")
    return declared_layer("interaction_grounded", options, feedback=FEEDBACK_NAMESPACE, bad=BAD_NAMESPACE)


def _spanner(options: Namespace, explorer: str) -> Any:
    """The layer that explores few of many actions, above an explorer.

    Raises:
        UsageError: an explorer that looks at all actions, or options for layers that change the log.
    """
    named = {"explore_epsilon", "explore_softmax", "explore_first", "explore_squarecb"}
    others = [name for name in ("ccb_explore_adf", "slates", "cb_dro", "experimental_igl") if _is_given(options, name)]
    if explorer not in named or options.elim:
        others += ["elim"] if options.elim else [DECLARED[explorer].options[0].name]
    if others:
        raise UsageError(f"got --large_action_space and --{others[0]}, wanted one of them")
    if options.spanner_c is not None and not options.spanner_c > 1:
        raise UsageError(f"--spanner_c: got {options.spanner_c:g}, wanted more than 1")
    return declared_layer("few_actions", options)


def _of_decay(options: Namespace) -> dict[str, Any]:
    """The epsilon that models of `--epsilon_decay` begin with, or keep.

    Raises:
        UsageError: options for layers between the models, which here stand above them all.
    """
    if others := [name for name in ("ccb_explore_adf", "slates", "cb_dro") if _is_given(options, name)]:
        raise UsageError(f"got --epsilon_decay and --{others[0]}, wanted one of them")
    if options.constant_epsilon:
        return {"epsilon": 0.05 if options.epsilon is None else options.epsilon}
    if options.epsilon is not None:
        warn("--epsilon: it has no effect on --epsilon_decay without --constant_epsilon, as in VW")
    return {"epsilon": options.initial_epsilon}


def _range_of_costs(options: Namespace) -> dict[str, Any]:
    """For a simulation, the costs of a right and a wrong class.

    Raises:
        UsageError: the options name another range.
    """
    if options.cbify is None and not options.cbify_ldf:
        return {}
    for name, owner, default in (("cb_min_cost", "loss0", 0.0), ("cb_max_cost", "loss1", 1.0)):
        given, cost = getattr(options, name), getattr(options, owner)
        cost = default if cost is None else cost
        if given not in (None, cost):
            raise UsageError(f"--{name}: got {given:g}, wanted {cost:g}: a simulation takes --{owner} for it")
    return {"lowest_cost": options.loss0, "highest_cost": options.loss1}


def _of_sketch(options: Namespace) -> dict[str, Any]:
    """Parameters of `--OjaNewton` that options do not set unchanged."""
    found: dict[str, Any] = {} if options.binary else {"predict_first": True}
    if options.alpha_inverse is None:
        return found
    if not options.alpha_inverse > 0:
        raise UsageError(f"--alpha_inverse: got {options.alpha_inverse:g}, wanted more than 0")
    return found | {"alpha": float(np.float32(1) / np.float32(options.alpha_inverse))}


def _of_topics(options: Namespace, linear: dict[str, Any]) -> dict[str, Any]:
    """Parameters of `--lda` that options do not set unchanged; it takes options without effect out of `linear`."""
    linear.pop("decay", None)
    for name in ("min_prediction", "max_prediction"):
        if linear.pop(name, None) is not None:
            warn(f"--{name}: it has no effect on the topics of --lda, as in VW")
    if linear.get("learning_rate", 0.0) > 1:
        warn(f"--learning_rate: got {linear['learning_rate']:g}, and it is 1, the most with --lda, as in VW")
        linear["learning_rate"] = 1.0
    rates = {"learning_rate": 0.5, "power_t": 0.5, "initial_t": 0.0}
    found: dict[str, Any] = {name: linear.pop(name, default) for name, default in rates.items()}
    found |= {} if getattr(options, "math-mode") is not None else {"arithmetic": "fast_in_fours"}
    found |= {} if options.minibatch is not None else {"minibatch": 1}
    return found | {"scores": "weights", "vocabulary": "table"}


_SHARED = (
    "loss",
    "min_prediction",
    "max_prediction",
    "interactions",
    "permutations",
    "duplicate_interactions",
    "ignore_linear",
)
_RATES = ("learning_rate", "power_t", "initial_t", "decay")
_KNOWN = {
    "bfgs": (*_SHARED, "l2"),
    "cbzo": (*_SHARED[1:], "learning_rate", "l1", "l2", "initial_constant"),
    "ftrl": (*_SHARED, "l1", "l2"),
    "lda": _RATES,
    "ksvm": ("interactions", "permutations", "duplicate_interactions", "ignore_linear", "l2"),
    "rank": (*_SHARED[:4], "l2", *_RATES),
    "svrg": (*_SHARED, "learning_rate", "decay"),
}
"""The parameters of `linear` that other learners have, by option; unknown rates have no effect."""


_IMPLIED = (("loss", "hinge"), ("l2", 0.0))
"""Options of `--ksvm` that change nothing: its loss, and no regularisation, for which VW takes 1."""


def base_layer(options: Namespace, linear: dict[str, Any]) -> Any:
    """The base learner.

    Args:
        options: the command line.
        linear: the parameters of `linear` that it sets.

    Raises:
        UsageError: more than one, or parameters that it does not have.
    """
    if options.conjugate_gradient:
        if options.bfgs:
            raise UsageError("got --bfgs and --conjugate_gradient, wanted one of them")
        options.bfgs, options.mem, options.termination = True, 0, 0.0
    asked = {name: layer.options[0].name for name, layer in BASES.items() if _is_given(options, layer.options[0].name)}
    if len(asked) > 1:
        raise UsageError(f"got {' and '.join('--' + name for name in asked.values())}, wanted one of them")
    for name, option in asked.items():
        known = _KNOWN.get(option, _SHARED)
        if option == "ksvm":
            linear = {key: value for key, value in linear.items() if (key, value) not in _IMPLIED}
        more: dict[str, Any] = {}
        if option == "OjaNewton":
            more = _of_sketch(options)
        if option == "lda":
            more = _of_topics(options, linear)
        if option == "bfgs":
            more = {"keep_scales": False}
            if linear.pop("l1", 0):
                warn("--l1: --bfgs has no L1 regularisation: it has no effect, as in VW")
        for given in [name for name in ("sgd", "noop", "print") if getattr(options, name)] or linear:
            if given not in (*known, *_RATES):
                name = next((each.name for each in OPTIONS if each.part == "base" and each.key == given), given)
                raise UsageError(f"--{name}: --{option} does not have it")
        return declared_layer(name, options, **more, **{key: value for key, value in linear.items() if key in known})
    return {"linear": linear} if linear else "linear"
