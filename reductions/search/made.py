"""Features that a task makes of a step, where a step is not one line: kept in a BUFFER, shown as a line is."""

from numpy import uint64

from hutch.core.kernel.decision import ACTION_BYTES, actions_at
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.shown import show
from hutch.core.learner.memory import buffer_of, reserve


@helper
def make_room(buffer, spaces, count):
    """Make room for features in a BUFFER; returns the ACTION that shows them, whose arrays are still to be filled.

    Without memory the ACTION is the one before.

    Args:
        buffer: address of a BUFFER.
        spaces: namespaces.
        count: features.
    """
    end = ACTION_BYTES + uint64(8) * (spaces + uint64(1)) + uint64(4) * spaces
    address = reserve(buffer, end + uint64(8) * count)
    made = actions_at(buffer_of(buffer).address, uint64(1))[0]
    if address != uint64(0):
        made.namespaces = address + ACTION_BYTES
        made.namespace_ids = made.namespaces + uint64(8) * (spaces + uint64(1))
        made.indices = address + end
        made.values = made.indices + uint64(4) * count
        made.length, made.namespace_count = count, spaces
    return made


@inlined
def show_made(e, buffer):
    """Make an EXAMPLE show the features in a BUFFER."""
    a = actions_at(buffer_of(buffer).address, uint64(1))[0]
    show(e, (a.indices, a.values, a.length, a.namespaces, a.namespace_ids, a.namespace_count))
    e.next_length, e.behind = uint64(0), uint64(0)
