"""Vowpal Wabbit's options for features: chosen, multiplied, changed by a layer, or learned by one."""

from hutch.vw.options.option import Option, new_flag, new_float, new_int, new_text, new_words

FEATURES: tuple[Option, ...] = (
    new_words(
        "quadratic",
        "AB",
        "Pairs of namespaces to multiply, by first letter; : matches any.",
        short="q",
        sets="base.interactions",
        reads="terms",
    ),
    new_words("cubic", "ABC", "Triples of namespaces to multiply.", sets="base.interactions", reads="terms"),
    new_words("interactions", "AB...", "Groups of namespaces to multiply.", sets="base.interactions", reads="terms"),
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
    new_words("spelling", "A", "Add the shapes of the names in namespace A, _ for the default one.", note="of text"),
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
)

GRAMS: tuple[Option, ...] = (
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
)

LEARNED: tuple[Option, ...] = (
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
    new_float("initial_denominator", "its denominator.", default=1, sets="marginal.denominator", needs=("marginal",)),
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
    new_flag("global_only", "the baseline is a constant of its own.", sets="baseline.global_only", needs=("baseline",)),
)

NETWORKS: tuple[Option, ...] = (
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
)
