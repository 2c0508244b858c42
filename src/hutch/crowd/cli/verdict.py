"""The sentences that `hutch crowd` ends in, and the command that it proposes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hutch.crowd.aggregate import Aggregate, Options, aggregate
from hutch.crowd.cli.options import CrowdOptions
from hutch.crowd.models.model import CrowdModel, State
from hutch.crowd.right import LEAST_GOLD, Right, counted, hidden
from hutch.crowd.verdict import Findings, findings, verdict
from hutch.shell.sentences import Verdict, next_command, percent, things

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
    if options.test or options.method == "online":
        return None
    alone = replace(options, shards=1)  # as many labels as `hidden` takes need no shards
    share = hidden(result.labels, partial(aggregate, model=model, options=alone, history=history))
    return None if share is None else counted(result, result.labels.gold, share)


def verdict_in_stream(given: CrowdOptions, found: Findings) -> Verdict:
    """What a stream of labels shows.

    Args:
        given: the options of the command.
        found: by `hutch.crowd.running.Running`.
    """
    if found.right.why and not given.gold and found.tasks:
        return verdict(found, next_command("--gold", "gold.tsv"))
    return verdict(found, "" if given.predictions or not found.tasks else next_command("-p", "answers.tsv"))


def verdict_on_sets(given: CrowdOptions, rights: Mapping[str, Right], more: str = "") -> Verdict:
    """Of which of several labels of a task the fewest answers are right.

    Args:
        given: the options of the command.
        rights: how many answers are right, for each label.
        more: a further sentence.
    """
    told = {name: each for name, each in rights.items() if each.found is not None}
    if told:
        name, worst = min(told.items(), key=lambda pair: pair[1].found or (0.0,))
        share = percent(*worst.found) if worst.found else ""
        of = f"{things(len(told), 'label')}" if len(told) == len(rights) else f"{len(told)} of {len(rights)} labels"
        said = (
            f"Of {of}, {name!r} is answered worst: Hutch's yes or no is right on an estimated {share} of "
            f"{things(worst.tasks, 'task')}."
        )
    else:
        why = next(iter(rights.values())).why
        said = f"Cannot tell how many labels are right, because {why}: give some tasks as gold."
    command = "" if given.predictions else next_command("-p", "labels.tsv")
    return Verdict(tuple(filter(None, (said, more))), command)


def _command(given: CrowdOptions, found: Findings) -> str:
    """The next command to type: gold where nothing is known, else a look at guessers, then at open tasks."""
    if found.right.why and not given.gold and found.tasks:
        return next_command("--gold", "gold.tsv")
    if found.guessers and not given.workers:
        return next_command("--workers", "workers.tsv")
    if found.unsettled and not given.next and given.method != "online":
        return next_command("--next", str(min(_ASKED, found.unsettled)))
    return "" if given.predictions or not found.tasks else next_command("-p", "answers.tsv")
