"""Vowpal Wabbit's names for Hutch's layers, and its options for them."""

from hutch.vw.option import EXPLORING, VwLayer, new_flag, new_float, new_int, new_text

ALL_PAIRS = "all_pairs"
"""The method of `--wap_ldf`, which stands for `--csoaa_ldf` in a chain."""
_OJA, _TRUTH = ("OjaNewton",), (("true", True), ("false", False))
_LDA, _WARM = ("lda",), ("warm_cb",)
_SIMULATIONS = ("cbify", "cbify_ldf", "warm_cb")
_SCALES = (
    "the second derivatives of the first pass count only for its step, as in VW; a layer of `hutch train` keeps them"
)
_STRENGTHS = "only if the search converges; all strengths are twice `--l2`, as in VW, which forgets second derivatives"
_NUMBERS = ("cats", "cats_pdf", "cbify_reg")
_IMPLIED = "has no effect: --cats and --cats_pdf imply it"

LAYERS: dict[str, VwLayer] = {
    "action_density": VwLayer(
        learner="cats_tree, get_pmf, pmf_to_pdf, cb_explore_pdf, cats_pdf",
        options=(
            new_int("cats", "Decide for a number of a range, cut into N parts: draw one.", sets="parts"),
            new_int("cats_pdf", "Decide for a number of a range, cut into N parts: predict a density.", sets="parts"),
            new_float("min_value", "smallest number.", sets="lowest", needs=_NUMBERS),
            new_float("max_value", "largest number.", sets="highest", needs=_NUMBERS),
            new_flag("get_pmf", _IMPLIED + ".", note=_IMPLIED, needs=_NUMBERS),
            new_int("pmf_to_pdf", _IMPLIED + ".", note=_IMPLIED, needs=_NUMBERS),
            new_flag("cb_explore_pdf", _IMPLIED + ".", note=_IMPLIED, needs=_NUMBERS),
            new_flag("sample_pdf", _IMPLIED + ".", note=_IMPLIED, needs=_NUMBERS),
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
    "coin_betting": VwLayer(
        learner="ftrl-Coin Betting",
        options=(new_flag("coin", "Learn with coin betting."),),
        beside=(("ftrl_alpha", "alpha"), ("ftrl_beta", "beta")),
        in_place_of="linear",
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
    "freegrad": VwLayer(
        learner="freegrad",
        options=(
            new_flag("freegrad", "Learn with FreeGrad."),
            new_float("fepsilon", "initial wealth.", default=1, sets="wealth", needs=("freegrad",)),
            new_float(
                "flipschitz_const",
                "largest gradient, where it is known.",
                default=0,
                sets="steepest",
                needs=("freegrad",),
            ),
            new_flag("restart", "begin sums again when gradients have grown.", sets="restart", needs=("freegrad",)),
            new_flag("project", "keep weights within a ball.", sets="project", needs=("freegrad",)),
            new_float(
                "radius",
                "radius of the ball, which grows without it; or distance of the numbers tried, 0.1 by default.",
                sets="radius",
                needs=("project", "cbzo"),
            ),
        ),
        in_place_of="linear",
    ),
    "ftrl_proximal": VwLayer(
        learner="ftrl-Proximal-FTRL",
        options=(
            new_flag("ftrl", "Learn with FTRL-Proximal."),
            new_float("ftrl_alpha", "its alpha.", sets="alpha", needs=("ftrl", "pistol", "coin")),
            new_float("ftrl_beta", "its beta.", sets="beta", needs=("ftrl", "pistol", "coin")),
        ),
        in_place_of="linear",
    ),
    "kernel_svm": VwLayer(
        learner="kernel_svm",
        options=(
            new_flag("ksvm", "Learn a support vector machine with a kernel, by hinge loss."),
            new_text(
                "kernel",
                "linear|rbf|poly",
                "its kernel.",
                choices=("linear", "rbf", "poly"),
                default="linear",
                sets="kernel",
                needs=("ksvm",),
            ),
            new_float(
                "bandwidth",
                "width of the rbf kernel, 1 by default, or radius of the numbers drawn.",
                sets="bandwidth",
                needs=("ksvm", *_NUMBERS),
            ),
            new_int("degree", "of the poly kernel.", default=2, least=1, sets="degree", needs=("ksvm",)),
            new_int(
                "reprocess",
                "support vectors to adjust per example.",
                default=1,
                least=0,
                sets="reprocess",
                needs=("ksvm",),
            ),
            new_int("pool_size", "learn N examples at a time.", default=1, least=1, sets="pool", needs=("ksvm",)),
            new_int(
                "subsample",
                "has no effect.",
                note="has no effect: there is no `--ksvm` with `--active`",
                needs=("ksvm",),
            ),
            new_flag(
                "pool_greedy",
                "has no effect.",
                note="has no effect: there is no `--ksvm` with `--active`",
                needs=("ksvm",),
            ),
        ),
        in_place_of="linear",
    ),
    "latent_dirichlet_allocation": VwLayer(
        learner="lda",
        options=(
            new_int("lda", "Learn N topics of documents.", least=1, sets="topics"),
            new_float("lda_alpha", "weight of each topic before.", default=0.1, sets="document_prior", needs=_LDA),
            new_float("lda_rho", "weight of each word before.", default=0.1, sets="word_prior", needs=_LDA),
            new_float("lda_D", "number of documents.", default=10000, sets="documents", needs=_LDA),
            new_float("lda_epsilon", "when topics of a document stay.", default=0.001, sets="tolerance", needs=_LDA),
            new_int("minibatch", "documents learned at once.", default=1, least=1, sets="minibatch", needs=_LDA),
            new_text(
                "math-mode",
                "0|1|2",
                "how functions are computed: 0 and 2 fast, 1 exactly.",
                choices=("0", "1", "2"),
                default="0",
                sets="arithmetic",
                means=(("0", "fast_in_fours"), ("1", "exact"), ("2", "fast")),
                needs=_LDA,
            ),
        ),
        in_place_of="linear",
    ),
    "lbfgs": VwLayer(
        learner="bfgs",
        options=(
            new_flag("bfgs", "Learn by limited-memory BFGS, a step at the end of each pass.", note=_SCALES),
            new_flag(
                "conjugate_gradient", "Learn by conjugate gradients, a step at the end of each pass.", note=_SCALES
            ),
            new_flag(
                "hessian_on", "measure the curvature before each step.", sets="measure_curvature", needs=("bfgs",)
            ),
            new_int("mem", "pairs of differences to remember.", default=15, least=0, sets="memory", needs=("bfgs",)),
            new_float(
                "termination",
                "stop when a step lowers the loss by less than this share.",
                default=0.001,
                sets="tolerance",
                needs=("bfgs",),
            ),
            new_text(
                "output_feature_regularizer_text",
                "FILE",
                "write the strength of a regularisation of each weight, and its centre, as text.",
                note=_STRENGTHS,
                needs=("bfgs",),
            ),
            new_text(
                "output_feature_regularizer_binary",
                "FILE",
                "write the same for --input_feature_regularizer.",
                note=_STRENGTHS,
                needs=("bfgs",),
            ),
            new_text(
                "input_feature_regularizer",
                "FILE",
                "begin from the centres in this file, and regularise with its strengths, not with --l2.",
                note="of `-b` as large; needs the file in every run",
                needs=("bfgs",),
            ),
        ),
        beside=(("no_bias_regularization", "regularize_constant"),),
        in_place_of="linear",
    ),
    "matrix_factorization": VwLayer(
        learner="gd_mf",
        options=(new_int("rank", "Factorize the pair of -q with rank N.", sets="rank", note="one pair only"),),
        in_place_of="linear",
    ),
    "offset_tree": VwLayer(
        learner="offset_tree", options=(new_int("ot", "Choose among N actions by a tree of choices.", sets="classes"),)
    ),
    "pistol": VwLayer(
        learner="ftrl-PiSTOL",
        options=(new_flag("pistol", "Learn with PiSTOL."),),
        beside=(("ftrl_alpha", "alpha"), ("ftrl_beta", "beta")),
        in_place_of="linear",
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
    "sample_density": VwLayer(learner="sample_pdf, cats"),
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
    "sketched_newton": VwLayer(
        learner="OjaNewton",
        options=(
            new_flag("OjaNewton", "Learn by Newton steps with a sketch of the curvature."),
            new_int("sketch_size", "directions.", default=10, least=1, sets="sketch", needs=_OJA),
            new_int(
                "epoch_size",
                "move directions after so many examples.",
                default=1,
                least=1,
                sets="epoch",
                note="a model keeps the examples that wait; VW drops them",
                needs=_OJA,
            ),
            new_float("alpha_inverse", "like a learning rate.", needs=_OJA),
            new_float("learning_rate_cnt", "how fast directions move.", default=2, sets="rate", needs=_OJA),
            new_text(
                "normalize",
                "true|false",
                "divide features by their norm.",
                default="true",
                choices=("true", "false"),
                sets="normalize",
                means=_TRUTH,
                needs=_OJA,
            ),
            new_text(
                "random_init",
                "true|false",
                "begin with random directions.",
                default="true",
                choices=("true", "false"),
                sets="random_start",
                means=_TRUTH,
                needs=_OJA,
            ),
        ),
        beside=(("alpha", "alpha"),),
        in_place_of="linear",
    ),
    "simulate_number_bandit": VwLayer(
        learner="cbify-reg",
        options=(
            new_flag("cbify_reg", "labels are numbers, and costs distances from them.", needs=("cbify",)),
            new_flag("cb_discrete", "choose among the parts of the range as classes.", needs=("cbify_reg",)),
            new_text(
                "loss_option",
                "0|1|2",
                "squared, absolute or 0/1 distance.",
                choices=("0", "1", "2"),
                default="0",
                sets="cost",
                means=(("0", "squared"), ("1", "absolute"), ("2", "zero_one")),
                needs=("cbify_reg",),
            ),
            new_text(
                "loss_report",
                "0|1",
                "report costs in widths of the range, or in units of the label.",
                choices=("0", "1"),
                default="0",
                sets="in_units",
                means=(("0", False), ("1", True)),
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
    "svrg": VwLayer(
        learner="svrg",
        options=(
            new_flag("svrg", "Learn with stochastic variance reduced gradient, over several passes."),
            new_int("stage_size", "passes with steps after each without.", default=1, sets="stage", needs=("svrg",)),
        ),
        in_place_of="linear",
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
            new_text(
                "lambda_scheme",
                "1|2|3|4",
                "which weights.",
                default="1",
                choices=("1", "2", "3", "4"),
                sets="weights",
                means=(("1", "half"), ("2", "half_with_ends"), ("3", "minimax"), ("4", "minimax_with_ends")),
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
            new_text(
                "corrupt_type_warm_start",
                "1|2|3",
                "which class: a random one, the next, or always the same.",
                default="1",
                choices=("1", "2", "3"),
                sets="corruption",
                means=(("1", "random"), ("2", "next"), ("3", "overwrite")),
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
