"""Options of Vowpal Wabbit for classes by memory: trees of examples that are kept."""

from hutch.vw.options.option import Option, new_choice, new_flag, new_int

_EIGEN = "eigen_memory_tree"

MEMORIES: tuple[Option, ...] = (
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
