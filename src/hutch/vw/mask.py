"""VW's `--feature_mask`: only the weights that are not 0 in a model learn."""

import copy
from argparse import Namespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.chain import Chain
from hutch.core.errors import UsageError
from hutch.vw.load import load_chain
from hutch.vw.predicting import PREDICTS_ONLY
from hutch.vw.translate import chain_of


def masked_chain(options: Namespace) -> Chain:
    """The chain of a command line with `--feature_mask`.

    Raises:
        HutchError: another mask than that of the model to continue, or options that contradict the models.
    """
    mask = _loaded(options.feature_mask, options)
    if options.initial_regressor is None:
        return _begun(mask, options)
    chain = _loaded(options.initial_regressor, options)
    ours, theirs = _is_zero(chain), _is_zero(mask)
    if ours.shape != theirs.shape or (ours != theirs).any():
        raise UsageError(
            f"--feature_mask: got {options.feature_mask}, whose weights of 0 are not those of "
            f"{options.initial_regressor}, by which VW masks beside -i; wanted one model for both"
        )
    return chain


def _loaded(path: str, options: Namespace) -> Chain:
    """The chain of a model, with its regularization in its weights: what the options do not ask for has ended."""
    given = copy.copy(options)
    given.initial_regressor = path
    for name in ("l1", "l2"):
        setattr(given, name, 0.0 if getattr(options, name) is None else getattr(options, name))
    chain = load_chain(given)
    base: Any = chain.layers[-1]
    base.materialise(chain.weights)
    return _begun(chain, given) if PREDICTS_ONLY in chain.remarks else chain


def _begun(model: Chain, options: Namespace) -> Chain:
    """The chain of the options with the weights of a model, and with what it knows of rates if it keeps that."""
    given = copy.copy(options)
    given.initial_regressor = None
    chain = Chain.from_config({"weights": {"bits": model.config.weights.bits}} | chain_of(given))
    if chain.weights.shape != model.weights.shape:
        rows, other = len(model.weights), len(chain.weights)
        raise UsageError(f"--feature_mask: got a model of {rows} rows of weights, wanted {other}, or the same options")
    if PREDICTS_ONLY in model.remarks:
        chain.weights[:, 0] = model.weights[:, 0]
        for name in ("min_label", "max_label"):
            chain.shared[name] = model.shared[name]
        return chain
    chain.weights[...], chain.shared["time"] = model.weights, model.shared["time"]
    for name in ("min_label", "max_label", "weighted_unlabeled", "weighted_holdout"):
        chain.shared[name] = model.shared[name]
    for name, array in model.layers[-1].saved().items():
        chain.layers[-1].saved()[name][...] = array
    return chain


def _is_zero(chain: Chain) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = chain.weights[:, 0] == 0
    return found
