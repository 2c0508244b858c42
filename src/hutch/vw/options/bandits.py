"""Vowpal Wabbit's options for contextual bandits, and for decisions all of whose costs are known."""

from hutch.vw.options.option import EXPLORING, VwLayer, new_flag, new_float, new_int, new_text

ALL_PAIRS = "all_pairs"
"""The method of `--wap_ldf`, which stands for `--csoaa_ldf` in a chain."""

LAYERS: dict[str, VwLayer] = {
    "action_per_class": VwLayer(
        learner="cb_to_cbadf",
        options=(
            new_int("cb", "Contextual bandit with actions 1 to N: learn the chosen action's cost.", sets="classes"),
            new_int("cb_explore", "Contextual bandit with actions 1 to N: explore.", sets="classes"),
        ),
        makes_actions=True,
    ),
    "bandit_per_class": VwLayer(
        learner="cb",
        options=(
            new_flag("cb_force_legacy", "Give every class its own weights.", needs=("cb", "cb_explore", "cbify")),
            new_flag("eval", "Evaluate a policy, whose choice is the first class of each label.", needs=("cb",)),
        ),
        beside=(("cb_type", "type"),),
    ),
    "choose_slate": VwLayer(
        learner="ccb_explore_adf, slates",
        options=(new_flag("slates", "Slates: choose an action per slot, at one cost for all."),),
        makes_actions=True,
    ),
    "choose_slots": VwLayer(
        learner="ccb_explore_adf",
        options=(
            new_flag("ccb_explore_adf", "Conditional contextual bandit: choose an action per slot, at a cost each."),
            new_flag("all_slots_loss", "report the cost of all slots.", sets="all_slots", needs=("ccb_explore_adf",)),
        ),
        makes_actions=True,
    ),
    "contextual_bandit": VwLayer(
        learner="cb_adf",
        options=(
            new_flag("cb_adf", "Contextual bandit on actions with features: learn the chosen action's cost."),
            new_text(
                "cb_type",
                "TYPE",
                "Estimator of costs: mtr, ips, dm, dr or sm.",
                choices=("mtr", "ips", "dm", "dr", "sm"),
                default="mtr",
                sets="type",
                needs=("cb_adf", "cb", *EXPLORING),
            ),
            new_float(
                "clip_p",
                "Clip logged probabilities below X to X.",
                default=0,
                sets="clip",
                needs=("cb_adf", "cb", *EXPLORING),
            ),
            new_flag("rank_all", "write all actions with their scores.", needs=("cb_adf", "cb_explore_adf")),
            new_flag(
                "no_predict",
                "Accepted for compatibility; has no effect.",
                note="accepted, and changes nothing",
                needs=("cb_adf", "ccb_explore_adf"),
            ),
        ),
    ),
    "cost_sensitive_with_features": VwLayer(
        learner="csoaa_ldf",
        options=(
            new_text(
                "csoaa_ldf",
                "m|mc",
                "Cost-sensitive one against all, on actions with features, one line each.",
                choices=("m", "multiline", "mc", "multiline-classifier"),
                sets="method",
                means=(
                    ("m", "regression"),
                    ("multiline", "regression"),
                    ("mc", "classification"),
                    ("multiline-classifier", "classification"),
                    (ALL_PAIRS, ALL_PAIRS),
                ),
            ),
            new_text(
                "wap_ldf",
                "m",
                "Weighted all pairs, on actions with features, one line each.",
                choices=("m", "multiline", "mc", "multiline-classifier"),
                note="all values mean the same, as in VW",
            ),
            new_flag(
                "csoaa_rank", "Write all actions with their scores.", needs=("csoaa_ldf", "cb_adf", "cb", *EXPLORING)
            ),
        ),
    ),
    "distributionally_robust": VwLayer(
        learner="cb_dro",
        options=(
            new_flag("cb_dro", "Learn for the worst case that the log allows.", needs=("cb_adf", "cb_explore_adf")),
            new_float("cb_dro_alpha", "level of error of its bound.", default=0.05, sets="level", needs=("cb_dro",)),
            new_float("cb_dro_tau", "decisions count less by X each.", default=0.999, sets="memory", needs=("cb_dro",)),
            new_float("cb_dro_wmax", "the largest 1 / p there can be.", sets="greatest_weight", needs=("cb_dro",)),
        ),
    ),
    "interaction_grounded": VwLayer(
        learner="experimental_igl",
        options=(new_flag("experimental_igl", "Learn from feedback without rewards, that of --dsjson, with --coin."),),
    ),
    "offset_tree": VwLayer(
        learner="offset_tree", options=(new_int("ot", "Choose among N actions by a tree of choices.", sets="classes"),)
    ),
    "policy_values": VwLayer(
        learner="multiworld_test",
        options=(
            new_text("multiworld_test", "AB", "Estimate the costs of policies, the features of namespaces A and B."),
            new_int("learn", "learn a policy for N classes, too.", least=1, needs=("multiworld_test",)),
            new_flag("exclude_eval", "without those features.", needs=("multiworld_test",)),
        ),
        makes_actions=True,
    ),
    "rejection_sampling": VwLayer(
        learner="explore_eval",
        options=(
            new_flag("explore_eval", "Replay a log: learn from the decisions that rejection sampling accepts."),
            new_float("multiplier", "accept with probability X pi / p.", sets="multiplier", needs=("explore_eval",)),
            new_float("target_rate", "share of decisions to accept.", sets="target_rate", needs=("explore_eval",)),
        ),
    ),
    "sample_action": VwLayer(
        learner="cb_sample", options=(new_flag("cb_sample", "Draw an action and list it first.", needs=EXPLORING),)
    ),
}
"""By the layer's name."""
