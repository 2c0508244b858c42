"""The learner below a memory tree: which features it makes of an example, and how it learns without interactions."""

from numpy import uint64

from hutch.core.chain.reduction import Context, Reduction
from hutch.core.errors import ConfigError
from hutch.core.kernel.decorators import inlined
from hutch.core.kernel.record import Record
from hutch.core.learner.features import Features, features_of


def features_below(name: str, context: Context) -> Record:
    """The FEATURES record of the learner below: its own, or one that makes nothing.

    Args:
        name: of the layer.
        context: of the layer.

    Raises:
        ConfigError: the layer above needs several sub-models.
    """
    if context.submodels != 1:
        raise ConfigError(f"{name}: got {context.submodels} sub-models, wanted one: it keeps one set of examples")
    below: Reduction | None = context.below
    while below is not None and not below.is_base:
        below = below.context.below
    found: Record | None = getattr(below, "features", None)
    return found if isinstance(found, Record) else Features(None, []).record


@inlined
def without_interactions(features_at):
    """Let the learner below make no interactions; returns what `with_interactions` restores."""
    features = features_of(features_at)
    kept = features.expand, features.terms, features.left_out_count
    features.expand, features.terms, features.left_out_count = uint64(0), uint64(0), uint64(0)
    features.guessed, features.ahead_length = uint64(0), uint64(0)
    return kept


@inlined
def with_interactions(features_at, kept):
    """Let it make them again."""
    features = features_of(features_at)
    features.expand, features.terms, features.left_out_count = kept
