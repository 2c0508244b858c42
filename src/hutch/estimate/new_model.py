"""`hutch estimate ANSWERS --new MODEL`: which questions to have judged, and a new model's score from their answers."""

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hutch.benchmark.answers import read_answers
from hutch.benchmark.estimate import Estimate
from hutch.benchmark.judged import read_judged, write_judged
from hutch.benchmark.session import BY_PEOPLE, Session
from hutch.benchmark.verdict import share, verdict
from hutch.core.atomic import check_writable
from hutch.core.errors import DataError, UsageError
from hutch.crowd.cli.summary import named
from hutch.shell.sentences import Verdict, names, things, typed_command

ASKED = 30
"""Questions drawn at a time, unless one says how many."""


@dataclass(frozen=True)
class Asked:
    """What is asked of a benchmark.

    Attributes:
        new: names of the new models.
        judged: path of the file of drawn questions.
        ask: questions to draw once none waits for an answer; 0: none.
        check: share of them that people are to check, because the answers are a judge's.
        against: model to compare with; None: the score itself.
        by: column of groups; empty: none.
        width: half-width at which to draw no more; None: go on.
        expected: intervals hold at every look, and are narrowest at so many labels; None: for one look.
        confidence: of the intervals.
        seed: of the draws.
    """

    new: Sequence[str]
    judged: str
    ask: int = ASKED
    check: float = 0.0
    against: str | None = None
    by: str = ""
    width: float | None = None
    expected: int | None = None
    confidence: float = 0.95
    seed: int = 0


def estimate_new(answers: str, asked: Asked) -> tuple[dict[str, Any], Verdict]:
    """Take the answers that people filled in, estimate, and draw the next questions into the same file.

    Args:
        answers: path of the earlier models' answers.
        asked: what is asked.

    Returns:
        The figures by name, and the verdict.

    Raises:
        DataError: a place in a file is wrong.
        UsageError: an unknown model.
    """
    if os.path.exists(asked.judged) and os.path.exists(answers) and os.path.samefile(asked.judged, answers):
        raise UsageError(f"--judged: got {asked.judged}, the file of the earlier answers, wanted another one")
    check_writable(asked.judged)
    session = Session.of(read_answers(answers, asked.by), asked.new, asked.seed)
    if os.path.exists(asked.judged):
        read_judged(session, asked.judged)
    _check_against(session, asked.against)
    rows = [*_estimates(session, asked)]
    whole = [found for _, group, found in rows if group is None]
    narrow = asked.width is not None and all(found.labels and found.half_width <= asked.width for found in whole)
    before = len(session.rounds)
    if asked.ask and not narrow and not len(session.open_checks):
        session.ask(asked.ask, asked.check)
    if len(session.rounds) > before:
        write_judged(session, asked.judged)
    return _summary(session, asked, rows), _verdict(session, asked, rows, narrow)


def lines_of(summary: dict[str, Any]) -> list[str]:
    """A summary for people: the figures, and a line for each estimate if there are several."""
    found = summary["estimates"]
    shown = ("questions", "earlier_models", "judged", "waiting", "checks_by_people", "checks_waiting", "confidence")
    figures = {name: summary[name] for name in shown if name in summary}
    lines = [named("not_read", f"{names(summary['not_read'])}: words")] if summary["not_read"] else []
    lines += [named(name, f"{value:.3g}" if name == "confidence" else value) for name, value in figures.items()]
    if len(found) < 2:
        return lines
    heads = ("model", "group", "score", "judged", "of")
    table = [heads] + [
        (row["model"], row["group"] or "(all)", row["shown"], str(row["labels"]), str(row["questions"]))
        for row in found
    ]
    drop = {1} if all(row["group"] is None for row in found) else set()
    drop |= {0} if len({row["model"] for row in found}) == 1 else set()
    kept = [[cell for place, cell in enumerate(row) if place not in drop] for row in table]
    widths = [max(map(len, column)) for column in zip(*kept, strict=True)]
    rows = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in kept)
    return [*lines, "", *rows]


def _check_against(session: Session, against: str | None) -> None:
    if against is not None and against in session.models and len(session.models) < 2:
        raise UsageError(f"--against: got {against!r}, the new model, wanted another one")


def _estimates(session: Session, asked: Asked) -> Iterator[tuple[str, str | None, Estimate]]:
    """The model, the group and the estimate, of all questions first."""
    groups = [None, *(name for name in dict.fromkeys(session.earlier.groups) if name)]
    for at, model in enumerate(session.models):
        if model == asked.against:
            continue
        for group in groups:
            inside = None if group is None else session.earlier.inside(group)
            yield model, group, session.estimate(at, asked.against, inside, asked.confidence, asked.expected)


def _summary(session: Session, asked: Asked, rows: Sequence[tuple[str, str | None, Estimate]]) -> dict[str, Any]:
    drawn, checked, checks = sum(len(each.drawn) for each in session.rounds), session.checked, len(session.open_checks)
    return {
        "not_read": [*session.earlier.left_out],
        "questions": len(session.earlier.questions),
        "earlier_models": len(session.earlier.models),
        "judged": drawn - len(session.open),
        "waiting": len(session.open),
        **({"checks_by_people": sum(map(len, session.checks)) - checks, "checks_waiting": checks} if checked else {}),
        "confidence": asked.confidence,
        "against": asked.against,
        "estimates": [
            {
                "model": model,
                "group": group,
                "estimate": found.value,
                "low": found.low,
                "high": found.high,
                "labels": found.labels,
                "questions": found.questions,
                "worth_labels": None if math.isnan(found.worth) else found.worth,
                "shown": share(found) if found.labels else "not known",
            }
            for model, group, found in rows
        ],
        "next_questions": [session.earlier.questions[place] for place in session.open.tolist()],
        "judged_file": asked.judged,
    }


def _verdict(session: Session, asked: Asked, rows: Sequence[tuple[str, str | None, Estimate]], narrow: bool) -> Verdict:
    """The scores, and what to do next."""
    whole = [(model, found) for model, group, found in rows if group is None]
    name_it = len(session.models) > 1 or asked.against is not None
    said = [verdict(found, model if name_it else "", asked.against) for model, found in whole][:2]
    if not any(found.labels for _, found in whole):
        said = []
    if asked.confidence != 0.95 and said:
        said[0] = f"{said[0].removesuffix('.')}, with a confidence of {asked.confidence:g}."
    waiting, checks = len(session.open), len(session.open_checks)
    if narrow:
        assert asked.width is not None
        said.append(f"The interval is as narrow as asked, {asked.width:g} to either side: judge no more.")
    elif waiting:
        columns = names(session.models)
        said.append(
            f"{things(waiting, 'question')} {'waits' if waiting == 1 else 'wait'} for an answer: fill in {columns} in"
            f" {asked.judged}, and run the command again."
        )
    if checks and not narrow:
        columns = names([f"{model}{BY_PEOPLE}" for model in session.models])
        said.append(f"{things(checks, 'check')} by people {'is' if checks == 1 else 'are'} missing: fill in {columns}.")
    return Verdict(tuple(said), typed_command() if (waiting or checks) and not narrow else "")


def check_options(given: dict[str, Any]) -> None:
    """Refuse options that do not go with `--new`.

    Args:
        given: by name; those that count as given are true.

    Raises:
        UsageError: one is given.
    """
    for name, value in given.items():
        if value:
            raise UsageError(f"--{name}: cannot be combined with --new")


def check_values(asked: Asked) -> None:
    """Refuse values that are out of range.

    Raises:
        UsageError: one is.
    """
    if asked.width is not None and not 0 < asked.width < 1:
        raise UsageError(f"--width: got {asked.width:g}, wanted a number between 0 and 1")
    if not 0 <= asked.check <= 1:
        raise UsageError(f"--check: got {asked.check:g}, wanted a number from 0 to 1")
    if os.path.isdir(asked.judged):
        raise DataError(f"{asked.judged}: is a directory, wanted a file")
