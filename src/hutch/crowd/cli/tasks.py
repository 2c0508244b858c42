"""`hutch crowd` with all labels in memory: true labels of tasks, skills of workers, and the next requests."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from hutch.core.data.chunks import Chunks
from hutch.core.errors import DataError, at, counted, did_you_mean
from hutch.core.run.output import open_output
from hutch.crowd import aggregate as aggregation
from hutch.crowd import output
from hutch.crowd.aggregate import Aggregate, Options
from hutch.crowd.cli.model import suited_model
from hutch.crowd.cli.options import CrowdOptions
from hutch.crowd.cli.verdict import verdict_on
from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.degrees import ranks_of
from hutch.crowd.data.labels import Labels, almost_alike, probably_misspelt, restricted
from hutch.crowd.data.values import unsure_in
from hutch.crowd.models.model import CrowdModel, State
from hutch.crowd.models.online import Table
from hutch.crowd.models.ordered import UNKNOWN_LEVEL, has_known_order, level_error
from hutch.crowd.read.labels import ALL_COUNT, THE_LAST_COUNTS, read_gold, read_questions
from hutch.crowd.read.prices import read_prices
from hutch.crowd.returning import Finished, warning
from hutch.shell.sentences import Verdict, typed_command


def run(given: CrowdOptions, model: CrowdModel, options: Options, history: State | None) -> dict[str, Any]:
    """Aggregate the labels, write the requested outputs, and return the summary.

    Args:
        given: the options of the command.
        model: of the crowd.
        options: how it runs.
        history: its state from an earlier run.

    Raises:
        UsageError: options that do not go together.
        DataError: labels or gold that cannot be used.
    """
    prices = read_prices(given.labels, given.read_as) if given.next else {}
    found = _labels(given, model, options, history)
    if len(found) > 1:
        from hutch.crowd.cli.questions import run as run_questions

        return run_questions(given, model, options, found)
    data = next(iter(found.values()))
    model = suited_model(given, model, options, history, data)
    over = returning(given, data, model, options, history)
    result = _aggregate(given, data, model, options, history)
    given.notice_strays(result.labels)
    if result.scale is not None and options.ordered is None:
        span = f"{data.classes[0]} to {data.classes[-1]}"
        given.notice(f"{given.labels}: the classes {span} are taken as ordered; --no-ordered if they are only names")
    elif result.scale is not None and not (given.classes or history or has_known_order(data.classes)):
        order = ", ".join(data.classes)
        given.notice(
            f"{given.labels}: the order of the classes is that of the alphabet: {order}; --classes sets another"
        )
    elif options.ordered is None and ranks_of(data.classes) is not None:
        order = ", ".join(data.classes)
        given.notice(f"{given.labels}: the classes may be degrees: {order}; --ordered if they are")
    if result.scale is not None and model.ordinal:
        shift = level_error(data, result.confusions, result.class_prior, result.scale)
        if shift > UNKNOWN_LEVEL * (result.scale[-1] - result.scale[0]):
            given.notice(
                f"{given.labels}: some workers label higher than others: all values may be shifted by {2 * shift:.2g}, "
                "which low and high do not hold; people whose level counts (--reference) can tell"
            )
    for group in result.copies:
        given.notice(f"{given.labels}: {group.describe(result.labels.worker_names)}")
    if result.doubt:
        given.notice(f"{given.labels}: {result.doubt}; gold (--gold) or people (--reference) can tell")
    truth = _truth(given, given.score, result) if given.score else None
    said = verdict_on(given, result, model, options, history, truth)
    _write(given, result, said)
    if over:
        over.keep(result.fit.state)
    if given.final:
        aggregation.save(given.final, model, options, result.fit.state)
    summary = {"read_as": data.form, "model": model.name, "method": options.method, **output.summary(result)}
    summary |= unsure_in(data.problems, result.unsure)
    summary |= result.events
    if result.events:
        summary["new_classes"] = data.classes[len(history.classes) :] if history else []
    if given.all_judges and model.name in ("two_level", "mixed") and options.method == "batch":
        from hutch.crowd.mixed.worth import worth  # here as below: imported only by runs that need it

        summary["panel"] = worth(data, result.fit.state).summary
        given.notice_one_sided(data)
    if declared := getattr(model.parameters, "reference", ()):
        from hutch.crowd.mixed.model import matches  # here as below: imported only by runs that need it

        summary["reference"] = int(matches(data.worker_names, declared).sum())
    if truth is not None:
        summary["score"] = output.score(result, truth)
    if given.next:
        people = [name for name in (given.ask_of or "").split(",") if name]
        scores = output.label_pool(result)
        summary["next"] = output.next_rows(result, scores, given.next, people, prices)
        summary["unsettled"] = output.pool_rows(result, scores, scores.unsettled(given.next))
    return summary | said.as_json()


def returning(
    given: CrowdOptions, labels: Labels, model: CrowdModel, options: Options, history: State | None
) -> Finished | None:
    """Say which tasks an earlier run had, whatever `quiet` says; all tasks that are over, for the runs that follow.

    None where it does not matter: the model takes labels in any order, or in batch.
    """
    if options.method == "batch" or model.any_order:
        return None
    over = Finished(history)
    if len(again := over.again(labels.item_names)):
        first = labels.item_names[int(again[0])]
        line = line_of(given.labels, first)
        text = warning(first, f"line {line}" if line else "some place", len(again))
        print(f"{given.labels}: {text}", file=sys.stderr)
    if not options.test:
        over.add(labels.item_names)
    return over


def _labels(given: CrowdOptions, model: CrowdModel, options: Options, history: State | None) -> dict[str, Labels]:
    """The labels that count, of each question; reports the others."""
    path = given.labels
    known = history.classes if history else given.class_names
    truth = read_gold(given.gold, given.encoding) if given.gold else None
    files = {name: read_gold(name, given.encoding) for name in (given.gold, given.score) if name}
    asked = ColumnNames.of(given.read_as).keeping(label for each in files.values() for label in each.values())
    online = options.method == "online"
    found = read_questions(path, known, history.worker_names if history else (), truth, asked, online)
    data = next(iter(found.values()))
    for notice in data.notices:
        corrects = online and model.any_order
        given.notice(f"{path}: {notice.replace(ALL_COUNT, THE_LAST_COUNTS) if corrects else notice}")
    for line in data.problems.lines(path):
        given.notice(line)
    given.notice_alike(*found.values())
    for question, labels in found.items():
        _notice_classes(given, labels, question if len(found) > 1 else None)
    if len(found) > 1:
        return found
    if not len(data):
        given.notice(f"{path}: no labels")
    for classes, each in files.items():
        check_classes(classes, each, data, known, asked, given.notice)
    for word in data.problems.unsure:
        if word not in asked.unsure:
            given.notice(f"{path}: {word!r} is no class, unless --classes names it as one")
    if options.test and history:
        data, dropped = restricted(data, len(history.classes))
        if dropped:
            given.notice(f"{path}: ignored labels of classes that the model does not know: {dropped}")
    return {"": data}


def _notice_classes(given: CrowdOptions, labels: Labels, question: str | None) -> None:
    """Tell of classes that may be another one, written otherwise."""
    path, of = given.labels, "" if question is None else f"{question}: "
    given.notice_numbers(labels.classes, of)
    alike = almost_alike(labels.classes)
    for group in alike[:3]:
        names = " and ".join(map(repr, group))
        given.notice(f"{path}: {of}the classes {names} differ only in how they are written; are they the same?")
    if len(alike) > 3:
        given.notice(f"{path}: {of}so do {len(alike) - 3} others")
    counts = np.bincount(labels.labels, minlength=len(labels.classes)).tolist()
    for once, near in probably_misspelt(labels.classes, counts)[:3]:
        number = line_of(path, once) if question is None else None
        mistake = f"is it {near!r}?" if near else "is it a mistake?"
        given.notice(f"{at(path, number, None, f'{of}the class {once!r} stands once')}; {mistake}")


def _aggregate(
    given: CrowdOptions, data: Labels, model: CrowdModel, options: Options, history: State | None
) -> Aggregate:
    """Run the model, over shards if it has some."""
    table = Table(given.notice) if options.method == "online" else None
    if options.shards > 1 or given.ray is not None:
        from hutch.jobs.where import check_places

        check_places(options.shards, given.ray)
    if options.shards > 1 and not options.test:
        from hutch.crowd.sharded import Sharded
        from hutch.jobs.where import engine_for

        with engine_for(options.shards, given.ray) as engine:
            over = Sharded(engine, options.shards)
            result = aggregation.aggregate(data, model, options, history, table, over=over)
    else:
        result = aggregation.aggregate(data, model, options, history, table)
    if table:
        table.finish()
    return result


def _write(given: CrowdOptions, result: Aggregate, said: Verdict) -> None:
    """Write the files that were asked for."""
    if given.predictions:
        with open_output(given.predictions) as file:
            output.write_posteriors(file, result, given.detail)
    if given.workers:
        with open_output(given.workers) as file:
            rows = result.report()
            output.write_workers(file, result, rows)
        for w in rows.contradicted.nonzero()[0].tolist()[:8]:
            right = f"{rows.gold_accuracy[w]:.2f} of {counted(int(rows.gold_labels[w]), 'gold label')}"
            bounds = f"accuracy is from {rows.low[w]:.2f} to {rows.high[w]:.2f}"
            given.notice(
                f"{result.labels.worker_names[w]}: {bounds}, but right is {right}: the crowd errs, or the gold"
            )
    if given.report or given.suspects:
        _write_quality(given, result, said)


def _write_quality(given: CrowdOptions, result: Aggregate, said: Verdict) -> None:
    """Write the report about the labels themselves."""
    from hutch.crowd.quality.page import write_page
    from hutch.crowd.quality.text import quality_of, text_lines, write_suspects
    from hutch.pages.page import Head, is_page

    quality = quality_of(result)
    if given.suspects:
        with open_output(given.suspects) as file:
            write_suspects(file, quality.suspects, result)
    texts = dict[str, str]()
    if given.texts:
        from hutch.crowd.read.texts import read_texts  # not at the top: few reports show texts

        texts, missing = read_texts(given.texts, result.labels.item_names, given.encoding or "")
        if missing:
            given.notice(missing)
    if given.report:
        with open_output(given.report) as file:
            if is_page(given.report):
                top = Head(said.sentences, said.command, typed_command())
                write_page(file, quality, f"Labels of {given.labels}", top, texts)
            else:
                lines = [*text_lines(quality), *said.lines()]
                file.write("".join(f"{line}\n" for line in lines).encode())


def _truth(given: CrowdOptions, path: str, result: Aggregate) -> Any:
    """The classes of a file by item, -1 where they are not known or learned from."""
    data = result.labels
    truth = true_classes(data, read_gold(path, given.encoding))
    if learned := int(((truth >= 0) & (data.gold >= 0)).sum()):
        tasks = counted(learned, "task")
        given.notice(f"{path}: left out of the score: {tasks} also in {given.gold}, which is learned from")
        truth[data.gold >= 0] = -1
    return truth


def true_classes(labels: Labels, truth: dict[str, str]) -> Any:
    """True classes by item, -1 where they are not known or no class of the labels."""
    codes = {name: code for code, name in enumerate(labels.classes)}
    return np.array([codes.get(truth.get(name, ""), -1) for name in labels.item_names], np.int32)


def check_classes(
    path: str,
    truth: dict[str, str],
    labels: Labels,
    known: list[str],
    asked: ColumnNames,
    notice: Callable[[str], None],
) -> None:
    """Look for classes that no label has: they are refused if they look like a misspelling, else reported.

    Raises:
        DataError: with the line of the first, or of one that is not among the classes that are named.
    """
    used = {labels.classes[code] for code in set(labels.labels.tolist())} | set(known)
    for name, count in Counter(truth.values()).items():
        if name in asked.unsure:
            notice(f"{path}: left out: {count} of {name!r}, which is no answer")
            continue
        if wrong := asked.check_class(name):
            raise DataError(at(path, line_of(path, name), None, wrong))
        if name in used or not used:
            continue
        near = did_you_mean(name, used)
        text = at(path, line_of(path, name), None, f"got the class {name!r}, which no label has")
        if near.startswith("did"):
            raise DataError(f"{text}; {near} If not, name all classes with --classes")
        notice(text)


def line_of(path: str, name: str) -> int | None:
    """The first line of a separated text with a field of that name."""
    number = 0
    for chunk in Chunks([path]) if path != "-" else ():
        for line in bytes(chunk.data).decode(errors="replace").splitlines():
            number += 1
            if name in (field.strip('"') for field in line.replace("\t", ",").split(",")):
                return number
    return None
