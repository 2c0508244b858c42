"""Vowpal Wabbit's options for bandits simulated on labels that are known."""

from hutch.vw.options.option import VwLayer, new_choice, new_flag, new_float, new_int

_WARM = ("warm_cb",)
_SIMULATIONS = ("cbify", "cbify_ldf", "warm_cb")

LAYERS: dict[str, VwLayer] = {
    "simulate_bandit": VwLayer(
        learner="cbify-adf",
        options=(
            new_int("cbify", "Learn classes 1 to N as a bandit: from costs of predictions only.", sets="classes"),
            new_float("loss0", "cost of the right class.", default=0, needs=_SIMULATIONS, sets="right"),
            new_float("loss1", "cost of every other class.", default=1, needs=_SIMULATIONS, sets="wrong"),
            new_flag("flip_loss_sign", "negate costs, so that they are rewards.", needs=("cbify",)),
        ),
        makes_actions=True,
    ),
    "simulate_bandit_per_class": VwLayer(learner="cbify"),
    "simulate_bandit_with_features": VwLayer(
        learner="cbify_ldf",
        options=(new_flag("cbify_ldf", "Learn decisions as a bandit: from costs of predictions only."),),
        beside=(("loss0", "right"), ("loss1", "wrong")),
        makes_actions=True,
    ),
    "simulate_cost_sensitive_bandit": VwLayer(
        learner="cbify-adf",
        options=(new_flag("cbify_cs", "labels are costs per class instead of classes.", needs=("cbify",)),),
        beside=(("cbify", "classes"), ("loss0", "right"), ("loss1", "wrong")),
        makes_actions=True,
    ),
    "simulate_cost_sensitive_bandit_per_class": VwLayer(learner="cbify-cs"),
    "simulate_number_bandit": VwLayer(
        learner="cbify-reg",
        options=(
            new_flag("cbify_reg", "labels are numbers, and costs distances from them.", needs=("cbify",)),
            new_flag("cb_discrete", "choose among the parts of the range as classes.", needs=("cbify_reg",)),
            new_choice(
                "loss_option",
                "squared, absolute or 0/1 distance.",
                {"0": "squared", "1": "absolute", "2": "zero_one"},
                sets="cost",
                needs=("cbify_reg",),
            ),
            new_choice(
                "loss_report",
                "report costs in widths of the range, or in units of the label.",
                {"0": False, "1": True},
                sets="in_units",
                needs=("cbify_reg",),
            ),
            new_float(
                "loss_01_ratio",
                "part of the range within which 0/1 distance is 0.",
                default=0.1,
                sets="tolerance",
                needs=("cbify_reg",),
            ),
        ),
        beside=(("min_value", "lowest"), ("max_value", "highest")),
    ),
    "simulate_part_bandit": VwLayer(
        learner="cbify-reg-discrete",
        beside=(
            ("min_value", "lowest"),
            ("max_value", "highest"),
            ("loss_option", "cost"),
            ("loss_report", "in_units"),
            ("loss_01_ratio", "tolerance"),
        ),
    ),
    "warm_start_bandit": VwLayer(
        learner="warm_cb-multi",
        options=(
            new_int(
                "warm_cb", "Learn classes 1 to N as a bandit, the first examples with their labels.", sets="classes"
            ),
            new_int("warm_start", "number of these examples.", default=0, least=0, sets="warm_start", needs=_WARM),
            new_int("interaction", "examples after these.", least=0, sets="interaction", needs=_WARM),
            new_flag("warm_start_update", "learn the first examples.", needs=_WARM),
            new_flag("interaction_update", "learn those after them.", needs=_WARM),
            new_int("choices_lambda", "weights to try.", default=1, least=1, sets="candidates", needs=_WARM),
            new_choice(
                "lambda_scheme",
                "which weights.",
                {"1": "half", "2": "half_with_ends", "3": "minimax", "4": "minimax_with_ends"},
                sets="weights",
                needs=_WARM,
            ),
            new_flag("sim_bandit", "draw choices for the first examples, too.", sets="draws_warm_start", needs=_WARM),
            new_float(
                "corrupt_prob_warm_start",
                "probability that one of them shows another class.",
                default=0,
                sets="corruption_probability",
                needs=_WARM,
            ),
            new_choice(
                "corrupt_type_warm_start",
                "which class: a random one, the next, or always the same.",
                {"1": "random", "2": "next", "3": "overwrite"},
                sets="corruption",
                needs=_WARM,
            ),
            new_int("overwrite_label", "the same.", default=1, least=1, sets="corruption_class", needs=_WARM),
        ),
        beside=(("loss0", "right"), ("loss1", "wrong"), ("epsilon", "epsilon")),
        makes_actions=True,
    ),
    "warm_start_cost_sensitive_bandit": VwLayer(
        learner="warm_cb-cs",
        options=(new_flag("warm_cb_cs", "labels are costs per class instead of classes.", needs=_WARM),),
        beside=(
            ("warm_cb", "classes"),
            ("warm_start", "warm_start"),
            ("interaction", "interaction"),
            ("choices_lambda", "candidates"),
            ("lambda_scheme", "weights"),
            ("sim_bandit", "draws_warm_start"),
            ("loss0", "right"),
            ("loss1", "wrong"),
            ("epsilon", "epsilon"),
        ),
        makes_actions=True,
    ),
}
"""By the layer's name."""
