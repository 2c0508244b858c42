"""The edges of a graph: which join a node, in which order the nodes come, and the features that edges give a node."""

import numpy as np
from numpy import uint32, uint64

from hutch.core.kernel.abi import example_of, float32s_at, int64s_at, kernel, record_of, shared_of, uint32s_at
from hutch.core.kernel.decision import decision_of
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.learner.features import features_of, gather, rows_of, values_of
from hutch.core.learner.memory import buffer_of, reserve
from hutch.reductions.search.history import lines_of, show_line
from hutch.reductions.search.made import make_room
from hutch.reductions.search.record import search_of

_0, _1 = np.float32(0), np.float32(1)
_APART = uint64(348919043)

GRAPH = np.dtype(
    [
        ("plan", "u8"),  # BUFFER of uint32: order of the nodes, classes chosen, places in `joined`, `joined`
        ("joined", "u8"),  # edges of each node, as places in it say
        ("nodes", "u8"),
        ("sides", "u8"),  # address of float32[2 classes + 2]: shares of what an edge's other nodes are taken for
        ("history", "u8"),  # address of uint32[classes + 1, classes + 1]: nodes so far by right class and choice
        ("run", "u8"),  # the same of a run
        ("features", "u8"),  # address of the FEATURES record of edges
        ("found", "u8"),  # BUFFER of the features that edges give a node
        ("found_count", "u8"),
        ("loops", "u8"),
        ("separate", "u8"),
        ("structure", "u8"),
        ("directed", "u8"),
        ("as_vw", "u8"),
        ("next_row", "f8"),  # of VW's table: blocks after which it is due
    ]
)
graph_of = record_of(GRAPH)


@inlined
def numbers_of(d, line):
    """The numbers of a line's label."""
    ends = int64s_at(d.action_ends, d.count + uint64(1))
    first = uint64(ends[line])
    return uint32s_at(d.label_actions + uint64(4) * first, uint64(ends[line + uint64(1)]) - first)


@inlined
def parts_of(g, s):
    """The order of the nodes, their classes, and where the edges of each begin among `joined`."""
    at, n = buffer_of(g.plan).address, g.nodes
    return uint32s_at(at, n), uint32s_at(at + uint64(4) * n, n), uint32s_at(at + uint64(8) * n, n + uint64(1))


@helper
def _join(g, d, starts):
    """Write the edges of each node, in order, an edge once; returns whether there is memory."""
    n, total = g.nodes, uint64(int64s_at(d.action_ends, d.count + uint64(1))[d.count])
    total -= uint64(int64s_at(d.action_ends, d.count + uint64(1))[0])
    address = reserve(g.joined, uint64(4) * (total + n + uint64(1)))
    if address == uint64(0):
        return False
    joined, last = uint32s_at(address, total), uint32s_at(address + uint64(4) * total, n + uint64(1))
    for turn in range(2):  # count, then write
        for i in range(n + uint64(1)):
            last[i] = 0
            if turn == 0:
                starts[i] = 0
        for edge in range(n, d.count):
            numbers = numbers_of(d, edge)
            for j in range(len(numbers)):
                node = uint64(numbers[j])
                if node > uint64(0) and uint64(last[node]) != edge:
                    last[node] = uint32(edge)
                    if turn == 1:
                        joined[starts[node - uint64(1)]] = uint32(edge)
                        starts[node - uint64(1)] += uint32(1)
                    else:
                        starts[node] += uint32(1)
        for i in range(n if turn == 0 else uint64(0)):
            starts[i + uint64(1)] += starts[i]
    for i in range(n, uint64(0), -1):
        starts[i] = starts[i - uint64(1)]
    starts[0] = 0
    return True


@helper
def _find_order(g, s, d):
    """Order the nodes by their distance from the first one, then from the first that cannot be reached, and so on."""
    order, seen, starts = parts_of(g, s)
    joined, found, next_one = uint32s_at(buffer_of(g.joined).address, uint64(starts[g.nodes])), uint64(0), uint64(0)
    for i in range(g.nodes):
        seen[i] = 0
    for first in range(g.nodes):
        if seen[first] == 0:
            seen[first], order[found] = uint32(1), uint32(first)
            found += uint64(1)
        while next_one < found:
            node = uint64(order[next_one])
            for k in range(starts[node], starts[node + uint64(1)]):
                numbers = numbers_of(d, uint64(joined[k]))
                for j in range(len(numbers)):
                    other = uint64(numbers[j])
                    if other > uint64(0) and seen[other - uint64(1)] == 0:
                        seen[other - uint64(1)], order[found] = uint32(1), uint32(other - uint64(1))
                        found += uint64(1)
            next_one += uint64(1)


@helper
def plan(g, s, d):
    """Find nodes, edges and order of a block; returns whether there is memory."""
    g.nodes = uint64(0)
    while g.nodes < d.count and len(numbers_of(d, g.nodes)) < 2:
        g.nodes += uint64(1)
    if reserve(g.plan, uint64(12) * g.nodes + uint64(4)) == uint64(0):
        return False
    _, _, starts = parts_of(g, s)
    if not _join(g, d, starts):
        return False
    _find_order(g, s, d)
    return True


@helper
def _share(g, s, numbers, node):
    """Find what the other nodes of an edge are taken for; returns how many there are, and the last one's."""
    sides, count, last = float32s_at(g.sides, uint64(2) * s.actions + uint64(2)), 0, uint64(0)
    for k in range(len(sides)):
        sides[k] = _0
    if g.structure == uint64(0):
        sides[0] = _1
        return 1, last
    _, classes, _ = parts_of(g, s)
    width, own_sink, sink, end = s.actions + uint64(1), True, False, len(numbers)
    for j in range(end - 1 if g.directed == uint64(1) else 0):
        if numbers[j] == 0:
            break
        if uint64(numbers[j]) == node + uint64(1):
            own_sink = False
            break
    for j in range(end):
        if numbers[j] == 0:
            sink = True
            continue
        sink = sink or j == end - 1
        other = uint64(numbers[j]) - uint64(1)
        if other != node:
            last = uint64(classes[other]) - uint64(1)
            last += width if g.directed == uint64(1) and own_sink != sink else uint64(0)
            sides[last] += _1
            count += 1
    for k in range(len(sides)):
        sides[k] /= np.float32(max(count, 1))
    return count, last


@helper
def _see_edge(g, s, e, example, edge, node, numbers):
    """Add the features that an edge gives a node to those found; returns False without memory."""
    count, last = _share(g, s, numbers, node)
    if count == 0:
        return True
    show_line(s, e, edge)
    shared, features = shared_of(e.shared), features_of(g.features)
    length = uint64(gather(features, example, uint64(0)))
    sides, kinds = float32s_at(g.sides, uint64(2) * s.actions + uint64(2)), uint64(0)
    for k in range(len(sides)):
        kinds += uint64(1) if sides[k] != _0 else uint64(0)
    n = g.found_count
    size = n + length * (kinds if count > 1 else uint64(1))
    address = reserve(g.found, uint64(8) * size)
    if address == uint64(0):
        return False
    found, rows, x = uint32s_at(address, uint64(2) * size), rows_of(features, length), values_of(features, length)
    values = float32s_at(address, uint64(2) * size)
    for f in range(length):
        row = uint64(rows[f]) // shared.multiplier
        for k in range(len(sides) if count > 1 else 1):
            side = uint64(k) if count > 1 else last
            if count == 1 or sides[side] != _0:
                found[uint64(2) * n] = uint32((row + _APART * side) & shared.mask)
                values[uint64(2) * n + uint64(1)] = x[f] * sides[side] if count > 1 else x[f]
                n += uint64(1)
    g.found_count = n
    return True


@kernel
def make_node(layer, example, label, importance, offset):
    """Make the features of a node: its own, and those that its edges give it."""
    s, e, d = search_of(layer), example_of(example), decision_of(example)
    g, node = graph_of(s.own), s.line
    _, _, starts = parts_of(g, s)
    joined = uint32s_at(buffer_of(g.joined).address, uint64(starts[g.nodes]))
    g.found_count = uint64(0)
    for k in range(starts[node], starts[node + uint64(1)]):
        if not _see_edge(g, s, e, example, uint64(joined[k]), node, numbers_of(d, uint64(joined[k]))):
            return _1
    line = lines_of(s, e)[node]
    n, spaces = line.length, line.namespace_count + uint64(1)
    total = n + g.found_count
    made = make_room(s.making, spaces, total)
    indices, values = uint32s_at(made.indices, total), float32s_at(made.values, total)
    starts_of, ids = int64s_at(made.namespaces, spaces + uint64(1)), uint32s_at(made.namespace_ids, spaces)
    theirs, own = int64s_at(line.namespaces, spaces), uint32s_at(line.namespace_ids, spaces)
    for m in range(spaces - uint64(1)):
        starts_of[m], ids[m] = theirs[m] - theirs[0], own[m]
    starts_of[spaces - uint64(1)], starts_of[spaces], ids[spaces - uint64(1)] = n, total, s.neighbour_space
    for f in range(n):
        indices[f], values[f] = uint32s_at(line.indices, n)[f], float32s_at(line.values, n)[f]
    address = buffer_of(g.found).address
    for f in range(g.found_count):
        indices[n + f] = uint32s_at(address, uint64(2) * g.found_count)[uint64(2) * f]
        values[n + f] = float32s_at(address, uint64(2) * g.found_count)[uint64(2) * f + uint64(1)]
    return _1
