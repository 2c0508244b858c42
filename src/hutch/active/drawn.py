"""The labels of a store as a sample of its pool: the number of items of the pool that each label represents."""

from collections import Counter
from collections.abc import Mapping

from hutch.core.errors import UsageError, at
from hutch.crowd.data.labels import Labels, from_triples
from hutch.durable.store import Store


def labels_drawn(store: Store) -> tuple[Labels, dict[str, float], int]:
    """The answers of people, and the probability with which each item was drawn over all rounds.

    A round draws each item of the remaining pool with a probability P. With its labels each weighing 1 / P, and
    those of earlier rounds 1, it measures the whole pool; the mean of these measurements, round r counting as many
    times as it has labelled items, lambda_r, gives an item of round r the weight lambda_r / P + sum of lambda_s over
    later rounds s. Its inverse is the probability. Requests without an answer are left out as if their rounds had been
    drawn with so many fewer; that is right if the order of the answers does not depend on the label.

    Args:
        store: filled by `hutch active ask`, `run` or `serve`.

    Returns:
        The labels, the probability of each item by id, and the number of items.

    Raises:
        UsageError: nobody has answered, the pool was not the same in all rounds, or a rule always asked for some items
            and never for the others.
    """
    place = str(store.path)
    rows = store.labels("r.round, r.id, r.probability, l.worker, l.label")
    if not rows:
        raise UsageError(at(place, None, None, "got no labels, wanted answers to requests"))
    rounds, asked = dict(store.rounds()), {number: all_ for number, _, all_ in store.progress_by_round()}
    total, before = rounds[min(asked)].examples, 0
    for number in sorted(asked):
        if rounds[number].examples + before != total:
            got = f"{rounds[number].examples} lines, where {total - before} were left of {total}"
            raise UsageError(at(place, None, None, f"round {number}: drawn from {got}; wanted one pool for all rounds"))
        before += asked[number]
    drawn = {item: (number, probability) for number, item, probability, _, _ in rows}
    if total > before and all(probability == 1 for _, probability in drawn.values()):
        text = f"every request has probability 1, but {total - before} lines have never been asked for"
        raise UsageError(at(place, None, None, f"{text}; wanted a rule that asks by chance, such as budget"))
    labels = from_triples((worker, item, label) for _, item, _, worker, label in rows)
    return labels, over_rounds(drawn, asked), total


def over_rounds(drawn: Mapping[str, tuple[int, float]], asked: Mapping[int, int]) -> dict[str, float]:
    """The probability of each labelled item over all rounds; see `labels_drawn`.

    Args:
        drawn: item -> (its round, the probability with which that round drew it from the remaining pool).
        asked: round -> number of items it drew, labelled or not.

    >>> over_rounds({"a": (1, 0.2), "b": (2, 0.25)}, {1: 1, 2: 1})  # weights (1 / 0.2 + 1) / 2 and (1 / 0.25) / 2
    {'a': 0.3333333333333333, 'b': 0.5}
    """
    labelled = Counter(number for number, _ in drawn.values())
    later = {number: sum(labelled[other] for other in labelled if other > number) for number in labelled}
    chances = {}
    for item, (number, probability) in drawn.items():
        share = labelled[number] / asked[number]
        weight = (labelled[number] / (probability * share) + later[number]) / len(drawn)
        chances[item] = min(1 / weight, 1.0)
    return chances
