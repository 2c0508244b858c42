"""Vowpal Wabbit's options for learners in place of the usual one."""

from hutch.vw.options.option import NUMBERS, VwLayer, new_choice, new_flag, new_float, new_int, new_text

_OJA = ("OjaNewton",)
_TRUTH = {"true": True, "false": False}
_LDA = ("lda",)
_SCALES = (
    "the second derivatives of the first pass count only for its step, as in VW; a layer of `hutch train` keeps them"
)
_STRENGTHS = "only if the search converges; all strengths are twice `--l2`, as in VW, which forgets second derivatives"

LAYERS: dict[str, VwLayer] = {
    "coin_betting": VwLayer(
        learner="ftrl-Coin Betting",
        options=(new_flag("coin", "Learn with coin betting."),),
        beside=(("ftrl_alpha", "alpha"), ("ftrl_beta", "beta")),
        in_place_of="linear",
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
                needs=("ksvm", *NUMBERS),
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
            new_choice(
                "math-mode",
                "how functions are computed: 0 and 2 fast, 1 exactly.",
                {"0": "fast_in_fours", "1": "exact", "2": "fast"},
                sets="arithmetic",
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
    "pistol": VwLayer(
        learner="ftrl-PiSTOL",
        options=(new_flag("pistol", "Learn with PiSTOL."),),
        beside=(("ftrl_alpha", "alpha"), ("ftrl_beta", "beta")),
        in_place_of="linear",
    ),
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
            new_choice("normalize", "divide features by their norm.", _TRUTH, sets="normalize", needs=_OJA),
            new_choice("random_init", "begin with random directions.", _TRUTH, sets="random_start", needs=_OJA),
        ),
        beside=(("alpha", "alpha"),),
        in_place_of="linear",
    ),
    "svrg": VwLayer(
        learner="svrg",
        options=(
            new_flag("svrg", "Learn with stochastic variance reduced gradient, over several passes."),
            new_int("stage_size", "passes with steps after each without.", default=1, sets="stage", needs=("svrg",)),
        ),
        in_place_of="linear",
    ),
}
"""By the layer's name."""
