"""What an example shows to the layers below, and how a layer that shows them something else puts it back."""

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
