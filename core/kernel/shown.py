"""What an example shows to the layers below, what they say of it, and how a layer that asks them aside puts that back.

Each call of a layer below overwrites the outcome of the one before: its features, raw score, loss and updated
prediction. A layer whose own outcome is that of an earlier call takes it with `outcome_of` and returns it with
`put_back`.
"""

from numpy import uint64

from hutch.core.kernel.decorators import inlined


@inlined
def shown_by(e):
    """What an EXAMPLE record shows: addresses and counts of its features and namespaces.

    What it is to show instead lies elsewhere, and nothing is known of what lies behind that.
    """
    e.next_length, e.behind = uint64(0), uint64(0)
    return e.indices, e.values, e.length, e.namespaces, e.namespace_ids, e.namespace_count


@inlined
def show(e, features):
    """Let an EXAMPLE record show again what `shown_by` returned."""
    e.indices, e.values, e.length, e.namespaces, e.namespace_ids, e.namespace_count = features


@inlined
def outcome_of(e):
    """What the layers below have said of an example: features used, raw score, loss, updated prediction."""
    return e.features, e.raw, e.loss, e.updated


@inlined
def put_back(e, outcome):
    """Let an EXAMPLE record say again what `outcome_of` returned."""
    e.features, e.raw, e.loss, e.updated = outcome
