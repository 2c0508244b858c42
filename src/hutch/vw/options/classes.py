"""Vowpal Wabbit's options for classes, for several labels of an example, and for costs of classes."""

from hutch.vw.options.option import Option, new_flag, new_float, new_int, new_text

_ASKING = "cost_sensitive_active"
_LABELS = "probabilistic_label_tree"
_TREE = "recall_tree"

CLASSES: tuple[Option, ...] = (
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
    new_int("recall_tree", "A tree that leads to few of N classes, whose scores decide.", sets=f"{_TREE}.classes"),
    new_int("max_candidates", "classes scored at most.", least=1, sets=f"{_TREE}.candidates", needs=("recall_tree",)),
    new_float(
        "bern_hyper",
        "how many more examples a node needs before others go past it.",
        default=1,
        sets=f"{_TREE}.penalty",
        note="is kept in the model",
        needs=("recall_tree",),
    ),
    new_int("max_depth", "of the tree.", least=0, sets=f"{_TREE}.depth", needs=("recall_tree",)),
    new_flag(
        "node_only", "scores know the last node alone.", sets=f"{_TREE}.whole_path", value=False, needs=("recall_tree",)
    ),
    new_flag("randomized_routing", "go down by chance.", sets=f"{_TREE}.randomized", needs=("recall_tree",)),
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
    new_flag("csa_debug", "has no effect.", sets=_ASKING, note="has no effect; VW prints ranges", needs=("cs_active",)),
)
