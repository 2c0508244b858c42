"""Vowpal Wabbit's options for experience replay."""

from hutch.vw.options.option import Option, new_int

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

REPLAYS: tuple[Option, ...] = (
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
)
