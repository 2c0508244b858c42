"""Vowpal Wabbit's bandits with a model per class, `--cb_force_legacy`: its options as layers, and back."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import Any

from hutch.core.errors import UsageError

LAYERS = (
    "offset_tree",
    "bandit_per_class",
    "explore_classes",
    "simulate_bandit_per_class",
    "simulate_cost_sensitive_bandit_per_class",
)
_METHODS = ("cover", "bag", "first")
"""The first of them that is given explores, as in VW; else `epsilon`."""
_TYPES = {None: "dr", "mtr": "dr", "sm": "dr"}
"""VW changes the types that need actions with features."""


def class_bandit_layers(options: Namespace, costs: dict[str, Any]) -> list[Any]:
    """The layers of `--cb_force_legacy`, from the top.

    Args:
        options: the command line.
        costs: of a right and a wrong class in a simulation.

    Raises:
        UsageError: options that contradict each other.
    """
    if options.ot is not None and options.cb_explore != 2:
        raise UsageError(f"--ot: got --cb_explore {options.cb_explore}, wanted 2: a node has two sides")
    asked = [name for name in ("cb", "cb_explore", "cbify") if getattr(options, name) is not None]
    if len(asked) != 1 or options.cb_adf or options.cb_explore_adf:
        more = [name for name in ("cb_adf", "cb_explore_adf") if getattr(options, name)]
        name, got = (
            "cb_force_legacy" if options.ot is None else "ot",
            " and ".join(f"--{each}" for each in [*asked, *more]),
        )
        raise UsageError(f"--{name}: got {got}, wanted one of --cb, --cb_explore and --cbify alone")
    for name in ("softmax", "squarecb", "regcb", "regcbopt", "cb_sample", "greedify", "first_only", "csoaa_rank"):
        if getattr(options, name):
            raise UsageError(f"--{name}: got it with --cb_force_legacy, which does not have it")
    classes, kind = {"classes": getattr(options, asked[0])}, _TYPES.get(options.cb_type, options.cb_type)
    own = classes | ({"type": kind} if kind != "dr" else {})
    if options.eval and (asked[0] != "cb" or kind == "dm"):
        raise UsageError("--eval: wanted --cb, and --cb_type dr or ips: estimates of others are biased")
    layers: list[Any] = [{"bandit_per_class": own | ({"evaluates": True} if options.eval else {})}]
    if asked[0] != "cb":
        layers.insert(0, {"explore_classes": classes | explorer_of(options)})
    if options.ot is not None:
        layers.insert(0, {"offset_tree": {"classes": options.ot}})
    if asked[0] == "cbify":
        name = "simulate_cost_sensitive_bandit_per_class" if options.cbify_cs else "simulate_bandit_per_class"
        layers.insert(0, {name: classes | costs})
    return [*layers, {"cost_sensitive_one_against_all": classes | {"first_class": 1}}]


def policy_layers(options: Namespace) -> list[Any]:
    """The layers of `--multiworld_test`, from the top; without `--learn` those below learn nothing.

    Raises:
        UsageError: options that contradict each other.
    """
    for name in ("cb_explore", "cbify", "cb_adf", "cb_explore_adf", "csoaa_ldf", "eval", "ot", "warm_cb"):
        if getattr(options, name) not in (None, False):
            raise UsageError(f"got --multiworld_test and --{name}, wanted one of them")
    if options.learn is None and (options.cb is not None or options.exclude_eval):
        raise UsageError("--multiworld_test: wanted --learn N with --cb and --exclude_eval")
    if options.cb not in (None, options.learn):
        raise UsageError(f"--learn: got {options.learn}, but --cb has {options.cb}")
    asked = Namespace(**{**vars(options), "cb": options.learn or 1})
    learns = "nothing" if options.learn is None else "others" if options.exclude_eval else "all"
    given: dict[str, Any] = {"namespaces": sorted(set(options.multiworld_test))}
    given |= {"learns": learns} if learns != "others" else {}
    return [{"policy_values": given}, *class_bandit_layers(asked, {})]


def explorer_of(options: Namespace) -> dict[str, Any]:
    """The parameters of the layer that explores.

    Raises:
        UsageError: a probability out of range.
    """
    method = next((name for name in _METHODS if getattr(options, name) is not None), "epsilon")
    if options.epsilon is not None and not 0 <= options.epsilon <= 1:
        raise UsageError(f"--epsilon: got {options.epsilon}, wanted a number from 0 to 1")
    found: dict[str, Any] = {"method": method} if method != "epsilon" else {}
    if options.epsilon is not None:
        found["epsilon"] = options.epsilon
    if method != "epsilon":
        found["decisions" if method == "first" else "policies"] = getattr(options, method)
    if method == "cover":
        found |= {"psi": options.psi} if options.psi is not None else {}
        found |= {"uniform": False} if options.nounif else {}
    return found


def class_bandit_words(layers: Sequence[tuple[str, Any]]) -> Iterator[str]:
    """The options for the layers of such a chain but its learner.

    Args:
        layers: name and parameters of each.
    """
    given = dict(layers)
    simulates = next((name for name in LAYERS if name.startswith("simulate") and name in given), None)
    top = "cbify" if simulates else "cb_explore" if "explore_classes" in given else "cb"
    yield from (f"--{top}", str(given["cost_sensitive_one_against_all"].classes), "--cb_force_legacy")
    if "offset_tree" in given:
        yield from ("--ot", str(given["offset_tree"].classes))
    if given["bandit_per_class"].type != "dr":
        yield from ("--cb_type", given["bandit_per_class"].type)
    yield from ["--eval"] if given["bandit_per_class"].evaluates else []
    if simulates:
        yield from ["--cbify_cs"] if "cost" in simulates else []
        yield from ("--loss0", repr(given[simulates].right), "--loss1", repr(given[simulates].wrong))
    if explorer := given.get("explore_classes"):
        yield from explorer_words(explorer)


def explorer_words(explorer: Any) -> Iterator[str]:
    """The options for the parameters of `explore_classes`."""
    if explorer.method != "epsilon":
        count = explorer.decisions if explorer.method == "first" else explorer.policies
        yield from (f"--{explorer.method}", str(count))
    yield from () if explorer.epsilon is None else ("--epsilon", repr(explorer.epsilon))
    if explorer.method == "cover":
        yield from ("--psi", repr(explorer.psi))
        yield from () if explorer.uniform else ("--nounif",)
