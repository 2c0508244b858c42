"""VW's `--feature_mask`: only the weights that are not 0 in a model learn."""

import copy
from argparse import Namespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.chain import Chain
from hutch.core.errors import UsageError
from hutch.vw.load import load_chain
from hutch.vw.translate import chain_of

PREDICTS_ONLY = "predict_only_model"
"""The remark in a model of which VW's would keep the weights alone."""


def masked_chain(options: Namespace) -> Chain:
    """The chain of a command line with `--feature_mask`.

    Raises:
        HutchError: another mask than that of the model to continue, or options that contradict the models.
    """
    given = copy.copy(options)
    given.initial_regressor = options.initial_regressor or options.feature_mask
    chain = _loaded(given, options)
    if given.initial_regressor != options.feature_mask:
        given.initial_regressor = options.feature_mask
        ours, theirs = (_is_zero(each) for each in (chain, _loaded(given, options)))
        if ours.shape != theirs.shape or (ours != theirs).any():
            raise UsageError(
                f"--feature_mask: got {options.feature_mask}, whose weights of 0 are not those of "
                f"{options.initial_regressor}, by which VW masks beside -i; wanted one model for both"
            )
    return chain


def _loaded(given: Namespace, options: Namespace) -> Chain:
    """The chain of a model, with its regularization in its weights: what the options do not ask for has ended."""
    for name in ("l1", "l2"):
        setattr(given, name, 0.0 if getattr(options, name) is None else getattr(options, name))
    chain = load_chain(given)
    base: Any = chain.layers[-1]
    base.materialise(chain.weights)
    if PREDICTS_ONLY in chain.remarks:
        kept, given.initial_regressor = chain, None
        chain = Chain.from_config(chain_of(given) | {"weights": {"bits": kept.config.weights.bits}})
        chain.weights[:, 0] = kept.weights[:, 0]
        for name in ("min_label", "max_label"):
            chain.shared[name] = kept.shared[name]
    return chain


def _is_zero(chain: Chain) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = chain.weights[:, 0] == 0
    return found
