"""What an aggregation found, in three sentences: how many labels are right, who guesses, and what is open."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hutch.crowd.choice import MOST_CELLS
from hutch.crowd.data.labels import Labels
from hutch.crowd.models.model import Array
from hutch.crowd.report import TOO_FEW
from hutch.crowd.right import Inferred, Right, estimated
from hutch.shell.sentences import Verdict, names, number, percent, things

GUESSES = 0.95
"""Probability of spam from which a worker counts as guessing."""
SETTLED = 0.7
"""Probability of its label from which a task counts as settled."""
GOLD = 50
"""Number of tasks that an expert is asked to label where labels alone do not show how many are right."""


@dataclass(frozen=True)
class Findings:
    """What the sentences are made from.

    Attributes:
        right: how many labels are right.
        guessers: names of the workers who answer hardly better than chance, those with most labels first.
        unsettled: number of tasks whose label is less probable than `SETTLED`.
        tasks: number of tasks with labels.
        differ: number of tasks whose label is not the majority's.
        judges: workers are declared to be judges, to whom nobody talks.
        judged_by: number of labels that guessers are judged by; 0: all.
    """

    right: Right
    guessers: Sequence[str]
    unsettled: int
    tasks: int
    differ: int
    judges: bool = False
    judged_by: int = 0


def findings(result: Inferred, right: Right | None = None) -> Findings:
    """Find what the sentences are made from.

    Args:
        result: of an aggregation.
        right: counted on tasks with a known class; None: estimated from the labels.
    """
    counts = counts_of(result.labels, result.probability)
    return Findings(right or estimated(result), guessers(result), *counts, judges=result.judges)


def counts_of(labels: Labels, probability: Array) -> tuple[int, int, int]:
    """Numbers of tasks that are not settled, of tasks with labels, and of tasks whose label is not the majority's.

    Args:
        labels: of the tasks; those of a task that a stream has closed may be lost.
        probability: posteriors (items, classes).
    """
    given = labels.ratings > 0
    top = probability[given].max(axis=1, initial=0.0)
    share = labels.vote_share()[given]
    best = probability[given].argmax(axis=1) if share.shape[1] else np.zeros(0, np.int64)
    outvoted = share[np.arange(len(best)), best] < share.max(axis=1, initial=0.0) - 1e-12 if len(best) else best > 0
    return int((top < SETTLED).sum()), int(given.sum()), int(outvoted.sum())


def guessers(result: Inferred) -> list[str]:
    """Workers who answer hardly better than chance; none where the tables of all workers would be large."""
    labels, classes = result.labels, len(result.labels.classes)
    if not len(labels) or len(labels.worker_names) * classes**2 > MOST_CELLS:
        return []
    report = result.report()
    guess = (report.labels >= TOO_FEW) & ((report.spam >= GUESSES) | (report.high < 1 / classes))
    order = np.argsort(-report.labels, kind="stable")
    return [labels.worker_names[w] for w in order[guess[order]].tolist()]


def verdict(found: Findings, command: str = "") -> Verdict:
    """The sentences.

    Args:
        found: by `findings`.
        command: to type next; empty: none.

    >>> from hutch.crowd.right import Share
    >>> right = Right(Share(0.94, 0.92, 0.95), Share(0.87, 0.85, 0.89), 2040)
    >>> verdict(Findings(right, ["w7"], 212, 2040, 300)).sentences[2]
    '212 of 2,040 tasks are not settled, less than 70 % sure.'
    """
    said = [_right(found), _guessers(found)]
    if found.unsettled:
        of = f"{number(found.unsettled)} of " if found.unsettled < found.tasks else "All "
        said.append(f"{of}{things(found.tasks, 'task')} {_be(found.unsettled)} not settled, less than 70 % sure.")
    return Verdict(tuple(filter(None, said)), command)


def _right(found: Findings) -> str:
    right, differ = found.right, found.differ
    if right.found is None:
        if not right.tasks and found.tasks:
            has = (
                "The only task with labels has"
                if found.tasks == 1
                else f"All {number(found.tasks)} tasks with labels have"
            )
            return f"{has} gold: nothing is left to infer but how good the workers are."
        if not right.tasks:
            return "There are no labels."
        some = f"{GOLD} tasks drawn by lot" if right.tasks > GOLD else "these tasks"
        advice = f"label {some} yourself and give them as gold"
        return f"Cannot tell how many labels are right, because {right.why}: {advice}."
    if right.vote is None:
        where = f"of {things(right.tasks, 'task')}"
        return f"Hutch is right on an estimated {percent(*right.found)} {where}; votes on closed tasks are not kept."
    if right.known:
        where = f"On the {things(right.tasks, 'task')} whose class is known"
        return f"{where}, Hutch is right on {percent(*right.found)}, majority voting on {percent(*right.vote)}."
    where = f"of {things(right.tasks, 'task')}"
    if not differ:
        return f"Hutch's labels are those of the majority, right on an estimated {percent(*right.found)} {where}."
    said = f"Majority voting is right on an estimated {percent(*right.vote)} {where}, Hutch on {percent(*right.found)}"
    return f"{said}; they differ on {number(differ)}."


def _guessers(found: Findings) -> str:
    advice = "leave them out" if found.judges else "leave them out or talk to them"
    by = f"Judged by {things(found.judged_by, 'label')}, " if found.judged_by else ""
    several, who = len(found.guessers) > 1, names(found.guessers)
    if several:
        return f"{by}{number(len(found.guessers))} workers ({who}) answer hardly better than chance: {advice}."
    who = f"{'worker' if by else 'Worker'} {who}"
    return f"{by}{who} answers hardly better than chance: {advice}." if found.guessers else ""


def _be(count: int) -> str:
    return "is" if count == 1 else "are"
