"""Vowpal Wabbit's options that no declaration of a layer has, under the headings of the help text.

An option that sets a parameter of a layer needs only one line in its file, where `sets` names both. Those of layers
that decide, and of learners without rates, are declared: see `hutch.vw.options.layers`.
"""

from hutch.vw.options.active import ACTIVE
from hutch.vw.options.classes import CLASSES
from hutch.vw.options.features import FEATURES, GRAMS, LEARNED, NETWORKS
from hutch.vw.options.linear import LOSS, RATES, WEIGHTS
from hutch.vw.options.memories import MEMORIES
from hutch.vw.options.option import Option
from hutch.vw.options.predictions import PREDICTIONS
from hutch.vw.options.replay import REPLAYS
from hutch.vw.options.runs import ACCEPTED, DAEMON, DATA, MODELS

DECISIONS, BASES = "Decisions and bandits", "Learners without rates"
"""Headings whose options are declared."""

COMMON: dict[str, tuple[Option, ...]] = {
    "Data and passes": DATA,
    "Models and output": MODELS,
    "Weight table and hashing": WEIGHTS,
    "Learner": RATES,
    "Loss": LOSS,
    "Features": FEATURES,
    "Layers, from top to base": (*GRAMS, *CLASSES, *MEMORIES, *PREDICTIONS, *LEARNED, *ACTIVE, *REPLAYS, *NETWORKS),
    DECISIONS: (),
    BASES: (),
    "Daemon": DAEMON,
    "Accepted for compatibility": ACCEPTED,
}
"""Options by heading."""
