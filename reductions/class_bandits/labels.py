"""What a label of a logged class says: the classes to choose from, and the one whose cost is known."""

import numpy as np
from numpy import int64, uint32, uint64

from hutch.core.kernel.abi import UNLABELED, call, example_of, float32s_at, layer_of, uint32s_at
from hutch.core.kernel.decision import decision_of, ranked_of, sort_actions, values_of
from hutch.core.kernel.decorators import helper, inlined
from hutch.reductions.bandits.scratch import make_columns, numbers

_0, _1 = np.float32(0), np.float32(1)


@helper
def known_class(decision, classes):
    """The class of which cost and probability are known, counted from 1; 0 if there is none."""
    if decision.chosen < 0:
        return int64(0)
    found = int64(uint32s_at(decision.classes, decision.count)[decision.chosen])
    return found if 1 <= found <= int64(classes) else int64(0)


@helper
def list_classes(buffer, example, classes, skipped):
    """Write the classes to choose from: those that the label names, or all if it names none but the chosen one.

    Args:
        buffer: address of a BUFFER for four columns: the classes, their costs to learn, and two of the caller's.
        example: address of the EXAMPLE.
        classes: how many there are.
        skipped: so many words of the label do not count.

    Returns:
        Address of the columns, 0 if there is no memory; their length; and how many classes there are to choose from.
    """
    e, count = example_of(example), uint64(0)
    room = max(classes, e.cost_count)
    columns = make_columns(buffer, room, 4)
    if columns == uint64(0):
        return columns, room, count
    listed, named = numbers(columns, room, 0), uint32s_at(e.cost_classes, e.cost_count)
    costs = float32s_at(e.costs, e.cost_count)
    given = e.cost_count - min(skipped, e.cost_count)
    if given == uint64(0) or (given == uint64(1) and costs[e.cost_count - uint64(1)] != UNLABELED):
        for k in range(classes):
            listed[k] = k + uint64(1)
        return columns, room, classes
    for j in range(e.cost_count - given, e.cost_count):
        if uint32(1) <= named[j] <= classes:
            listed[count] = named[j]
            count += uint64(1)
    return columns, room, count


@helper
def regress_class(layer, example, number, offset, learned, decision, importance):
    """What the regressor predicts a class costs; it then learns that if it is the class `learned` (0: none)."""
    above = layer_of(layer_of(layer).next)  # the layer whose sub-models are classes
    at = offset + uint64(number - 1) * above.step
    if learned == number:
        return call(
            layer_of(above.next).learn, above.next, example, decision.cost, importance / decision.probability, at
        )
    return call(layer_of(above.next).predict, above.next, example, UNLABELED, _1, at)


@inlined
def estimated_cost(decision, known, number, estimate):
    """What a class costs: its estimate, corrected by the logged cost where that is known."""
    return (decision.cost - estimate) / decision.probability + estimate if known == number else estimate


@inlined
def _ranks_of(decision, classes):
    """`ranked` and `values` with room for all classes."""
    return uint32s_at(decision.ranked, classes), float32s_at(decision.values, classes)


@helper
def rank_classes(decision, scores):
    """Leave classes ranked, counted from 0, the lowest score first."""
    ranked, values = _ranks_of(decision, uint64(len(scores)))
    for k in range(len(scores)):
        ranked[k], values[k] = k, scores[k]
    sort_actions(ranked, values, int64(len(scores)))


@helper
def rank_probabilities(decision, probabilities):
    """Leave classes ranked, counted from 0, the likeliest first."""
    ranked, values = _ranks_of(decision, uint64(len(probabilities)))
    for k in range(len(probabilities)):
        ranked[k], values[k] = k, -probabilities[k]
    sort_actions(ranked, values, int64(len(probabilities)))
    for k in range(len(probabilities)):
        values[k] = probabilities[ranked[k]]


@helper
def conclude_classes(example, known, probabilities, importance):
    """Rank classes by probability; the loss is the estimated cost of drawing one. Returns the likeliest."""
    e = example_of(example)
    d = decision_of(example)
    rank_probabilities(d, probabilities)
    e.raw, e.loss = values_of(d)[0], 0.0
    if known > 0:
        e.loss = np.float64(d.cost / d.probability * probabilities[known - 1] * importance)
    return np.float32(ranked_of(d)[0]) + _1


@helper
def judge_costs(example, importance, action):
    """The cost of the class chosen; writes what it costs above the cheapest as the loss."""
    e, cost, least = example_of(example), np.float32(0), UNLABELED
    classes, costs = uint32s_at(e.cost_classes, e.cost_count), float32s_at(e.costs, e.cost_count)
    known = False
    for j in range(len(costs)):
        if costs[j] != UNLABELED:
            least, known = min(least, costs[j]), True
            if int64(classes[j]) == action + 1:
                cost = costs[j]
    e.features = e.length
    e.loss = np.float64(cost - least) * np.float64(importance) if known else 0.0
    return cost
