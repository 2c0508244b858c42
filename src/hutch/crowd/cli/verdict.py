"""The sentences that `hutch crowd` ends in, and the command that it proposes."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from hutch.crowd.aggregate import Aggregate, Options, aggregate
from hutch.crowd.cli.options import CrowdOptions
from hutch.crowd.models.model import CrowdModel, State
from hutch.crowd.right import LEAST_GOLD, Right, counted, hidden
from hutch.crowd.verdict import Findings, findings, verdict
from hutch.shell.sentences import Verdict, next_command

_ASKED = 50


def verdict_on(
    given: CrowdOptions,
    result: Aggregate,
    model: CrowdModel,
    options: Options,
    history: State | None,
    truth: NDArray[np.int32] | None,
) -> Verdict:
    """What the labels show.

    Args:
        given: the options of the command.
        result: of its aggregation.
        model, options, history: that made it.
        truth: classes of `--score` (items), -1 where they are not known; None without it.
    """
    found = findings(result, known_right(result, model, options, history, truth))
    return verdict(found, _command(given, found))


def known_right(
    result: Aggregate,
    model: CrowdModel,
    options: Options,
    history: State | None,
    truth: NDArray[np.int32] | None,
) -> Right | None:
    """How many labels of tasks with a known class are right; None if too few classes are known.

    Arguments as of `verdict_on`.
    """
    if truth is not None and (truth >= 0).sum() >= LEAST_GOLD:
        return counted(result, truth)
    if options.test or options.method == "online" or options.shards > 1:
        return None
    share = hidden(result.labels, partial(aggregate, model=model, options=options, history=history))
    return None if share is None else counted(result, result.labels.gold, share)


def _command(given: CrowdOptions, found: Findings) -> str:
    """The next command to type: gold where nothing is known, else a look at guessers, then at open tasks."""
    if found.right.why and not given.gold and found.tasks:
        return next_command("--gold", "gold.tsv")
    if found.guessers and not given.workers:
        return next_command("--workers", "workers.tsv")
    if found.unsettled and not given.next and given.method != "online":
        return next_command("--next", str(min(_ASKED, found.unsettled)))
    return "" if given.predictions or not found.tasks else next_command("-p", "answers.tsv")
