"""Vowpal Wabbit's options for active learning, and for how sure a prediction is."""

from hutch.vw.options.option import Option, new_flag, new_float

ACTIVE: tuple[Option, ...] = (
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
        "With --active_cover: ask for more. With --OjaNewton: smaller steps. With --memory_tree: learn less balance.",
        default=1,
        sets="active_cover.alpha",
        needs=("active_cover", "OjaNewton", "memory_tree"),
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
)
