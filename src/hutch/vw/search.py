"""A layer that searches from the options of a command line, and back."""

import math
import re
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from hutch.core.errors import UsageError, warn
from hutch.vw.options.option import EXPLORING
from hutch.vw.options.search import TASKS

_OTHERS: tuple[str, ...] = (
    *("slates", "ccb_explore_adf", "multiworld_test", "warm_cb", "eval", "ot", "cb_adf", "cb", *EXPLORING),
    *("csoaa_ldf", "cs_active"),
)
"""Options that ask for layers of decisions, or for costs of another kind."""


_OF_TREES = {"labels": 12, "root": 8}
"""Vowpal Wabbit's numbers of labels of arcs, and of that to the root."""


def imply(options: Namespace) -> None:
    """Set the options that a search implies: below it are costs of as many classes.

    Raises:
        UsageError: `--search` without a task, or another learner below it.
    """
    if options.search is None:
        return
    if options.search_task is None:
        raise UsageError(f"--search needs --search_task, one of {', '.join(TASKS)}")
    for name in _OTHERS:
        if getattr(options, name) not in (None, False):
            raise UsageError(f"--search: got --{name}, wanted --csoaa or none, which is the same")
    if options.search_task == "dep_parser":
        _leave_out(options)
    if options.search_task == "dep_parser" and options.cost_to_go:  # VW makes room for all arcs with their labels
        arcs = 2 * (_OF_TREES["labels"] if options.num_label is None else options.num_label)
        options.search = max(options.search, arcs + int(options.transition_system or 1))
    if options.csoaa is None:
        options.csoaa = 2 * options.search - 1 if options.search_span_bilou else options.search


def _leave_out(options: Namespace) -> None:
    """Leave out options of features that a parser does not have, as it makes its own."""
    without = [name for name in ("quadratic", "cubic", "interactions", "noconstant") if getattr(options, name)]
    if options.ignore_linear and not set("".join(options.ignore_linear)) & set("BCDEFGHIJKLMNd"):
        without.append("ignore_linear")
    for name in without:
        warn(f"--{name}: has no effect: --search_task dep_parser makes features of its own, as in VW")
        setattr(options, name, False if name == "noconstant" else [])


def search_layers(options: Namespace) -> list[Any]:
    """The layer that searches; empty if the options ask for none.

    Raises:
        UsageError: a value that it cannot have.
    """
    from hutch.vw.declared_layer import declared_layer

    if options.search is None:
        return []
    more: dict[str, Any] = {}
    if options.search_interpolation == "policy":
        passes = options.search_passes_per_policy or 1
        policies = max(options.search_total_nb_policies or 1, math.ceil((options.passes or 1) / passes))
        more = {"passes_per_policy": passes, "policies": policies}
    elif options.search_total_nb_policies is not None:
        warn("--search_total_nb_policies: has no effect without --search_interpolation policy, as in VW")
    if options.search_neighbor_features:
        more["neighbours"] = [_place(place) for place in options.search_neighbor_features.split(",")]
    if options.search_task == "sequencespan":  # VW keeps room for as many models as there are labels
        more["models"] = options.csoaa
        if (options.search_span_multipass or 1) > options.csoaa:
            got = f"got {options.search_span_multipass} with {options.csoaa} labels"
            raise UsageError(f"--search_span_multipass: {got}, wanted at most as many: VW crashes")
    if options.search_task == "sequence_ctg":
        more["cost_to_go"] = True
    if options.search_task == "dep_parser":
        given = {"labels": options.num_label, "root": options.root_label}
        more |= {name: default if given[name] is None else given[name] for name, default in _OF_TREES.items()}
        more["as_vw"] = True
    if options.search_task == "graph":
        more |= {"as_vw": True} | ({"loops": 1} if options.search_graph_num_loops == 0 else {})
    return [declared_layer(TASKS[options.search_task], options, **more)]


def _place(text: str) -> str:
    """A place of `--search_neighbor_features` as the layer has it."""
    match = re.fullmatch(r"([+-]?\d+)(?::(.*))?", text)
    if not match or not -128 <= int(match[1]) <= 127:
        raise UsageError(f"--search_neighbor_features: got {text!r}, wanted a distance and a letter, as in -1:w")
    letter = (match[2] or "")[:1].strip()
    return f"{int(match[1])}:{letter}" if letter else str(int(match[1]))


def search_words(name: str, given: Any) -> Iterator[str]:
    """The options of a layer that searches which its declaration does not give."""
    task = next(task for task, layer in TASKS.items() if layer == name)
    yield from ("--search_task", "sequence_ctg" if task == "sequence" and given.cost_to_go else task)
    if task == "dep_parser" and given.root == type(given).root:
        yield from ("--root_label", str(given.root))  # the default there is another
    if given.passes_per_policy:
        yield from ("--search_interpolation", "policy", "--search_passes_per_policy", str(given.passes_per_policy))
        yield from ("--passes", str(given.policies * given.passes_per_policy))
    if given.neighbours:
        yield from ("--search_neighbor_features", ",".join(given.neighbours))
