"""Vowpal Wabbit's options for decisions for a number of a range."""

from hutch.vw.options.option import NUMBERS, VwLayer, new_flag, new_float, new_int, new_text

_IMPLIED = "has no effect: --cats and --cats_pdf imply it"

LAYERS: dict[str, VwLayer] = {
    "action_density": VwLayer(
        learner="cats_tree, get_pmf, pmf_to_pdf, cb_explore_pdf, cats_pdf",
        options=(
            new_int("cats", "Decide for a number of a range, cut into N parts: draw one.", sets="parts"),
            new_int("cats_pdf", "Decide for a number of a range, cut into N parts: predict a density.", sets="parts"),
            new_float("min_value", "smallest number.", sets="lowest", needs=NUMBERS),
            new_float("max_value", "largest number.", sets="highest", needs=NUMBERS),
            new_flag("get_pmf", _IMPLIED + ".", note=_IMPLIED, needs=NUMBERS),
            new_int("pmf_to_pdf", _IMPLIED + ".", note=_IMPLIED, needs=NUMBERS),
            new_flag("cb_explore_pdf", _IMPLIED + ".", note=_IMPLIED, needs=NUMBERS),
            new_flag("sample_pdf", _IMPLIED + ".", note=_IMPLIED, needs=NUMBERS),
        ),
        beside=(("bandwidth", "bandwidth"), ("epsilon", "epsilon")),
    ),
    "action_tree": VwLayer(
        learner="cats_tree",
        options=(
            new_int("cats_tree", "Choose among N actions in a row by a tree.", sets="classes"),
            new_int("tree_bandwidth", "actions beside the best.", least=0, sets="reach", needs=("cats_tree",)),
        ),
    ),
    "sample_density": VwLayer(learner="sample_pdf, cats"),
    "zeroth_order": VwLayer(
        learner="cbzo",
        options=(
            new_flag("cbzo", "Decide for a number, and step against the cost of numbers beside it."),
            new_text(
                "policy",
                "linear|constant",
                "what the number depends on: features, or nothing.",
                choices=("linear", "constant"),
                default="linear",
                sets="policy",
                needs=("cbzo",),
            ),
        ),
        beside=(("radius", "radius"), ("no_bias_regularization", "regularize_constant")),
        in_place_of="linear",
    ),
}
"""By the layer's name."""
