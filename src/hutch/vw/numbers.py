"""Vowpal Wabbit's options for decisions for a number, `--cats` and its kin, as layers, and back."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import Any

from hutch.core.errors import UsageError
from hutch.vw.class_bandits import explorer_of, explorer_words
from hutch.vw.declared_layer import declared_layer

LAYERS = ("action_density", "action_tree", "sample_density", "simulate_number_bandit", "simulate_part_bandit")
"""The layers of these options, but for a bandit per class below them, and the learner."""
_IMPLIED = ("get_pmf", "pmf_to_pdf", "cb_explore_pdf", "sample_pdf")
_TREES = ("cats", "cats_pdf", "cats_tree")
_BELOW = ("explore_classes", "bandit_per_class", "cost_sensitive_one_against_all", "binary")


def imply(options: Namespace) -> None:
    """Set the options that others imply in VW: nodes of a tree predict a side, unless a link keeps within -1 and 1."""
    trees = any(getattr(options, name) is not None for name in _TREES)
    if (trees or (options.cbify_reg and not options.cb_discrete)) and options.link in (None, "identity"):
        options.binary = True


def leave_out_implied(options: Namespace) -> None:
    """Take options back that VW writes into its models for `--cats` and `--cats_pdf`."""
    if options.cats is not None:
        options.cats_pdf = None
    if options.cats is not None or options.cats_pdf is not None:
        options.cats_tree = options.tree_bandwidth = options.pmf_to_pdf = None
        for name in _IMPLIED:
            setattr(options, name, None if name == "pmf_to_pdf" else False)


def number_layers(options: Namespace) -> list[Any]:
    """The layers for a number, from the top; empty if the options ask for none.

    Args:
        options: the command line.

    Raises:
        UsageError: options that contradict each other.
    """
    asked = [name for name in _TREES if getattr(options, name) is not None]
    for name in _IMPLIED if not (options.cats or options.cats_pdf or options.cbify_reg) else ():
        if getattr(options, name) not in (None, False):
            raise UsageError(f"--{name}: got it alone, wanted --cats N or --cats_pdf N, which imply it")
    if options.cbify_reg:
        return _simulation(options, asked)
    if not asked:
        return []
    if len(asked) > 1:
        raise UsageError(f"got {' and '.join('--' + name for name in asked)}, wanted one of them")
    others = [name for name in ("cb", "cb_explore", "cb_adf", "cb_explore_adf", "cbify") if getattr(options, name)]
    if others:
        raise UsageError(f"got --{asked[0]} and --{others[0]}, wanted one of them")
    if asked[0] == "cats_tree":
        return [declared_layer("action_tree", options)]
    return [*(["sample_density"] if asked[0] == "cats" else []), _density(options, f"--{asked[0]}")]


def _density(options: Namespace, asker: str, **more: Any) -> Any:
    for name in ("min_value", "max_value"):
        if getattr(options, name) is None:
            raise UsageError(f"{asker} needs --{name}")
    if options.min_value >= options.max_value:
        got = f"--min_value {options.min_value:g} and --max_value {options.max_value:g}"
        raise UsageError(f"got {got}, wanted the first below the other")
    return declared_layer("action_density", options, loss="logged", baseline="none", **more)


def _simulation(options: Namespace, asked: list[str]) -> list[Any]:
    """The layers of `--cbify_reg`."""
    count = options.cbify
    for name in ("cbify_cs", "cb_explore_adf"):
        if getattr(options, name):
            raise UsageError(f"got --cbify_reg and --{name}, wanted one of them")
    if options.cats_pdf is not None or (options.cats_tree is not None and not options.cb_discrete):
        raise UsageError(f"--cbify_reg: got --{asked[-1]}, wanted --cats {count}, or --cb_discrete for --cats_tree")
    for name in asked:
        if getattr(options, name) != count:
            raise UsageError(f"--{name}: got {getattr(options, name)}, wanted {count}, that of --cbify")
    density = _density(options, "--cbify_reg", parts=count)
    if not options.cb_discrete:
        return [declared_layer("simulate_number_bandit", options), "sample_density", density]
    if options.cats is not None:
        raise UsageError("got --cb_discrete and --cats, wanted one of them")
    classes = {"classes": count}
    top = [
        declared_layer("simulate_part_bandit", options, classes=count),
        {"explore_classes": classes | explorer_of(options)},
    ]
    if options.cats_tree is not None:
        return [*top, declared_layer("action_tree", options)]
    kind = {} if options.cb_type in (None, "mtr", "dr", "sm") else {"type": options.cb_type}
    return [
        *top,
        {"bandit_per_class": classes | kind},
        {"cost_sensitive_one_against_all": classes | {"first_class": 1}},
    ]


def number_words(layers: Sequence[tuple[str, Any]]) -> tuple[list[str], list[tuple[str, Any]]]:
    """The options for such layers, and the layers that are left.

    Args:
        layers: name and parameters of each.
    """
    given = dict(layers)
    words = list(_words(given))
    linked = "link" in given
    below = [name for name in _BELOW if name != "binary" or not linked]
    return words, [layer for layer in layers if layer[0] not in (*LAYERS, *below)]


def _words(given: dict[str, Any]) -> Iterator[str]:
    density, tree = given.get("action_density"), given.get("action_tree")
    simulation = given.get("simulate_number_bandit", given.get("simulate_part_bandit"))
    if simulation is not None:
        count = density.parts if density is not None else simulation.classes
        yield from ("--cbify", str(count), "--cbify_reg")
        yield from () if density is not None else ("--cb_discrete",)
        yield from ("--loss_option", str(("squared", "absolute", "zero_one").index(simulation.cost)))
        yield from ("--loss_report", "1") if simulation.in_units else ()
        yield from ("--loss_01_ratio", repr(simulation.tolerance))
    elif density is not None:
        yield from ("--cats" if "sample_density" in given else "--cats_pdf", str(density.parts))
    if tree is not None:
        yield from ("--cats_tree", str(tree.classes))
        yield from ("--tree_bandwidth", str(tree.reach)) if tree.reach else ()
    if (ranged := density or simulation) is not None:
        yield from ("--min_value", repr(ranged.lowest), "--max_value", repr(ranged.highest))
    if density is not None:
        yield from ("--bandwidth", repr(density.bandwidth)) if density.bandwidth is not None else ()
        yield from ("--epsilon", repr(density.epsilon))
    if explorer := given.get("explore_classes"):
        yield from explorer_words(explorer)
    if (bandit := given.get("bandit_per_class")) is not None and bandit.type != "dr":
        yield from ("--cb_type", bandit.type)
