"""The learner's state in a model of Vowpal Wabbit, as text or as bytes."""

from argparse import Namespace
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.chain.engine import Engine
from hutch.core.errors import UsageError

VW_VERSION = "9.11.9"
"""The version of VW whose layout this is."""

STATE = (
    ("initial_t", "<f4", ""),
    ("norm normalizer", "<f8", ""),
    ("t", "<f8", "time"),
    ("sum_loss", "<f8", "sum_loss"),
    ("sum_loss_since_last_dump", "<f8", ""),
    ("dump_interval", "<f4", ""),
    ("min_label", "<f4", "min_label"),
    ("max_label", "<f4", "max_label"),
    ("weighted_labeled_examples", "<f8", "weighted_labeled"),
    ("weighted_labels", "<f8", "weighted_labels"),
    ("weighted_unlabeled_examples", "<f8", "weighted_unlabeled"),
    ("example_number", "<u8", "examples"),
    ("total_features", "<u8", "features"),
    ("total_weight", "<f8", ""),
    ("sd::oec.weighted_labeled_examples", "<f8", "weighted_labeled"),
    ("current_pass", "<u8", "pass"),
    ("l1_state", "<f8", ""),
    ("l2_state", "<f8", ""),
)
"""State that VW needs to go on learning: the name in the text, the type in the bytes, and the name in SHARED."""

PER_MODEL = ("norm normalizer", "total_weight")
"""Those that `--per_model_save_load` keeps for each sub-model."""

FACTORS = "matrix_factorization"
"""The learner that VW's `--rank` stands for, of which a model has every row and nothing but rows."""

WEIGHTS_ONLY = ("zeroth_order",)
"""Learners of which a model has a weight per row and nothing else."""

COLUMNS = {"coin_betting": 6, "freegrad": 6, "ftrl_proximal": 3, "lbfgs": 1, "pistol": 4, "zeroth_order": 1}
"""Numbers per row of the learners for VW's `--ftrl` and its kin."""


def norms_of(base: Any) -> Sequence[NDArray[np.float64]]:
    """Sums of the norms and of the importances of examples, by sub-model; views of the learner's arrays."""
    saved = base.saved()
    if base.name == "linear":
        norms: Sequence[NDArray[np.float64]] = saved["norms"].T
        return norms
    return saved.get("norm", np.zeros(1)), saved.get("importance", np.zeros(1))


def state_of(chain: Engine) -> dict[str, Any]:
    """The numbers of `STATE`, one each, or one for each sub-model."""
    base = chain.layers[-1]
    given: Any = base.parameters
    contraction, gravity = base.saved().get("regularization", (1.0, 0.0))
    first = getattr(given, "initial_t", None)
    if first is None:
        first = float(base.name == "linear" and not (given.adaptive or given.normalized))
    found: dict[str, Any] = {
        name: chain.shared[shared] + (name == "current_pass") for name, _, shared in STATE if shared
    }
    own = {"initial_t": first, "sum_loss_since_last_dump": 0, "dump_interval": 1, "l1_state": gravity}
    found |= {name: [value] for name, value in {**own, "l2_state": contraction}.items()}
    return found | dict(zip(PER_MODEL, norms_of(base), strict=True))


def set_regularization(chain: Engine, options: Namespace) -> None:
    """Set the regularisation so far to the values of `--l1_state` and `--l2_state`.

    Raises:
        UsageError: the learner has no such regularisation.
    """
    for place, name in enumerate(("l2_state", "l1_state")):
        if (value := getattr(options, name)) is not None:
            if "regularization" not in chain.layers[-1].saved():
                raise UsageError(f"--{name}: {chain.layers[-1].name} does not have it")
            chain.layers[-1].saved()["regularization"][place] = value


def is_learner(base: Any) -> bool:
    """Whether VW has this base learner."""
    return base.name == "linear" or base.name in COLUMNS


def columns_of(base: Any) -> int:
    """Numbers per row of a model that can go on learning."""
    if base.name in COLUMNS:
        return COLUMNS[base.name]
    if base.name == FACTORS:
        return 1 + 2 * int(base.parameters.rank)
    return 1 + int(base.parameters.adaptive) + int(base.parameters.normalized)
