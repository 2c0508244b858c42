"""The features that an example shows to the layers below, the outcome of these, and how a layer restores both.

Each call of a layer below overwrites the outcome of the one before: its features, raw score, loss and updated
prediction. A layer whose own outcome is that of an earlier call takes it with `outcome_of` and returns it with
`put_back`.
"""

from numpy import uint64

from hutch.core.kernel.decorators import inlined


@inlined
def shown_by(e):
    """The features that an EXAMPLE record shows: addresses and counts of its features and namespaces.

    The features that replace them are elsewhere, and the memory behind those is unknown.
    """
    e.next_length, e.behind = uint64(0), uint64(0)
    return e.indices, e.values, e.length, e.namespaces, e.namespace_ids, e.namespace_count


@inlined
def show(e, features):
    """Make an EXAMPLE record show the features that `shown_by` returned."""
    e.indices, e.values, e.length, e.namespaces, e.namespace_ids, e.namespace_count = features


@inlined
def outcome_of(e):
    """The outcome of the layers below for an example: features used, raw score, loss, updated prediction."""
    return e.features, e.raw, e.loss, e.updated


@inlined
def put_back(e, outcome):
    """Restore in an EXAMPLE record the outcome that `outcome_of` returned."""
    e.features, e.raw, e.loss, e.updated = outcome
