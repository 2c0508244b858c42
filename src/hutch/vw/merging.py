"""Vowpal Wabbit's `merge_models`: workspaces that have learned apart become one."""

import copy
from collections.abc import Sequence

import numpy as np

from hutch.core.errors import UsageError
from hutch.distributed.merging import absorb, add, check_divisible, learned_from
from hutch.vw.run import build_chain
from hutch.vw.workspace import Workspace, workspace_of


def merge_models(base_model: Workspace | None, models: Sequence[Workspace]) -> Workspace:
    """One workspace that has learned what several have.

    A weight becomes the mean of its values in the models that changed it. Sums of squared gradients, counters and
    losses are added up, as `hutch train --shards` does.

    Args:
        base_model: from which all started; None: they have learned from nothing.
        models: one or more, made with the same options.

    Returns:
        A workspace of its own.

    Raises:
        UsageError: no models, or other options.
        ConfigError: a layer cannot be merged.

    >>> one, two = Workspace("--quiet"), Workspace("--quiet")
    >>> one.learn("1 |f a")
    >>> two.learn("1 |f b")
    >>> merge_models(None, [one, two]).get_weighted_examples()
    2.0
    """
    if not models:
        raise UsageError("merge_models: got no models, wanted one or more")
    first, chains = models[0], [model.chain for model in models]
    for model in models:
        if model.chain.config != first.chain.config:
            raise UsageError("merge_models: got models with other options, wanted the same for all")
        check_divisible(model.chain)
    if base_model is not None and base_model.chain.config != first.chain.config:
        raise UsageError("merge_models: got a base model with other options, wanted those of the models")
    if base_model is None:
        fresh = copy.copy(first.options)
        fresh.initial_regressor = None
        base = build_chain(fresh)
    else:
        base = copy.deepcopy(base_model.chain)
    before = {name: np.array(array) for name, array in base.arrays().items()}
    absorb(base, add(*(learned_from(chain, before) for chain in chains)))
    return workspace_of(first.words, base)
