"""Options of Vowpal Wabbit for classes by memory: trees of examples that are kept."""

from hutch.vw.options.option import Option, new_choice, new_flag, new_int

_EIGEN, _TREE = "eigen_memory_tree", "memory_tree"

MEMORIES: tuple[Option, ...] = (
    new_int(
        "memory_tree",
        "The class of the most similar example that is kept, in a tree of at most N nodes.",
        least=1,
        sets=f"{_TREE}.nodes",
        note="keeps 65536 examples, and a warning says when there are more; all in VW",
    ),
    new_int(
        "leaf_example_multiplier",
        "a leaf has N times log2 of the nodes examples at most.",
        default=1,
        least=0,
        sets=f"{_TREE}.leaf_multiplier",
        needs=("memory_tree",),
    ),
    new_int(
        "dream_repeats",
        "examples put into the tree again after each one.",
        default=1,
        least=0,
        sets=f"{_TREE}.replays",
        needs=("memory_tree",),
    ),
    new_flag("learn_at_leaf", "learn what is similar.", sets=f"{_TREE}.learns_similarity", needs=("memory_tree",)),
    new_flag("online", "learn from labels in the first pass, too.", sets=f"{_TREE}.online", needs=("memory_tree",)),
    new_int(
        "dream_at_update",
        "let nodes learn from what is put into the tree again after the first pass, too.",
        default=0,
        metavar="0|1",
        sets=f"{_TREE}.learns_replays",
        means=((0, False), (1, True)),
        needs=("memory_tree",),
    ),
    new_int(
        "max_number_of_labels",
        "has no effect.",
        note="has no effect, as in VW without --oas",
        needs=("memory_tree",),
    ),
    new_int("top_K", "has no effect.", note="has no effect, as in VW", needs=("memory_tree",)),
    new_flag("emt", "The class of the most similar example that is kept.", sets=_EIGEN),
    new_int(
        "emt_tree",
        "examples kept at most; those used least recently leave.",
        default=0,
        least=0,
        sets=f"{_EIGEN}.memories",
        means=((0, None),),
        note="0 keeps 65536, and a warning says when there are more; all in VW",
        needs=("emt",),
    ),
    new_int("emt_leaf", "examples in a leaf at most.", default=100, least=1, sets=f"{_EIGEN}.leaf", needs=("emt",)),
    new_choice(
        "emt_scorer",
        "how the nearest example is chosen.",
        {name: name for name in ("self_consistent_rank", "not_self_consistent_rank", "distance", "random")},
        sets=f"{_EIGEN}.scorer",
        needs=("emt",),
    ),
    new_choice(
        "emt_initial",
        "the distance before anything is learned.",
        {name: name for name in ("cosine", "euclidean", "gaussian", "none")},
        sets=f"{_EIGEN}.initial",
        needs=("emt",),
    ),
    new_choice(
        "emt_router",
        "the direction along which a leaf is divided.",
        {name: name for name in ("eigen", "random")},
        sets=f"{_EIGEN}.router",
        needs=("emt",),
    ),
)
