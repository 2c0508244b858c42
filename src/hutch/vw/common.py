"""Vowpal Wabbit's options that no declaration of a layer has, under the headings of the help text.

An option that sets a parameter of a layer needs only one line here, where `sets` names both. Those of layers that
decide, and of learners without rates, are declared in `hutch.vw.layers`, and by plugins.
"""

from hutch.vw.option import Option, new_flag, new_float, new_int, new_text, new_words

DECISIONS, BASES = "Decisions and bandits", "Learners without rates"
"""Headings whose options are declared."""

_CACHE = "keeps parsed batches, in Hutch's own format, and is used only while the data is unchanged"
_ALWAYS_ON = "Accepted for compatibility; always on."
_BAD_LINE = "a bad line is reported and skipped"
_NO_EFFECT = "Accepted for compatibility; has no effect."
_NOT_NEEDED = "accepted, and changes nothing"

_REPLAY = "experience_replay"
_REPLAYED = (
    "the loss is that of the predictions, in VW that of 0; an initial prediction stays with its example; not above "
    "layers that make features"
)
_REPLAYS = (
    ("b", "examples of the learner", ()),
    ("m", "examples of each class", ("oaa",)),
    ("c", "examples with costs", ("csoaa", "cs_active")),
)
_ASKING = "cost_sensitive_active"
_LABELS = "probabilistic_label_tree"

COMMON: dict[str, tuple[Option, ...]] = {
    "Data and passes": (
        Option(
            name="data",
            short="d",
            kind="texts",
            metavar="FILE",
            help="File of examples, .gz and .zst too; - is standard input. Repeatable.",
            note="`.zst` is read too; `-` is standard input",
        ),
        new_flag("cache", "Cache the parsed data in FILE.hutch-cache.", short="c", note=_CACHE),
        new_words("cache_file", "FILE", "Cache the parsed data in this file.", note=_CACHE),
        new_flag("kill_cache", "Rewrite the cache.", short="k"),
        new_int("passes", "Number of passes over the data.", default=1, least=1, note="works without a cache"),
        new_flag("holdout_off", "With several passes, hold out no examples."),
        new_int("holdout_period", "With several passes, hold out every Nth example for testing.", default=10, least=1),
        new_int("holdout_after", "Hold out all examples after the first N; 0 holds out none.", default=0, least=0),
        new_int("early_terminate", "Stop after N passes without improvement.", default=3, least=1),
        new_flag("strict_parse", "Stop at the first malformed line.", note="names file:line:column; exit status 1"),
        new_flag("json", "Read JSON lines, each an example or a decision.", note=_BAD_LINE),
        new_flag(
            "dsjson",
            "Read logged decisions as JSON lines.",
            note="a bad line is reported and skipped; one without a choice or outcomes of slates silently",
        ),
        new_flag("chain_hash", "Hash a string in JSON with its key's hash as the seed, not joined to its key."),
        new_words(
            "ignore_features_dsjson_experimental",
            "NAMESPACE|FEATURE",
            "ignore these string features; without NAMESPACE, features in no namespace.",
            note="texts only, as in VW; is not kept in the model; lines are read in Python",
            needs=("dsjson",),
        ),
        new_flag(
            "csv",
            "Read CSV: columns `_label`, `_tag`, and features, named `NAME` or `NAMESPACE|NAME`.",
            note="blanks, bars and colons in texts count as underscores; numbers may be quoted",
        ),
        new_text("csv_separator", "C", "separator of cells.", default=",", needs=("csv",)),
        new_text("csv_header", "A,B,...", "names of the columns.", needs=("csv",)),
        new_flag("csv_no_file_header", "the first line is data, not a header.", needs=("csv_header",)),
        new_text("csv_ns_value", "A:X,...", "multiply the values in namespace A by X.", needs=("csv",)),
        new_int(
            "examples",
            "Read only the first N lines in each pass.",
            least=0,
            note="of text, and without a cache; empty lines count, as in VW",
        ),
        new_text("args", "FILE", "Read options from this file, too.", note="one command line; VW runs several at once"),
        new_flag("no_stdin", "Do not read standard input if no data is given."),
    ),
    "Models and output": (
        new_text("final_regressor", "MODEL", "Save the model to this file.", short="f", note="Hutch's own format"),
        new_flag("save_per_pass", "Also save the model after each pass, as MODEL.N.", needs=("final_regressor",)),
        new_text(
            "initial_regressor",
            "MODEL",
            "Continue from this model.",
            short="i",
            note="reads Hutch's own format and that of VW 8.3.3 to 9.11; the chain comes from the model",
        ),
        new_flag("testonly", "Predict only; do not learn.", short="t"),
        new_flag("save_resume", _ALWAYS_ON, note="always on: resuming is exact"),
        new_flag("preserve_performance_counters", _ALWAYS_ON, note="the model keeps all counters; a run shows its own"),
        new_text("predictions", "FILE", "Write predictions to this file; - is standard output.", short="p"),
        new_int(
            "top",
            "Write the N highest predictions of each group, the lines between two empty ones.",
            least=1,
            note="is kept in the model; the table shows single lines",
        ),
        new_text("raw_predictions", "FILE", "Write raw predictions, such as class scores, to FILE.", short="r"),
        new_text(
            "readable_model", "FILE", "Write the weights as text.", note="ends where the weights end; no checksum"
        ),
        new_text("invert_hash", "FILE", "Write the weights as text, with feature names.", note="no checksum"),
        new_text("dump_json_weights_experimental", "FILE", "Write the weights that are not 0 as JSON."),
        new_flag(
            "dump_json_weights_include_feature_names_experimental",
            "with the names of their features.",
            needs=("dump_json_weights_experimental",),
            note="a name with ^ or * in it is cut there",
        ),
        new_flag(
            "dump_json_weights_include_extra_online_state_experimental",
            "with the state of their rates.",
            needs=("dump_json_weights_experimental",),
        ),
        new_text(
            "audit_regressor",
            "FILE",
            "Write the names and weights of all features in the data; do not learn or predict.",
            note="the sub-models of a feature stand together; there is no table",
        ),
        new_flag("hexfloat_weights", "Write weights as hexadecimal numbers, in full precision."),
        new_flag(
            "predict_only_model",
            "Write only what predicts into --readable_model.",
            note="-f saves all; -i then begins with the weights alone",
        ),
        new_flag("audit", "Print every feature with its weight.", short="a", note="one line per example"),
        new_text(
            "extra_metrics",
            "FILE",
            "Write counts of decisions, actions and costs as JSON.",
            note="counts of decisions by VW's names; nothing about single lines, calls and features",
        ),
        new_text(
            "progress",
            "N",
            "Report every N examples; with a decimal point, whenever their number has grown N-fold.",
            default="2.0",
            short="P",
        ),
        new_flag("quiet", "Print no progress table."),
        new_text("driver_output", "stdout|stderr", "Stream of the progress table.", choices=("stdout", "stderr")),
        new_flag("driver_output_off", "Print no progress table."),
        new_flag("dont_output_best_constant", "Leave the best constant out of the report."),
        new_text("id", "NAME", "Name of the model.", note="appears in the readable model"),
    ),
    "Weight table and hashing": (
        new_int(
            "bit_precision",
            "The weight table has 2^N rows.",
            default=18,
            short="b",
            sets="weights.bits",
            note="at most 31",
        ),
        new_text(
            "hash",
            "strings|all",
            "Hash only names that are not numbers, or all names.",
            choices=("strings", "all"),
            default="strings",
            sets="input.hash",
        ),
        new_int("hash_seed", "Seed of the feature hash.", sets="input.hash_seed"),
        new_int("random_seed", "Seed of every random decision.", sets="seed"),
    ),
    "Learner": (
        new_float("learning_rate", "Learning rate.", short="l", sets="base.learning_rate"),
        new_float("power_t", "Exponent of the learning rate's decay.", sets="base.power_t"),
        new_float("initial_t", "Start the decay as if importance X had been seen.", sets="base.initial_t"),
        new_float("decay_learning_rate", "Multiply the learning rate by X after each pass.", sets="base.decay"),
        new_float("l1", "Strength of L1 regularization.", sets="base.l1"),
        new_float("l2", "Strength of L2 regularization.", sets="base.l2"),
        new_float("l1_state", "Sum of L1 regularization to continue with.", default=0),
        new_float("l2_state", "Product of L2 regularization to continue with.", default=1),
        new_float("sparse_l2", "L2 regularization of the example's features only.", sets="base.sparse_l2"),
        new_text(
            "feature_mask",
            "MODEL",
            "Move only the weights that are not 0 in this model, with which the run begins if there is no -i.",
            note="beside -i, its model must have the same weights of 0: VW takes them from there",
        ),
        new_flag("noop", "Learn nothing.", sets="base.learning_rate", value=0.0),
        new_flag(
            "print",
            "Print each example, and learn nothing.",
            note="once each, labelled ones twice in VW; a model or an initial prediction predicts, in VW 0",
        ),
        new_flag(
            "no_bias_regularization",
            "With --bfgs or --cbzo, do not regularize the constant.",
            value=False,
            note="has no effect on other learners, as in VW",
        ),
        new_float("initial_weight", "Initial value of all weights.", sets="base.initial_weight"),
        new_flag(
            "random_weights", "Uniform initial weights, -0.5 to 0.5.", sets="base.random_weights", value="uniform"
        ),
        new_flag("normal_weights", "Normal initial weights of variance 1.", sets="base.random_weights", value="normal"),
        new_flag(
            "truncated_normal_weights",
            "Like --normal_weights, within two standard deviations.",
            sets="base.random_weights",
            value="truncated_normal",
        ),
        new_flag("sgd", "Plain stochastic gradient descent."),
        new_flag("adaptive", "Adaptive learning rates, one per feature."),
        new_flag("adax", "Adaptive learning rates that follow values alone.", sets="base.adapt_to", value="values"),
        new_flag("normalized", "Learning rates adjusted to the scale of features."),
        new_flag("invariant", "Importance-invariant updates."),
        new_float("min_prediction", "Smallest prediction; lower ones are clipped.", sets="base.min_prediction"),
        new_float("max_prediction", "Largest prediction; higher ones are clipped.", sets="base.max_prediction"),
        new_float(
            "constant",
            "Initial value of the constant's weight.",
            short="C",
            sets="base.initial_constant",
            note="no effect with several sub-models, as in VW",
        ),
    ),
    "Loss": (
        new_text(
            "loss_function",
            "NAME",
            "Loss function, such as squared, logistic, hinge or quantile.",
            sets="base.loss",
            reads="loss",
            note="is kept in the model",
        ),
        new_float("quantile_tau", "The quantile of quantile loss.", default=0.5, sets="base.loss", reads="loss"),
        new_float("expectile_q", "The expectile of expectile loss.", sets="base.loss", reads="loss"),
        new_float("logistic_min", "Smallest label of logistic loss.", sets="base.loss", reads="loss"),
        new_float("logistic_max", "Largest label of logistic loss.", sets="base.loss", reads="loss"),
    ),
    "Features": (
        new_words(
            "quadratic",
            "AB",
            "Pairs of namespaces to multiply, by first letter; : matches any.",
            short="q",
            sets="base.interactions",
            reads="terms",
        ),
        new_words("cubic", "ABC", "Triples of namespaces to multiply.", sets="base.interactions", reads="terms"),
        new_words(
            "interactions", "AB...", "Groups of namespaces to multiply.", sets="base.interactions", reads="terms"
        ),
        new_flag("permutations", "Multiply one namespace's features in every order.", sets="base.permutations"),
        new_flag("leave_duplicate_interactions", "Keep duplicate interactions.", sets="base.duplicate_interactions"),
        new_words("ignore", "A", "Namespaces to leave out.", sets="input.ignore", reads="letters"),
        new_words("ignore_linear", "A", "Namespaces to multiply only.", sets="base.ignore_linear", reads="letters"),
        new_words("keep", "A", "The only namespaces to use.", sets="input.keep", reads="letters"),
        new_words(
            "classweight",
            "CLASS:X,...",
            "Multiply the importance of examples labelled CLASS by X.",
            note="needs data, `-d`; decisions and labels of costs have none",
        ),
        new_text(
            "affix",
            "+Na,-Nb,...",
            "Add the first N letters of the names in namespace a as features, and the last N of those in b.",
            note="of text; bytes, not letters",
        ),
        new_words(
            "spelling", "A", "Add the shapes of the names in namespace A, _ for the default one.", note="of text"
        ),
        new_words(
            "dictionary",
            "A:FILE",
            "Add the features that FILE has for the names in namespace A, or in the default one.",
            note="of text; a compressed file is unpacked; a model needs its file",
        ),
        new_words(
            "dictionary_path",
            "FOLDER",
            "look for dictionaries there, then in the working directory.",
            needs=("dictionary",),
            note="not in the folders of `PATH`",
        ),
        new_words(
            "redefine",
            "N:=S",
            "Let namespaces that begin with a letter of S count as N; : in S is any.",
            note="of text; one letter before :=",
        ),
        new_flag("noconstant", "Add no constant feature.", sets="input.constant", value=False),
    ),
    "Layers, from top to base": (
        new_words("ngram", "N", "Add N-grams, of all namespaces or, as in aN, of namespace a.", sets="ngrams.size"),
        new_words("skips", "N", "allow N skips, as in --ngram.", sets="ngrams.skips", needs=("ngram",)),
        new_words(
            "feature_limit",
            "N",
            "Keep N features of each namespace, those with the smallest indices; aN: of namespace a.",
            sets="feature_limit.features",
            note="`a:N` leaves out all features of a, as in VW, and is reported",
        ),
        new_text(
            "interact",
            "AB",
            "Multiply namespaces A and B feature by feature, in place of both; each begins with a feature of value 1.",
            sets="interact",
            note="VW takes other values than two letters, and then does nothing",
        ),
        new_int("oaa", "One against all, with N classes.", sets="one_against_all.classes"),
        new_int(
            "oaa_subsample",
            "learn an example as a negative of N other classes only.",
            least=1,
            sets="one_against_all.negatives",
            note="the loss is that of the predictions, where VW shows none; N of all classes or more is refused; where "
            "classes count from 0, VW teaches a class as its own negative",
            needs=("oaa",),
        ),
        new_flag(
            "probabilities",
            "Predict probabilities.",
            sets="one_against_all.probabilities",
            needs=("oaa", "csoaa_ldf", "multilabel_oaa", "plt"),
        ),
        new_flag("scores", "Predict the score of each class.", needs=("oaa",)),
        new_int(
            "indexing",
            "Number of the first class, 0 or 1.",
            default="detected",
            metavar="0|1",
            note="labels beyond the classes are left out; VW treats them as negatives of every class",
        ),
        new_text(
            "named_labels",
            "A,B,...",
            "Names of the classes.",
            note="is kept in the model",
            needs=("oaa", "ect", "csoaa", "search"),
        ),
        new_int("ect", "Error-correcting tournament, with N classes.", sets="error_correcting_tournament.classes"),
        new_int("error", "errors that it corrects.", sets="error_correcting_tournament.errors", needs=("ect",)),
        new_int("log_multi", "A tree of binary problems, with N classes.", sets="logarithmic_tree.classes"),
        new_int(
            "swap_resistance",
            "how many more mistakes let a leaf take the place of another.",
            default=4,
            least=0,
            sets="logarithmic_tree.swap_resistance",
            needs=("log_multi",),
        ),
        new_flag(
            "no_progress",
            "has no effect.",
            sets="logarithmic_tree",
            note="has no effect, as in VW",
            needs=("log_multi",),
        ),
        new_int(
            "multilabel_oaa",
            "Several labels of N, from 0 to N - 1: one against all for each, as in 0,3.",
            sets="multilabel_one_against_all.classes",
            note="labels in any order; a repeated one is reported and counts once; -p has one line per example",
        ),
        new_int(
            "plt",
            "Several labels of N, from 0 to N - 1: a tree of models, few of which are asked.",
            sets="probabilistic_label_tree.classes",
            note="held-out examples have their loss; VW counts 0",
        ),
        new_int("kary_tree", "children of a node.", default=2, least=2, sets=f"{_LABELS}.arity", needs=("plt",)),
        new_float("threshold", "predict labels above it.", default=0.5, sets=f"{_LABELS}.threshold", needs=("plt",)),
        new_int("top_k", "predict the K best labels.", default=0, least=0, sets=f"{_LABELS}.best", needs=("plt",)),
        new_int("csoaa", "Cost-sensitive --oaa, with N classes.", sets="cost_sensitive_one_against_all.classes"),
        new_int(
            "cs_active",
            "Ask for the costs of N classes that decide which is the cheapest.",
            sets="cost_sensitive_active.classes",
            note="needs `--simulation`, or `-t`: VW without them learns nothing",
        ),
        new_float("cost_max", "largest cost.", default=1, sets=f"{_ASKING}.highest_cost", needs=("cs_active",)),
        new_float("cost_min", "smallest cost.", default=0, sets=f"{_ASKING}.lowest_cost", needs=("cs_active",)),
        new_float("range_c", "ask less.", default=0.5, sets=f"{_ASKING}.width", needs=("cs_active",)),
        new_int(
            "domination",
            "0 asks of classes that cannot be the cheapest, too.",
            default=1,
            metavar="0|1",
            sets=f"{_ASKING}.of_best",
            means=((0, False), (1, True)),
            needs=("cs_active",),
        ),
        new_int(
            "max_labels",
            "ask for N costs per class at most.",
            least=0,
            sets=f"{_ASKING}.budget",
            note="then only predicts; VW writes predictions of earlier examples",
            needs=("cs_active",),
        ),
        new_int(
            "min_labels",
            "has no effect.",
            sets=_ASKING,
            note="has no effect; VW saves models on the way",
            needs=("cs_active",),
        ),
        new_flag(
            "csa_debug", "has no effect.", sets=_ASKING, note="has no effect; VW prints ranges", needs=("cs_active",)
        ),
        new_flag("binary", "Predict -1 or 1.", sets="binary"),
        new_int("boosting", "Vote of N weak learners, trained by online boosting.", sets="boosting.learners"),
        new_float(
            "gamma",
            "by how much weak learners are right more often than half the time.",
            default=0.1,
            sets="boosting.edge",
            needs=("boosting",),
        ),
        new_text(
            "alg",
            "BBM|logistic|adaptive",
            "boost by majority, AdaBoost.OL.W or AdaBoost.OL.",
            choices=("BBM", "logistic", "adaptive"),
            default="BBM",
            sets="boosting.algorithm",
            means=(("BBM", "majority"), ("logistic", "logistic"), ("adaptive", "adaptive")),
            needs=("boosting",),
        ),
        new_int(
            "bootstrap",
            "Combine the predictions of N models trained on bootstrap samples.",
            sets="bootstrap.models",
            note="-p writes the least and the greatest of their predictions, too, as VW does; there is no -r",
        ),
        new_text(
            "bs_type",
            "mean|vote",
            "predict the mean of the models, or the whole number most are nearest to.",
            choices=("mean", "vote"),
            default="mean",
            sets="bootstrap.type",
            needs=("bootstrap",),
        ),
        new_text(
            "link",
            "NAME",
            "Link function: identity, logistic, glf1 or poisson.",
            choices=("identity", "logistic", "glf1", "poisson"),
            sets="link.function",
        ),
        new_words("lrq", "ABK", "Low-rank interaction of namespaces A and B, of rank K.", sets="low_rank_quadratic"),
        new_flag(
            "lrqdropout",
            "Train low-rank interactions with dropout.",
            sets="low_rank_quadratic.dropout",
            needs=("lrq",),
        ),
        new_text(
            "lrqfa",
            "ABCK",
            "Low-rank interactions of all pairs of namespaces A, B and C, of rank K.",
            sets="low_rank_quadratic",
        ),
        new_int("autolink", "Powers of the prediction up to N as features.", sets="polynomial_link.degree"),
        new_text(
            "marginal",
            "AB",
            "Mean labels of ids in place of the ids, in pairs of features of namespaces A and B.",
            sets="marginal.namespaces",
        ),
        new_float(
            "initial_numerator",
            "numerator of a new id's mean.",
            default=0.5,
            sets="marginal.numerator",
            needs=("marginal",),
        ),
        new_float(
            "initial_denominator", "its denominator.", default=1, sets="marginal.denominator", needs=("marginal",)
        ),
        new_float("decay", "forget earlier labels so fast.", default=0, sets="marginal.decay", needs=("marginal",)),
        new_flag("compete", "mix means and prediction.", sets="marginal.compete", needs=("marginal",)),
        new_flag(
            "update_before_learn",
            "a label counts before it is learned.",
            sets="marginal.update_first",
            needs=("marginal",),
        ),
        new_flag(
            "unweighted_marginals",
            "each label counts once.",
            sets="marginal.weighted",
            value=False,
            needs=("marginal",),
        ),
        new_flag(
            "baseline",
            "Learn the constant first, and all other features on top of it.",
            sets="baseline",
            note="with several sub-models, VW adds to each the baseline of the one before",
        ),
        new_float(
            "lr_multiplier",
            "rate of the constant; 0: the largest label.",
            default=1,
            sets="baseline.multiplier",
            note="is kept in the model",
            needs=("baseline",),
        ),
        new_flag(
            "global_only", "the baseline is a constant of its own.", sets="baseline.global_only", needs=("baseline",)
        ),
        new_flag("confidence", "Write how much importance would move each prediction to 0.", sets="confidence"),
        new_flag(
            "confidence_after_training",
            "measure it after learning.",
            sets="confidence.after",
            needs=("confidence",),
        ),
        new_flag(
            "active",
            "Active learning: decide which labels to ask for.",
            sets="active",
            note="without --simulation it reads data, as with --no_daemon; `hutch active` asks people",
        ),
        new_flag(
            "direct",
            "for unlabelled lines whose tag begins with query?, predict the importance of the label, or -1.",
            needs=("active",),
        ),
        new_flag("active_cover", "Active learning by the disagreement of several models.", sets="active_cover"),
        new_float(
            "alpha",
            "With --active_cover: ask for more. With --OjaNewton: smaller steps.",
            default=1,
            sets="active_cover.alpha",
            needs=("active_cover", "OjaNewton"),
        ),
        new_float(
            "beta_scale",
            "root of how far they may be worse.",
            default=10**0.5,
            sets="active_cover.beta",
            needs=("active_cover",),
        ),
        new_flag("oracular", "ask for all that is not sure.", sets="active_cover.oracular", needs=("active_cover",)),
        new_flag("simulation", "all labels are known; count the requested ones.", needs=("active", "cs_active")),
        new_float(
            "mellowness",
            "With --active and its like: higher asks for more labels. With --regcb or --squarecb: wider cost ranges.",
            needs=("active", "active_cover", "cs_active", "regcb", "regcbopt", "squarecb"),
        ),
        *(
            option
            for kind, of, needs in _REPLAYS
            for option in (
                new_int(
                    f"replay_{kind}",
                    f"Learn {of} in another order, from a buffer of N.",
                    least=0,
                    note=_REPLAYED,
                    sets=_REPLAY,
                    needs=needs,
                ),
                new_int(
                    f"replay_{kind}_count",
                    "how often each example is learned, on average.",
                    default=1,
                    least=1,
                    sets=_REPLAY,
                    needs=(f"replay_{kind}",),
                ),
            )
        ),
        new_int("nn", "Neural network of N hidden units.", sets="one_hidden_layer.units", note="-r: no units"),
        new_flag("inpass", "the output sees the features.", sets="one_hidden_layer.skip_connection", needs=("nn",)),
        new_flag("multitask", "sub-models share the units.", sets="one_hidden_layer.share_hidden", needs=("nn",)),
        new_flag("dropout", "train half of the units at a time.", sets="one_hidden_layer.dropout", needs=("nn",)),
        new_flag("meanfield", "no dropout.", sets="one_hidden_layer.dropout", value=False, needs=("nn",)),
        new_flag("stage_poly", "Add products of the features that count most.", sets="stagewise_polynomial"),
        new_float(
            "sched_exponent",
            "how many join at a time: this power of the mean number of features.",
            default=1,
            sets="stagewise_polynomial.exponent",
            needs=("stage_poly",),
        ),
        new_int(
            "batch_sz",
            "examples before features first join; 0: a pass.",
            default=1000,
            least=0,
            sets="stagewise_polynomial.batch",
            needs=("stage_poly",),
        ),
        new_flag(
            "batch_sz_no_doubling",
            "do not wait twice as long each time.",
            sets="stagewise_polynomial.doubles",
            value=False,
            needs=("stage_poly",),
        ),
    ),
    DECISIONS: (),
    BASES: (),
    "Daemon": (
        new_flag(
            "daemon",
            "Serve predictions over TCP instead of reading data.",
            note="one process answers all connections in turn, here only; `save_FILE` takes no directory",
        ),
        new_int("port", "With --daemon: listen on this port.", default=26542),
        new_text("pid_file", "FILE", "Write the process id to this file."),
        new_text("port_file", "FILE", "Write the port to this file."),
        new_int("num_children", _NO_EFFECT, note=_NOT_NEEDED),
        new_flag("foreground", "With --daemon: stay in the foreground."),
    ),
    "Accepted for compatibility": (
        new_flag("per_model_save_load", _ALWAYS_ON, note="always on: every sub-model keeps all of its state"),
        new_flag("no_daemon", "Read data even with --daemon."),
        new_flag("compressed", _ALWAYS_ON, note="always so: compressed data is known by its ending"),
        new_flag("onethread", _NO_EFFECT, note=_NOT_NEEDED),
        new_flag("sparse_weights", _NO_EFFECT, note="accepted; weights fill one table, and are the same"),
        *(new_text(name, "X", _NO_EFFECT, note=_NOT_NEEDED) for name in ("log_level", "log_output", "limit_output")),
        *(
            new_int(name, _NO_EFFECT, note=_NOT_NEEDED)
            for name in ("ring_size", "example_queue_limit", "thread_pool_size")
        ),
    ),
}
"""Options by heading."""
