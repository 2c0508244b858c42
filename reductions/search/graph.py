"""Classes of the nodes of a graph: each node sees the features of its edges, and what its neighbours are taken for.

A block has a line for each node, whose label is its class, then one for each edge, whose label is the nodes it joins,
by their lines from 1 on: `1,2`. An edge may join more than two nodes. With `directed` it leads from all of them to the
last, or to those behind a 0: `1,2,0,3,4`. Nodes are gone through in the order of their distance from the first one,
and back again.

Source: VW 9.11.9, `--search_task graph`.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy import int64, uint32, uint64

from hutch.core.batch import Batch, ends_of_groups
from hutch.core.chain.limits import Limits
from hutch.core.chain.reduction import Context, Labels, Reduction
from hutch.core.errors import DataError
from hutch.core.kernel.abi import example_of, kernel, shared_of, uint32s_at
from hutch.core.kernel.decision import decision_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.learner.features import Features
from hutch.core.learner.memory import Buffer
from hutch.core.parameters import Within
from hutch.reductions.search.base import Search, SearchParameters
from hutch.reductions.search.edges import GRAPH, graph_of, make_node, numbers_of, parts_of, plan
from hutch.reductions.search.record import TEST, ask, condition_on, declare, put, search_of, set_oracle

_0, _1, _HALF, _E = np.float32(0), np.float32(1), np.float32(0.5), ord("e")


class SearchGraphParameters(SearchParameters):
    """Parameters of `search_graph`.

    Attributes:
        classes: number of classes of a node, counted from 1.
        loops: times the nodes are gone through.
        separate: each time has a model of its own.
        structure: a node sees what its neighbours are taken for; else only the features of its edges.
        directed: edges have a direction.
        as_vw: all runs count for the loss, and what is remembered depends on other nodes, as in Vowpal Wabbit 9.11.9.
    """

    loops: Annotated[int, Within(ge=1, le=1 << 10)] = 2
    separate: bool = False
    structure: bool = True
    directed: bool = False
    as_vw: bool = False


@helper
def _mean_f1(g, k):
    """1 minus the mean of F1 over the classes seen, of all nodes so far and of those of this run."""
    width, total, count = k + uint64(1), _0, _0
    history, run = uint32s_at(g.history, width * width), uint32s_at(g.run, width * width)
    for c in range(uint64(1), width):
        right, chosen = _0, _0
        for j in range(uint64(1), width):
            right += np.float32(history[c * width + j] + run[c * width + j])
            chosen += np.float32(history[j * width + c] + run[j * width + c])
        if right != _0:
            hits = np.float32(history[c * width + c] + run[c * width + c])
            count += _1
            if hits > _0:
                precision, recall = np.float32(hits / chosen), np.float32(hits / right)
                total += np.float32(np.float32(np.float32(2) * precision * recall) / np.float32(precision + recall))
    return _1 - np.float32(total / count) if count > _0 else _0


@helper
def _count_choices(g, s, d, keeps):
    """Count the choices of a run; returns the part of the loss that follows from all of them."""
    width = s.actions + uint64(1)
    history, run = uint32s_at(g.history, width * width), uint32s_at(g.run, width * width)
    _, classes, _ = parts_of(g, s)
    for k in range(len(run)):
        run[k] = 0
    for i in range(g.nodes):
        numbers = numbers_of(d, i)
        if len(numbers) > 0:
            run[uint64(numbers[0]) * width + uint64(classes[i])] += uint32(1)
    loss = _mean_f1(g, s.actions)
    for k in range(len(run) if keeps else 0):
        history[k] += run[k]
    return loss


@helper
def _count_row(g, s, d, shared):
    """Count the right classes of a block as VW does where it prints a row of its table."""
    seen = shared.weighted_labeled + 1.0
    if seen >= g.next_row:
        g.next_row = 2.0 * seen
        width = s.actions + uint64(1)
        for i in range(g.nodes):
            right = uint64(numbers_of(d, i)[0])
            uint32s_at(g.history, width * width)[right * width + right] += uint32(1)


@helper
def _ask_node(layer, example, offset, node, loop):
    """Ask for the class of a node."""
    s, d = search_of(layer), decision_of(example)
    g, numbers = graph_of(s.own), numbers_of(d, node)
    _, _, starts = parts_of(g, s)
    s.line, s.tag, s.peeks = node, node + uint64(1), uint64(1)
    s.learner = uint64(loop) if g.separate == uint64(1) else uint64(0)
    s.allowed_count = s.oracle_count = s.on_count = uint64(0)
    if len(numbers) > 0:
        set_oracle(s, numbers[0])
    for i in range(uint64(starts[node + uint64(1)] - starts[node]) if s.caches == uint64(1) else uint64(0)):
        others = numbers_of(d, i)  # VW takes the first lines for the edges of the node
        for j in range(len(others)):
            if others[j] > 0 and uint64(others[j]) != node + uint64(1):
                condition_on(s, others[j], _E)
    return uint32(min(max(uint64(ask(layer, example, offset)), uint64(1)), s.actions))  # classes below may begin at 0


@kernel
def label_nodes(layer, example, label, importance, offset):
    """Ask for the class of each node, several times."""
    s, d, shared = search_of(layer), decision_of(example), shared_of(example_of(example).shared)
    g = graph_of(s.own)
    labeled = len(numbers_of(d, uint64(0))) > 0
    if s.phase == uint64(TEST):
        if not plan(g, s, d):
            return _0
        if g.as_vw == uint64(1) and s.learning == uint64(1):
            _count_row(g, s, d, shared)
    order, classes, _ = parts_of(g, s)
    n = int64(g.nodes)
    for i in range(n):
        classes[i] = uint32(s.actions + uint64(1))
    for loop in range(g.loops):
        wrong = _HALF if loop == g.loops - uint64(1) else np.float32(_HALF / np.float32(g.loops))
        for i in range(n):
            node = uint64(order[i if loop % uint64(2) == uint64(0) else n - 1 - i])
            classes[node] = _ask_node(layer, example, offset, node, loop)
            numbers = numbers_of(d, node)
            if len(numbers) > 0:
                declare(s, _0 if numbers[0] == classes[node] else wrong)
    keeps = labeled and shared.testing == uint64(0) and (s.phase == uint64(TEST) or g.as_vw == uint64(1))
    declare(s, _count_choices(g, s, d, keeps))
    for i in range(s.count):
        put(s, example, i, classes[i] if int64(i) < n else uint32(0))
    return _0


class SearchGraph(Search):
    """Labels the nodes of a graph."""

    name: ClassVar[str] = "search_graph"
    Parameters: ClassVar[type[SearchGraphParameters]] = SearchGraphParameters
    takes = Labels.NUMBERS_OF_LINES
    conditioned = hamming = False
    keeps: ClassVar[Mapping[str, Limits]] = {**Search.keeps, "history": Limits(), "next_row": Limits(0)}
    task = label_nodes

    def __init__(self, parameters: Any, context: Context) -> None:
        p, width = parameters, parameters.classes + 1
        self._features = self._features_of_edges(context)
        self._history = np.zeros(width * width, np.uint32)
        self._own = Record(
            GRAPH,
            plan=Buffer(),
            joined=Buffer(),
            found=Buffer(),
            sides=np.zeros(2 * width, np.float32),
            history=self._history,
            run=np.zeros(width * width, np.uint32),
            features=self._features.record,
            separate=p.separate and p.loops > 1,
            next_row=1,
            **{name: getattr(p, name) for name in ("loops", "structure", "directed", "as_vw")},
        )
        super().__init__(p, context, own=self._own, make=make_node)
        if not p.as_vw:
            self.state["caches"] = 0

    @staticmethod
    def _features_of_edges(context: Context) -> Features:
        """What the learner at the base makes of the features of an edge."""
        layer: Reduction | None = context.below
        while layer is not None and layer.context.below is not None:
            layer = layer.context.below
        make = getattr(layer, "new_features", None)
        return make(wildcards=False) if make else Features(None, [])

    @classmethod
    def learners(cls, parameters: Any) -> int:
        """One for each time, if these are separate."""
        return int(parameters.loops) if parameters.separate else 1

    def saved(self) -> dict[str, Any]:
        """Also the choices so far."""
        own = {"history": self._history, "next_row": self._own["next_row"]}
        return {name: own[name] if name in own else self.state[name] for name in self.keeps}

    def begin_batch(self, batch: Batch, learn: bool) -> None:
        """Check the graphs, and make room for what is remembered of a node.

        Raises:
            DataError: a node behind an edge, an edge to a node that there is not, or a class that there is not.
        """
        super().begin_batch(batch, learn)
        self._features.forget_guess()
        counts, stops = np.diff(batch.cost_ptr), ends_of_groups(batch)
        starts = np.concatenate([[0], stops[:-1]]).astype(np.int64)
        edges = counts > 1
        ahead = edges[:-1] & ~edges[1:] & (batch.group[:-1] == batch.group[1:])
        if ahead.any():
            raise DataError(f"label: got {counts[1:][ahead][0]} numbers behind an edge, wanted nodes first, then edges")
        numbers = batch.cost_classes[batch.cost_ptr[0] : batch.cost_ptr[-1]]
        rows = np.repeat(np.arange(len(batch)), counts)
        blocks = np.repeat(np.arange(len(stops)), stops - starts)
        nodes = np.bincount(blocks[~edges], minlength=len(stops))
        beyond = edges[rows] & (numbers > nodes[blocks[rows]])
        if beyond.any():
            most = nodes[blocks[rows]][beyond][0]
            raise DataError(f"label: got an edge to node {numbers[beyond][0]}, wanted at most {most}")
        classes = numbers[~edges[rows]]
        for one in classes[(classes < 1) | (classes > self.parameters.classes)]:
            raise DataError(f"label: got class {one} of a node, wanted 1 to {self.parameters.classes}")
        if self.parameters.as_vw:
            self.make_room(int(np.bincount(blocks[rows], minlength=1).max(initial=0)))
