"""`hutch crowd --pairs`: strengths from votes on pairs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from hutch.core.errors import UsageError, did_you_mean
from hutch.core.strict_json import dumps
from hutch.crowd.cli.options import CrowdOptions
from hutch.crowd.cli.summary import named
from hutch.shell.sentences import Verdict, next_command

if TYPE_CHECKING:
    from hutch.crowd.data.values import Problems
    from hutch.crowd.pairs.model import PairModel
    from hutch.crowd.pairs.report import Tally
    from hutch.crowd.pairs.state import PairState

_METHODS = ("batch", "online")


def run(options: CrowdOptions, method: str) -> None:
    """Learn votes on pairs, and report.

    Args:
        options: of the command.
        method: batch or online.
    """
    from hutch.core.atomic import check_outputs
    from hutch.core.run.output import is_stdout, open_output
    from hutch.crowd.data.values import Problems
    from hutch.crowd.pairs import report
    from hutch.crowd.pairs.islands import warning
    from hutch.crowd.pairs.summary import in_groups
    from hutch.crowd.pairs.verdict import sentences
    from hutch.crowd.pairs.votes import read_votes

    if is_stdout(options.predictions) and is_stdout(options.workers):
        raise UsageError("-p, --workers: got standard output for both, wanted a file for one")
    check_outputs((options.predictions, options.workers, options.final), [options.labels])
    problems = Problems()
    model, state, tally, extra = _learned(options, method, problems)
    for line in problems.lines(options.labels):
        options.notice(line)
    groups = [] if options.initial else tally.compared.groups([*state.players])  # earlier votes are not known
    if len(groups) > 1:
        print(f"{options.labels}: {warning(groups, report.votes_of(state, tally))}", file=sys.stderr)
    if options.predictions:
        with open_output(options.predictions) as file:
            report.write_columns(file, report.strength_columns(state, tally, groups))
    if options.workers:
        with open_output(options.workers) as file:
            report.write_columns(file, report.worker_columns(model, state, tally))
    if options.final:
        state.save(options.final)
    summary = (
        {"read_as": tally.form} | report.summary(model, method, state, tally) | {"left_out": problems.total} | extra
    )
    if options.score:
        summary["score"] = report.score(
            model, state, read_votes(options.score, state.features, options.columns, options.encoding)
        )
    summary |= in_groups(state, tally, groups)
    if options.next:
        summary["next"] = report.next_pairs(state, tally, options.next)
    rows = summary["strengths"]
    said = sentences(rows, int(tally.outcomes.sum()), *report.about_sides(state, tally))
    command = next_command("--next", "10") if rows and not options.next and options.labels != "-" else ""
    summary |= Verdict(said, command).as_json()
    text = dumps(summary) if options.json else "\n".join(lines_of(summary))
    print(text, file=sys.stderr if is_stdout(options.predictions) or is_stdout(options.workers) else sys.stdout)


def _learned(
    options: CrowdOptions, method: str, problems: Problems
) -> tuple[PairModel, PairState, Tally, dict[str, Any]]:
    """The model, its state, the counts, and further lines of the summary."""
    from hutch.crowd.pairs.model import create
    from hutch.crowd.pairs.report import Tally, learn_blocks, score
    from hutch.crowd.pairs.state import PairState
    from hutch.crowd.pairs.votes import read_votes, vote_blocks

    features = None if options.features is None else [name for name in options.features.split(",") if name]
    if method not in _METHODS:
        raise UsageError(f"--method: got {method!r}; {did_you_mean(method, _METHODS)}")
    state = PairState.load(options.initial) if options.initial else None
    if state and options.model not in (None, state.model):
        raise UsageError(f"--model: got {options.model}, but {options.initial} was made with {state.model}")
    model = create(state.model if state else options.model)
    if state:
        features = state.features if features is None else features
    source = (options.labels, features, options.columns, options.encoding, problems)
    if state:
        if options.test:
            votes = read_votes(*source)
            tally = Tally()
            tally.add(votes, state)
            return model, state, tally, score(model, state, votes)
        if method == "batch":
            raise UsageError("-i: batch fits all votes at once; wanted --method online, or -t to score only")
    if method == "online":
        learned, tally = learn_blocks(model, state, vote_blocks(*source))
        return model, learned or model.start(features or []), tally, {}
    votes = read_votes(*source)
    fit = model.fit(votes)
    tally = Tally()
    tally.add(votes, fit.state)
    return model, fit.state, tally, {"iterations": fit.iterations, "objective": fit.objective}


def lines_of(summary: dict[str, Any]) -> list[str]:
    """The summary for people."""
    tables = ("strengths", "next", "score", "groups", "bridges", "verdict", "next_command")
    plain = {name: value for name, value in summary.items() if name not in tables} | summary.get("score", {})
    lines = [named(name, value, "not known") for name, value in plain.items()]
    rows = summary["strengths"]
    width = max((len(row["player"]) for row in rows), default=0)
    if rows:
        lines += ["", f"{'player':<{width}}  strength  95 % interval"]
    group = 1
    for row in rows:
        if row.get("group", 1) != group:
            group = row["group"]
            lines += ["", "never compared with those above"]
        interval = f"{row['low']:z6.3f} to {row['high']:z6.3f}"
        lines.append(f"{row['player']:<{width}}  {row['strength']:z8.3f}  {interval}")
    if summary.get("next"):
        lines += ["", "ask next"]
        lines += [f"{row['left']}  {row['right']}  {row['gain']:.4f} nats" for row in summary["next"]]
    return [*lines, *Verdict.of_json(summary).lines()]
