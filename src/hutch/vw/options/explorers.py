"""Vowpal Wabbit's options for layers that explore."""

from hutch.vw.options.option import EXPLORING, VwLayer, new_flag, new_float, new_int

_DECAY = ("epsilon_decay",)

_MANY = ("large_action_space",)

LAYERS: dict[str, VwLayer] = {
    "few_actions": VwLayer(
        learner="cb_explore_adf_large_action_space, cb_actions_mask",
        options=(
            new_flag("large_action_space", "Explore a few actions that span all others.", needs=EXPLORING[:1]),
            new_int("max_actions", "number of these actions.", default=20, least=1, sets="actions", needs=_MANY),
            new_float("spanner_c", "how large coefficients may be.", default=2, sets="constant", needs=_MANY),
        ),
    ),
    "explore_bag": VwLayer(
        learner="cb_explore_adf_bag",
        options=(
            new_int("bag", "Explore by a vote of N policies, bootstrapped.", sets="policies", needs=EXPLORING),
            new_flag("greedify", "the first policy learns every decision once.", sets="greedy_first", needs=("bag",)),
        ),
        beside=(("epsilon", "epsilon"), ("first_only", "first_only")),
        explores=True,
    ),
    "explore_classes": VwLayer(learner="cb_explore"),
    "explore_cover": VwLayer(
        learner="cb_explore_adf_cover",
        options=(
            new_int("cover", "Explore with N policies trained to disagree.", sets="policies", needs=EXPLORING),
            new_float("psi", "how strongly the policies disagree.", default=1, sets="psi", needs=("cover",)),
            new_flag("nounif", "avoid actions that no policy prefers.", sets="uniform", value=False, needs=("cover",)),
        ),
        beside=(("epsilon", "epsilon"), ("first_only", "first_only")),
        explores=True,
    ),
    "explore_decaying": VwLayer(
        learner="cb_explore_adf_greedy, epsilon_decay",
        options=(
            new_flag("epsilon_decay", "Explore less and less, by a champion among models.", needs=EXPLORING),
            new_int("model_count", "number of models.", default=3, least=1, sets="models", needs=_DECAY),
            new_int("min_scope", "decisions before a model gives way.", default=100, sets="scope", needs=_DECAY),
            new_float("epsilon_decay_significance_level", "error of bounds.", default=0.05, sets="level", needs=_DECAY),
            new_flag("constant_epsilon", "epsilon stays that of --epsilon.", sets="fades", value=False, needs=_DECAY),
            new_int("bonferroni_denominator", "divides that error.", sets="comparisons", needs=_DECAY),
            new_int("min_champ_examples", "decisions before a model may win.", sets="patience", needs=_DECAY),
            new_float("initial_epsilon", "the first epsilon.", default=1, needs=_DECAY),
            new_int("shift_model_bounds", "keep models longer.", default=0, sets="shift", needs=_DECAY),
            new_flag("reward_as_cost", "costs are rewards.", sets="gains", needs=_DECAY),
            new_float("tol_x", "how exact bounds are.", default=1e-6, sets="tolerance", needs=_DECAY),
            new_flag("challenger_epsilon", "other models explore, too.", sets="explores", needs=_DECAY),
        ),
        beside=(("first_only", "first_only"),),
        explores=True,
    ),
    "explore_epsilon": VwLayer(
        learner="cb_explore_adf_greedy",
        options=(
            new_flag("cb_explore_adf", "Contextual bandit on actions with features: explore."),
            new_float(
                "epsilon",
                "Probability of choosing at random.",
                sets="epsilon",
                needs=(*EXPLORING, "cats", "cats_pdf"),
            ),
            new_flag("first_only", "Break ties in favour of the first action.", sets="first_only", needs=EXPLORING),
        ),
    ),
    "explore_distillation": VwLayer(
        learner="cb_explore_adf_rnd",
        options=(
            new_int(
                "rnd",
                "Explore actions with features that were seen rarely, as N random models tell.",
                sets="models",
                note="with `-q` other random functions; VW has others with `-t` than while it learns",
                needs=EXPLORING,
            ),
            new_float("rnd_alpha", "their noise.", default=0.1, sets="noise", needs=("rnd",)),
            new_float("rnd_invlambda", "variance of their functions.", default=0.1, sets="prior", needs=("rnd",)),
        ),
        beside=(("epsilon", "epsilon"),),
        explores=True,
    ),
    "explore_first": VwLayer(
        learner="cb_explore_adf_first",
        options=(new_int("first", "Choose at random for the first N decisions.", sets="decisions", needs=EXPLORING),),
        beside=(("epsilon", "epsilon"),),
        explores=True,
    ),
    "explore_posterior": VwLayer(
        learner="cb_explore_adf_thompson",
        options=(
            new_flag("thompson", "Explore by Thompson sampling.", note="Vowpal Wabbit lacks it", needs=EXPLORING),
            new_float(
                "posterior_width",
                "multiply all standard deviations by X.",
                default=0.1,
                sets="width",
                note="Vowpal Wabbit lacks it",
                needs=("thompson",),
            ),
        ),
        beside=(("epsilon", "epsilon"),),
        explores=True,
    ),
    "explore_regcb": VwLayer(
        learner="cb_explore_adf_regcb",
        options=(
            new_flag("regcb", "Choose among actions that may be the best.", needs=EXPLORING),
            new_flag("regcbopt", "Choose the most promising action.", sets="method", value="optimism", needs=EXPLORING),
            new_float(
                "cb_min_cost",
                "lowest possible cost.",
                default=0,
                sets="lowest_cost",
                needs=("squarecb", "regcb", "regcbopt"),
            ),
            new_float(
                "cb_max_cost",
                "highest possible cost.",
                default=1,
                sets="highest_cost",
                needs=("squarecb", "regcb", "regcbopt"),
            ),
        ),
        beside=(("mellowness", "mellowness"), ("first_only", "first_only")),
        explores=True,
    ),
    "explore_softmax": VwLayer(
        learner="cb_explore_adf_softmax",
        options=(
            new_flag("softmax", "Explore with probabilities from a softmax of the scores.", needs=EXPLORING),
            new_float(
                "lambda",
                "inverse temperature; higher prefers the best action more.",
                default=1,
                sets="rate",
                reads="size",
                needs=("softmax",),
            ),
        ),
        beside=(("epsilon", "epsilon"),),
        explores=True,
    ),
    "explore_synthetic_cover": VwLayer(
        learner="cb_explore_adf_synthcover",
        options=(
            new_flag("synthcover", "Explore by votes, each of which makes its choice dearer.", needs=EXPLORING),
            new_int("synthcoversize", "number of votes.", default=100, sets="policies", needs=("synthcover",)),
            new_float("synthcoverpsi", "how much dearer.", default=0.1, sets="psi", needs=("synthcover",)),
        ),
        beside=(("epsilon", "epsilon"),),
        explores=True,
    ),
    "explore_squarecb": VwLayer(
        learner="cb_explore_adf_squarecb",
        options=(
            new_flag("squarecb", "Explore inversely to the gap between a score and the best.", needs=EXPLORING),
            new_float("gamma_scale", "gamma after one decision.", default=10, sets="scale", needs=("squarecb",)),
            new_float(
                "gamma_exponent", "exponent of gamma's growth.", default=0.5, sets="exponent", needs=("squarecb",)
            ),
            new_flag("elim", "leave out actions that cannot be the best.", sets="eliminate", needs=("squarecb",)),
        ),
        beside=(
            ("epsilon", "epsilon"),
            ("mellowness", "mellowness"),
            ("cb_min_cost", "lowest_cost"),
            ("cb_max_cost", "highest_cost"),
        ),
        explores=True,
    ),
}
"""By the layer's name."""
