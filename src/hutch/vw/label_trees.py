"""Labels found by a tree, in Vowpal Wabbit's forms and order, and what it says of them where it only tests."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.chain import Chain
from hutch.core.batch import Batch
from hutch.core.chain.engine import Outputs
from hutch.core.run.decisions import number_text, tail
from hutch.core.run.output import Lines
from hutch.core.run.passes import PassesDone
from hutch.core.run.progress import PlainCells
from hutch.core.run.run import Reporter, Run


class _Order:
    """The order in which VW writes labels: the best first, or as the search comes to them.

    Args:
        chain: with the tree on top.
    """

    def __init__(self, chain: Chain) -> None:
        top: Any = chain.layers[0]
        self._first, self._best = top.parameters.first_class, bool(top.parameters.best)
        self._least = np.float32(top.answers.decision_threshold)
        self._places = np.argsort(np.array(top.order()) - self._first)

    def found(self, scores: NDArray[np.float32]) -> list[tuple[int, float]]:
        """The labels predicted of an example, and their probabilities.

        Args:
            scores: of all labels.
        """
        labels = np.flatnonzero(scores > self._least)
        by = -scores[labels] if self._best else self._places[labels]
        labels = labels[np.argsort(by, kind="stable")]
        return list(zip((labels + self._first).tolist(), scores[labels].tolist(), strict=True))


def tree_lines(chain: Chain, *, sure: bool) -> Lines:
    """`-p` of `--plt`: the labels of each example with commas between; `sure`: each with its probability."""
    order = _Order(chain)

    def lines(batch: Batch, outputs: Outputs) -> bytes:
        texts = []
        for i, scores in enumerate(outputs.scores):
            words = (f"{label}:{number_text(score)}" if sure else str(label) for label, score in order.found(scores))
            texts.append((",".join(words) + " " * (not sure)).encode() + tail(batch, i))
        return b"".join(texts)

    return lines


def introduction(chain: Chain, learns: bool) -> list[str]:
    """The lines by which VW introduces the tree."""
    p: Any = chain.layers[0].parameters
    tested = [f"top_k = {p.best}"] if p.best else [f"threshold = {p.threshold:g}"]
    return [f"PLT k = {p.classes}", f"kary_tree = {p.arity}", *([] if learns else tested)]


class TreeCells(PlainCells):
    """Shows the labels predicted in VW's order.

    Args:
        chain: with the tree on top.
    """

    def __init__(self, chain: Chain) -> None:
        super().__init__(chain)
        self._order = _Order(chain)

    def prediction(self, batch: Batch, i: int, outputs: Outputs) -> str:
        """See `hutch.core.run.progress.Cells`."""
        return ",".join(str(label) for label, _ in self._order.found(outputs.scores[i]))


class TreeMeasures(Reporter):
    """Says how many of the labels predicted are right, and how many of the right ones are predicted.

    Args:
        chain: with the tree on top.
    """

    scores = True

    def __init__(self, chain: Chain) -> None:
        self._top: Any = chain.layers[0]
        self._order = _Order(chain)
        self._right = self._wrong = self._missed = self._count = 0
        self._precision, self._recall = (np.zeros(self._top.parameters.best) for _ in range(2))

    def see(self, run: Run, batch: Batch, outputs: Outputs) -> None:
        """See `Reporter`."""
        p = self._top.parameters
        if run.options.learn or run.options.quiet:
            return
        for i, scores in enumerate(outputs.scores):
            given = batch.cost_classes[batch.cost_ptr[i] : batch.cost_ptr[i + 1]].tolist()
            if not given:
                continue
            true = {label for label in given if p.first_class <= label < p.first_class + p.classes}
            hits = np.array([label in true for label, _ in self._order.found(scores)], np.float64)
            self._count += 1
            self._right += int(hits.sum())
            self._wrong += len(hits) - int(hits.sum())
            self._missed += len(true) - int(hits.sum())
            if p.best:
                known = np.cumsum(np.pad(hits, (0, p.best - len(hits))))
                self._precision += known / np.arange(1, p.best + 1)
                self._recall += known / max(len(true), 1)

    def close(self, run: Run, done: PassesDone) -> None:
        """See `Reporter`."""
        if not self._count:
            return
        for k, (precision, recall) in enumerate(zip(self._precision, self._recall, strict=True), 1):
            run.notes.say(f"p@{k} = {precision / self._count:.6f}")
            run.notes.say(f"r@{k} = {recall / self._count:.6f}")
        if not len(self._precision):
            run.notes.say(f"hamming loss = {(self._wrong + self._missed) / self._count:.6f}")
            with np.errstate(invalid="ignore"):
                right, wrong, missed = map(np.float64, (self._right, self._wrong, self._missed))
                run.notes.say(f"micro-precision = {right / (right + wrong):.6f}")
                run.notes.say(f"micro-recall = {right / (right + missed):.6f}")
