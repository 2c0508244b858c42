"""Vowpal Wabbit's options for learning to search: the layers, each for one `--search_task`, and their options."""

import math
import re
from argparse import Namespace
from collections.abc import Iterator, Mapping
from typing import Any

from hutch.core.errors import UsageError
from hutch.vw.option import EXPLORING, Option, VwLayer, new_flag, new_float, new_int, new_text

_TASK = ("search_task",)
_NOTHING = "has no effect, as in VW"
TASKS: Mapping[str, str] = {
    "sequence": "search_sequence",
    "sequencespan": "search_spans",
    "sequence_ctg": "search_sequence",
    "argmax": "search_maximum",
    "multiclasstask": "search_bits",
    "entity_relation": "search_relations",
}
"""The layer of each task."""
_ROLLS = (("learn", "policy"), ("ref", "oracle"), ("mix", "mix_per_roll"))
_METHODS = ("policy", "learn", "oracle", "ref", "mix_per_state", "mix_per_roll", "mix")

_COMMON: tuple[Option, ...] = (
    new_int("search", "Learning to search: predict N classes of lines.", least=1, sets="classes"),
    new_text(
        "search_task",
        "TASK",
        "what a block of lines is: " + ", ".join(TASKS) + ".",
        choices=tuple(TASKS),
        needs=("search",),
    ),
    new_text(
        "search_interpolation",
        "data|policy",
        "mix examples, or policies that follow each other.",
        default="data",
        choices=("data", "policy"),
        note="a loaded model predicts with its newest policy; VW takes the first",
        needs=_TASK,
    ),
    new_text(
        "search_rollout",
        "METHOD",
        "who decides behind the step that is learned.",
        default="mix_per_state",
        choices=(*_METHODS, "none"),
        sets="rollout",
        means=_ROLLS,
        needs=_TASK,
    ),
    new_text(
        "search_rollin",
        "METHOD",
        "who decides before it.",
        default="mix_per_state",
        choices=_METHODS,
        sets="rollin",
        means=_ROLLS,
        needs=_TASK,
    ),
    new_int("search_passes_per_policy", "passes for which a policy learns.", default=1, least=1, needs=_TASK),
    new_float("search_beta", _NOTHING + ".", note=_NOTHING + ": it is replaced before it is used", needs=_TASK),
    new_float("search_alpha", "rate at which what was learned is trusted.", default=1e-10, sets="alpha", needs=_TASK),
    new_text(
        "search_allowed_transitions",
        "FILE",
        _NOTHING + ".",
        note=_NOTHING + ", which reads the file and no more",
        needs=_TASK,
    ),
    new_float("search_subsample_time", "learn only some steps.", least=0, sets="subsample", needs=_TASK),
    new_text("search_neighbor_features", "-1:a,+2,...", "features of lines beside a line.", needs=_TASK),
    new_int("search_rollout_num_steps", "losses that end a run.", least=0, sets="rollout_losses", needs=_TASK),
    new_int("search_history_length", "actions before a step.", default=1, least=0, sets="history", needs=_TASK),
    new_flag("search_no_caching", "remember no predictions.", sets="caching", value=False, needs=_TASK),
    new_flag("search_xv", "learn three policies, two of which test the others.", sets="folds", needs=_TASK),
    new_float("search_perturb_oracle", "how often labels are not followed.", sets="perturbation", needs=_TASK),
    new_flag("search_linear_ordering", "learn steps in order.", sets="in_order", needs=_TASK),
    new_int("search_save_every_k_runs", _NOTHING + ".", note=_NOTHING + " without `--cs_active`", needs=_TASK),
    new_int(
        "search_max_bias_ngram_length",
        "longest run of actions that is a feature.",
        default=1,
        least=0,
        sets="bias_length",
        needs=_TASK,
    ),
    new_int(
        "search_max_quad_ngram_length",
        "longest run multiplied with features.",
        default=0,
        least=0,
        sets="product_length",
        needs=_TASK,
    ),
    new_float("search_condition_feature_value", "their value.", default=1, sets="history_value", needs=_TASK),
)

_BESIDE = tuple((option.name, option.sets) for option in _COMMON if option.sets)

_OTHERS = ("slates", "ccb_explore_adf", "multiworld_test", "warm_cb", "eval", "ot", "cb_adf", "cb", *EXPLORING)
_OTHERS += ("csoaa_ldf", "cs_active")
"""Options that ask for layers of decisions, or for costs of another kind."""

LAYERS: dict[str, VwLayer] = {
    "search_bits": VwLayer(learner="search_task", beside=_BESIDE),
    "search_maximum": VwLayer(
        learner="search_task",
        options=(
            new_float("cost", "of a greatest class that is missed.", default=10, sets="cost", needs=_TASK),
            new_float("negative_weight", "divides it.", default=1, sets="weight", needs=_TASK),
            new_flag("max", "every line is to have the greatest class.", sets="only_greatest", needs=_TASK),
        ),
        beside=_BESIDE,
    ),
    "search_relations": VwLayer(
        learner="search_task",
        options=(
            new_float("relation_cost", "of a wrong relation.", default=1, sets="relation_cost", needs=_TASK),
            new_float("entity_cost", "of a wrong entity.", default=1, sets="entity_cost", needs=_TASK),
            new_flag("constraints", "relations fit the classes of their entities.", sets="constraints", needs=_TASK),
            new_float("relation_none_cost", "of a relation where none is.", default=0.5, sets="none_cost", needs=_TASK),
            new_float("skip_cost", "has no effect.", note="has no effect without `--search_order 2`", needs=_TASK),
            new_text(
                "search_order",
                "0|1",
                "entities first, or mixed with relations.",
                default="0",
                choices=("0", "1"),
                sets="order",
                means=(("0", "entities_first"), ("1", "mixed")),
                needs=_TASK,
            ),
        ),
        beside=_BESIDE,
    ),
    "search_sequence": VwLayer(learner="search_task", options=_COMMON),
    "search_spans": VwLayer(
        learner="search_task",
        options=(
            new_flag(
                "search_span_bilou",
                "label lines within spans by their places.",
                sets="encoding",
                value="bilou",
                needs=_TASK,
            ),
            new_int(
                "search_span_multipass", "times to go through a block.", default=1, least=1, sets="sweeps", needs=_TASK
            ),
        ),
        beside=_BESIDE,
    ),
}
"""By the layer's name."""


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
    if options.csoaa is None:
        options.csoaa = 2 * options.search - 1 if options.search_span_bilou else options.search


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
        more = {"passes_per_policy": passes, "policies": math.ceil((options.passes or 1) / passes)}
    if options.search_neighbor_features:
        more["neighbours"] = [_place(place) for place in options.search_neighbor_features.split(",")]
    if options.search_task == "sequencespan":  # VW keeps room for as many models as there are labels
        more["models"] = options.csoaa
        if (options.search_span_multipass or 1) > options.csoaa:
            got = f"got {options.search_span_multipass} with {options.csoaa} labels"
            raise UsageError(f"--search_span_multipass: {got}, wanted at most as many: VW crashes")
    if options.search_task == "sequence_ctg":
        more["cost_to_go"] = True
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
    yield from ("--search_task", "sequence_ctg" if getattr(given, "cost_to_go", False) else task)
    if given.passes_per_policy:
        yield from ("--search_interpolation", "policy", "--search_passes_per_policy", str(given.passes_per_policy))
        yield from ("--passes", str(given.policies * given.passes_per_policy))
    if given.neighbours:
        yield from ("--search_neighbor_features", ",".join(given.neighbours))
