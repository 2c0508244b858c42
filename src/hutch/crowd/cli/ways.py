"""The ways of `hutch crowd` to learn from labels, and the options that each does not understand."""

from typing import NamedTuple


class Way(NamedTuple):
    """What `CrowdOptions.refuse` takes.

    Attributes:
        refused: names of options.
        why: they are refused.
    """

    refused: tuple[str, ...]
    why: str


PAIRS = Way(
    (
        "gold",
        "reference",
        "ask_of",
        "slots",
        "classes",
        "unsure",
        "set",
        "passes",
        "shards",
        "ray",
        "all_judges",
        "least_accuracy",
        "detail",
        "texts",
    ),
    "cannot be combined with --pairs",
)  # fmt: skip
MULTI_LABEL = Way(
    ("reference", "all_judges", "next", "ask_of", "report", "suspects", "shards", "ray", "ordered", "detail"),
    "cannot be combined with --multi-label",
)
NUMBERS = Way(
    ("all_judges", "next", "ask_of", "detail", "suspects", "shards", "ray", "classes", "ordered", "multi_label", "set"),
    "cannot be combined with --model numbers",
)
NUMBERS_ONLINE = Way(("gold",), "cannot be combined with --method online")
NUMBERS_BATCH = Way(("stream",), "cannot be combined with --method batch")
NUMBERS_STREAM = Way(("workers", "report"), "cannot be combined with --stream")
STREAM = Way(
    ("workers", "report", "suspects", "next", "score", "detail"),
    "a stream keeps no tasks and no workers; leave out --stream",
)
FOLLOW = Way(
    (
        "gold", "reference", "all_judges", "next", "ask_of", "report", "suspects", "workers", "predictions", "score",
        "detail", "texts", "test", "passes", "shards", "ray", "stream", "multi_label", "pairs", "ordered", "model",
    ),
    "cannot be combined with --follow, which learns label by label with two_level",
)  # fmt: skip


def questions(names: str) -> Way:
    """Several questions about a task, of these names."""
    return Way(
        ("gold", "score", "next", "ask_of", "report", "suspects", "shards", "ray", "final", "initial", "detail"),
        f"cannot be combined with several questions ({names}); keep the rows of one in a file of their own",
    )
