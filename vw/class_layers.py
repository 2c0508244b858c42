"""Vowpal Wabbit's options for bandits with weights for each class, `--cb_force_legacy` and `--eval`, as layers."""

from argparse import Namespace
from typing import Any

from hutch.core.errors import UsageError

EXPLORES = "explore_class_"
_TYPES = {"ips": "ips", "dm": "dm", "dr": None, "mtr": None, "sm": None, None: None}
_MISSING = (
    "softmax", "squarecb", "regcb", "regcbopt", "rnd", "synthcover", "first_only", "greedify", "clip_p", "cb_sample",
    "cb_explore_adf", "cb_adf", "csoaa_ldf", "wap_ldf", "csoaa_rank",
)  # fmt: skip
"""What VW has for actions with features alone."""


def class_layers(options: Namespace) -> list[Any]:
    """The layers of `--cb`, `--cb_explore` or `--cbify` with `--cb_force_legacy`, or of `--cb` with `--eval`.

    Raises:
        UsageError: options that contradict each other.
    """
    why = "eval" if options.eval else "cb_force_legacy"
    asked = [name for name in ("cb", "cb_explore", "cbify") if getattr(options, name) is not None]
    if len(asked) != 1:
        raise UsageError(f"--{why} needs one of --cb, --cb_explore and --cbify")
    if options.eval and asked != ["cb"]:
        raise UsageError(f"--eval needs --cb, got --{asked[0]}")
    for name in _MISSING:
        if getattr(options, name, None) not in (None, False):
            raise UsageError(f"--{name}: --{why} does not have it")
    classes = getattr(options, asked[0])
    if options.cb_type not in _TYPES:
        raise UsageError(f"--cb_type: got {options.cb_type!r}, wanted one of {', '.join(map(str, list(_TYPES)[:-1]))}")
    kind = _TYPES[options.cb_type]
    learner: dict[str, Any] = {"classes": classes} | ({"type": kind} if kind else {})
    costs = {"cost_sensitive_one_against_all": {"classes": classes, "first_class": 1}}
    if options.eval:
        if kind == "dm":
            raise UsageError("--eval: got --cb_type dm, whose estimates are biased, wanted ips or dr")
        return [{"evaluate_class_policy": learner}, costs]
    explorer = [] if asked == ["cb"] else [_explorer(options)]
    return [*explorer, {"class_bandit": learner}, costs]


def _explorer(options: Namespace) -> Any:
    asked = [name for name in ("cover", "bag", "first") if getattr(options, name) is not None]
    if len(asked) > 1:
        raise UsageError(f"got {' and '.join('--' + name for name in asked)}, wanted one of them")
    if options.epsilon is not None and not 0 <= options.epsilon <= 1:
        raise UsageError(f"--epsilon: got {options.epsilon}, wanted a number from 0 to 1")
    epsilon = {} if options.epsilon is None else {"epsilon": options.epsilon}
    if asked == ["cover"]:
        given: dict[str, Any] = {"policies": options.cover} | epsilon
        given |= {"psi": options.psi} if options.psi is not None else {}
        return {f"{EXPLORES}cover": given | ({"uniform": False} if options.nounif else {})}
    if asked == ["bag"]:
        return {f"{EXPLORES}bag": {"policies": options.bag}}
    if asked == ["first"]:
        return {f"{EXPLORES}first": {"examples": options.first}}
    return {f"{EXPLORES}epsilon": epsilon} if epsilon else f"{EXPLORES}epsilon"
