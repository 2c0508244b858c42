"""Predictions in the forms that Vowpal Wabbit has for scores, costs, named classes and label requests."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.chain import Chain
from hutch.core.batch import Batch, ends_of_groups
from hutch.core.chain.capabilities import FindsArcs, FindsTopics, SearchesLabels, has
from hutch.core.chain.engine import Outputs
from hutch.core.chain.reduction import Predictions
from hutch.core.kernel.abi import UNLABELED
from hutch.core.run.decisions import tail
from hutch.core.run.output import Lines, class_lines, number_lines, predictions_of
from hutch.vw.number_lines import is_of_numbers, number_prediction_lines


def layer_named(chain: Chain, *names: str) -> Any:
    """The first layer with one of these names, None without one."""
    return next((layer for layer in chain.layers if layer.name in names), None)


class FirstClass:
    """Reports for each example whether classes counted from 0 or from 1 when it was predicted.

    Args:
        chain: VW's reductions of classes detect it from the first label that determines it.
        late: that label does not yet count for its own example.
    """

    def __init__(self, chain: Chain, *, late: bool) -> None:
        self._layer = layer_named(
            chain, "one_against_all", "cost_sensitive_one_against_all", "multilabel_one_against_all"
        )
        self._late = late
        self._before = self._now()

    def _now(self) -> int:
        return int(self._layer.state["first"][0]) if self._layer is not None else 1

    def of(self, batch: Batch) -> Iterator[int]:
        """The smallest class at each example of a batch that was just run."""
        before, now = self._before, self._now()
        self._before = now
        turn = 0 if before == now else self._turn(batch)
        for i in range(len(batch)):
            yield 0 if (before if i < turn else now) == 0 else 1

    def _turn(self, batch: Batch) -> int:
        """The first example for which the detected class counts."""
        classes = self._layer.parameters.classes
        if len(batch.cost_ptr) > 1:
            place = int(np.argmax(np.isin(batch.cost_classes, (0, classes))))
            return int(np.searchsorted(batch.cost_ptr, place, side="right")) - 1
        return int(np.argmax(np.isin(batch.labels, (0, classes)))) + self._late


def class_name(number: int, names: Sequence[str]) -> str:
    """The name of a class, its number if it has none."""
    return names[number - 1] if 0 < number <= len(names) else str(number)


def scores_of(chain: Chain, names: Sequence[str]) -> Lines:
    """`--scores` and `--probabilities`: `1:0.5 2:-0.25`, by name where classes have names."""
    first = FirstClass(chain, late=False)

    def lines(batch: Batch, outputs: Outputs) -> bytes:
        found = []
        for i, smallest in enumerate(first.of(batch)):
            words = (
                f"{class_name(k + smallest, names)}:{score:g}" for k, score in enumerate(outputs.scores[i].tolist())
            )
            found.append(" ".join(words).encode() + tail(batch, i))
        return b"".join(found)

    return lines


def raw_scores_of(chain: Chain) -> Lines:
    """`-r` of one against all; where classes count from 0 the last one comes first, as in VW."""
    from hutch.core.run.predictions import score_lines

    first = FirstClass(chain, late=True)

    def lines(batch: Batch, outputs: Outputs) -> bytes:
        ones = list(first.of(batch))
        if all(ones):
            return score_lines(outputs.scores, batch.tag_ptr, batch.tags)
        found = []
        for i, smallest in enumerate(ones):
            scores = outputs.scores[i].tolist()
            scores = scores if smallest else [scores[-1], *scores[:-1]]
            words = "".join(f" {k + smallest}:{score:g}" for k, score in enumerate(scores))
            found.append(words.encode() + tail(batch, i))
        return b"".join(found)

    return lines


def costs_of(chain: Chain) -> Lines:
    """`-r` of cost-sensitive classes: the costs predicted of the classes that the label names."""
    first = FirstClass(chain, late=False)

    def lines(batch: Batch, outputs: Outputs) -> bytes:
        found = []
        for i, smallest in enumerate(first.of(batch)):
            classes = batch.cost_classes[batch.cost_ptr[i] : batch.cost_ptr[i + 1]].tolist()
            width = outputs.scores.shape[1]
            known = [c for c in classes if 0 <= c - smallest < width]
            words = (f"{c}:{outputs.scores[i, c - smallest]:g}" for c in known)
            found.append(" ".join(words).encode() + tail(batch, i))
        return b"".join(found)

    return lines


def requests(batch: Batch, outputs: Outputs) -> bytes:
    """`--active`: the prediction, the tag, and the importance of the label if it is asked for."""
    found = []
    for i, (prediction, query) in enumerate(zip(outputs.predictions.tolist(), outputs.queries.tolist(), strict=True)):
        asked = f" {query:.6f}" if query >= 0 else ""
        found.append(f"{prediction:.6f} ".encode() + batch.tag(i) + asked.encode() + b"\n")
    return b"".join(found)


def is_query(batch: Batch, i: int) -> bool:
    """Whether `--active --direct` answers a line with the importance of its label: its tag begins with `query?`."""
    return bool(batch.labels[i] == UNLABELED) and batch.tag(i).startswith(b"query?")


def answers(batch: Batch, outputs: Outputs) -> NDArray[np.float32]:
    """`--active --direct`: predictions, and for queries the importance of the label, or -1."""
    asks = [is_query(batch, i) for i in range(len(batch))]
    return np.where(asks, outputs.queries, outputs.predictions).astype(np.float32)


def bounded(batch: Batch, outputs: Outputs) -> bytes:
    """`--bootstrap`: the prediction, the tag, and the least and the greatest prediction of all models."""
    found = []
    for i, (prediction, own) in enumerate(zip(outputs.predictions.tolist(), outputs.scores.tolist(), strict=True)):
        found.append(f"{prediction:.6f}".encode() + tail(batch, i)[:-1] + f" {min(own):.6f} {max(own):.6f}\n".encode())
    return b"".join(found)


def confident(batch: Batch, outputs: Outputs) -> bytes:
    """`--confidence`: the prediction, its confidence, and the tag."""
    found = []
    for i, (p, (confidence,)) in enumerate(zip(outputs.predictions.tolist(), outputs.scores.tolist(), strict=True)):
        found.append(f"{p:.6f} {confidence:.6f} ".encode() + batch.tag(i) + b"\n")
    return b"".join(found)


def policy_values_of(chain: Chain) -> Lines:
    """`--multiworld_test`: the class predicted, where one is, and the estimate of each policy met so far."""
    learns = chain.layers[0].parameters.learns != "nothing"

    def lines(batch: Batch, outputs: Outputs) -> bytes:
        found = []
        for i, values in enumerate(outputs.scores):
            words = [f"{int(outputs.predictions[i])}"] if learns else []
            words += [f"{value:g}" for value in values[~np.isnan(values)].tolist()]
            found.append(" ".join(words).encode() + tail(batch, i))
        return b"".join(found)

    return lines


def finds_topics(chain: Chain) -> bool:
    """Whether predictions are the topics of documents."""
    return has(chain.layers[-1], FindsTopics)


def is_bounded(chain: Chain) -> bool:
    """Whether predictions are written by functions such as `bounded` or `confident`, which need scores."""
    if chain.layers[0].name == "policy_values" or finds_topics(chain):
        return True
    return layer_named(chain, "bootstrap", "confidence") is not None and chain.predicts.value == "scalar"


def writes_numbers(chain: Chain, given: Namespace) -> bool:
    """Whether `prediction_lines` writes the predictions alone, each with its tag."""
    several = chain.predicts.of_actions or chain.predicts is Predictions.LABELS or given.top
    other = several or is_of_numbers(chain) or given.scores or given.probabilities or given.named_labels
    active = layer_named(chain, "active")
    return not (other or is_bounded(chain) or (active is not None and not active.simulation))


def prediction_lines(chain: Chain, given: Namespace) -> Lines:
    """The writer of `-p`, and of a daemon's answers.

    Args:
        chain: makes the predictions.
        given: the command line.
    """
    labels = given.named_labels.split(",") if given.named_labels else []
    active = layer_named(chain, "active")
    if chain.layers[0].name == "policy_values":
        return policy_values_of(chain)
    if finds_topics(chain):
        from hutch.vw.topics import topic_lines

        return topic_lines
    if chain.takes.of_lines:
        return partial(block_lines, chain.layers[0], labels)
    if chain.predicts.of_actions:
        from hutch.vw.decision_lines import decision_prediction_lines

        return decision_prediction_lines(chain)
    if is_of_numbers(chain):
        return number_prediction_lines(chain)
    if given.top is not None:
        return partial(best_last, given.top)
    if has(chain.layers[0], SearchesLabels):
        from hutch.vw.label_trees import tree_lines

        return tree_lines(chain, sure=given.probabilities)
    if chain.predicts is Predictions.LABELS and not given.probabilities:
        from hutch.core.run.labels import label_lines

        return label_lines(chain, blank=True)
    if given.scores or given.probabilities:
        return scores_of(chain, labels)
    if labels:
        return class_lines(labels)
    if is_bounded(chain):
        return confident if chain.layers[0].name == "confidence" else bounded
    if active is not None and not active.simulation:
        return number_lines(answers) if given.direct else requests
    return number_lines(predictions_of)


def block_lines(layer: Any, labels: Sequence[str], batch: Batch, outputs: Outputs) -> bytes:
    """`--search`: the classes of a block's lines, its only one, or lines `head:label`; then the tag of its first line.

    Args:
        layer: that searches.
        labels: names of classes; empty for numbers.
        batch, outputs: blocks of lines, and the predictions of these.
    """
    found, start = [], 0
    for stop in ends_of_groups(batch).tolist():
        if has(layer, FindsArcs):
            arcs = layer.arcs(outputs.predictions[start:stop], outputs.raw[start:stop]).tolist()
            found.append("".join(f"{head}:{label}\n" for head, label in arcs).encode() + tail(batch, start))
            start = stop
            continue
        classes = outputs.predictions[start : start + 1 if layer.of_blocks else stop].tolist()
        names = labels if layer.name == "search_sequence" else ()
        words = [class_name(int(one), names) for one in classes if one]  # an edge of a graph has no class
        text = " ".join(words) + ("" if layer.name == "search_maximum" else " ")
        found.append(text.encode() + tail(batch, start))
        start = stop
    return b"".join(found)


def best_last(count: int, batch: Batch, outputs: Outputs) -> bytes:
    """`--top`: the highest predictions of each group, the best last, and an empty line."""
    from hutch.core.run.best import best_rows

    found = []
    for rows in best_rows(batch, outputs, count):
        found += [(b"%.6f " % outputs.predictions[row]) + tail(batch, row)[:-1] + b" \n" for row in rows]
        found.append(b"\n")
    return b"".join(found)
