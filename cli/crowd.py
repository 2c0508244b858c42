"""`hutch crowd`: who labels well, and what is true."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hutch.cli.shell.complete import crowd_models
from hutch.core.errors import ConfigError, DataError, UsageError, at, counted, did_you_mean
from hutch.core.strict_json import dumps

if TYPE_CHECKING:
    from collections.abc import Callable

    from hutch.crowd.aggregate import Aggregate, Options
    from hutch.crowd.data.labels import Labels
    from hutch.crowd.models.model import CrowdModel, State

_METHODS = ("batch", "online")
_SHOWN = (
    "model", "method", "tasks", "workers", "reference", "labels", "classes", "iterations", "objective", "duplicates",
    "contradictions", "left_out", "ties", "krippendorff_alpha", "krippendorff_ordinal", "krippendorff_interval", "gold",
)  # fmt: skip


def crowd(
    labels: Annotated[
        str,
        typer.Argument(
            metavar="LABELS",
            help="Labels: worker TAB task TAB label, CSV, or the export of a labelling tool; - is standard input.",
        ),
    ],
    method: Annotated[
        str | None, typer.Option(metavar="NAME", help="How to infer: batch or online.", show_default="batch")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Name of the crowd model.",
            show_default="two_level, or mixed with a reference",
            autocompletion=crowd_models,
        ),
    ] = None,
    gold: Annotated[
        str | None, typer.Option(metavar="FILE", help="True classes of some tasks: task TAB label.")
    ] = None,
    score: Annotated[
        str | None, typer.Option(metavar="FILE", help="True classes to score against; not learned from.")
    ] = None,
    reference: Annotated[
        list[str] | None,
        typer.Option(
            help="Worker, or glob of workers, whose labels define the classes; all others are judges. Repeatable.",
            metavar="PATTERN",
        ),
    ] = None,
    next_: Annotated[int, typer.Option("--next", min=0, metavar="N", help="List N tasks to label next.")] = 0,
    ask_of: Annotated[
        str | None,
        typer.Option(
            "--ask-of",
            metavar="A,B,...",
            help="With --next: the workers available, separated by commas; names the best one to ask per task, by gain "
            "per price if the labels have a column price.",
        ),
    ] = None,
    posteriors: Annotated[
        str | None,
        typer.Option("-p", "--predictions", metavar="FILE", help="Write posteriors here; - is standard output."),
    ] = None,
    workers: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the worker report here; - is standard output.")
    ] = None,
    judges: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="With a reference: write what each judge is good for here; - is standard output."
        ),
    ] = None,
    report_: Annotated[
        str | None,
        typer.Option(
            "--report", metavar="FILE", help="Write how good the labels are: a page if it ends in .html, else text."
        ),
    ] = None,
    suspects: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the labels that are probably wrong; - is standard output.")
    ] = None,
    initial: Annotated[
        str | None, typer.Option("-i", "--initial-model", metavar="MODEL", help="Continue from a saved model.")
    ] = None,
    final: Annotated[
        str | None, typer.Option("-f", "--final-model", metavar="MODEL", help="Save the model here.")
    ] = None,
    test: Annotated[bool, typer.Option("-t", "--test", help="Only score; do not learn.")] = False,
    passes: Annotated[int, typer.Option(min=1, metavar="N", help="Online: passes over the labels.")] = 1,
    slots: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Online: number of rows of the worker table.", show_default="65536"),
    ] = None,
    stream: Annotated[
        bool,
        typer.Option(
            "--stream", help="Online: read in pieces, in fixed memory; the labels of a task must be adjacent."
        ),
    ] = False,
    shards: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Batch: cut the tasks into N shards, counted in processes.", show_default="1"
        ),
    ] = None,
    ray: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Count the shards on this Ray cluster; auto, local.")
    ] = None,
    classes: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Classes, separated by commas, in this order.")
    ] = None,
    ordered: Annotated[
        bool | None,
        typer.Option(
            "--ordered/--no-ordered",
            help="Classes are ordered: also write mean, median and interval.",
            show_default="if they are 3 to 12 whole numbers",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Set a parameter of the model. Repeatable.")
    ] = None,
    pairs: Annotated[
        bool, typer.Option("--pairs", help="Votes on pairs: worker TAB left TAB right TAB winner; infer strengths.")
    ] = False,
    features: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="With --pairs: columns that say in which context a vote was given.",
            show_default="all further columns",
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="ROLE=NAME,...",
            help="Names of columns or fields: worker, task, label, gold. Labels with globs: one column per worker.",
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print no progress table and no notices.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Infer the true class of every task and the skill of every worker.

    Example: hutch crowd labels.tsv --gold gold.tsv -p posteriors.tsv --workers workers.tsv --next 10
    """
    if pairs:
        from hutch.cli.crowds.pairs import PairOptions, run

        others = {
            "--gold": gold, "--reference": reference, "--ask-of": ask_of, "--slots": slots, "--classes": classes,
            "--set": set_, "--passes": passes > 1, "--shards": shards, "--ray": ray, "--columns": columns,
            "--judges": judges, "--ordered": ordered is not None,
        }  # fmt: skip
        for option, given in others.items():
            if given:
                raise UsageError(f"{option}: does not go with --pairs")
        method = method or ("online" if stream else None)
        run(PairOptions(labels, features, method, model, score, next_, posteriors, workers, initial, final, test, json))
        return
    if features is not None:
        raise UsageError("--features: goes with --pairs")
    from hutch.core.atomic import check_writable
    from hutch.core.plots import require_matplotlib
    from hutch.core.run.output import is_stdout, open_output
    from hutch.crowd import aggregate as aggregation
    from hutch.crowd import output
    from hutch.crowd.data.kinds import reference_workers
    from hutch.crowd.data.labels import read_gold, read_labels, restricted
    from hutch.crowd.data.prices import read_prices
    from hutch.crowd.judges import judges as judges_report
    from hutch.crowd.judges import write_judges
    from hutch.crowd.mixed.model import Mixed, matches
    from hutch.crowd.models.online import Table
    from hutch.crowd.report import report
    from hutch.distributed.crowds import Sharded
    from hutch.distributed.where import check_places, engine_for

    def notice(text: str) -> None:
        if not quiet:
            print(text, file=sys.stderr)

    def show(summary: dict[str, Any]) -> None:
        text = dumps(summary) if json else "\n".join(_lines(summary))
        print(text, file=sys.stderr if any(map(is_stdout, written.values())) else sys.stdout)

    written = {"-p": posteriors, "--workers": workers, "--judges": judges, "--report": report_, "--suspects": suspects}
    if len(several := [option for option, path in written.items() if is_stdout(path)]) > 1:
        raise UsageError(f"{', '.join(several)}: got standard output for all, wanted files but for one")
    if report_ and report_.endswith(".html"):
        require_matplotlib()
    for path in (*written.values(), final):
        if path and not is_stdout(path):
            check_writable(path)
    if ask_of and not next_:
        raise UsageError("--ask-of: goes with --next, which lists the tasks to ask for")
    declared = tuple(reference or ()) or reference_workers(labels, columns)
    chosen, options, history = _model(
        method, model, initial, test, passes, slots, shards, set_ or [], declared, ordered
    )
    known = history.classes if history else [name for name in (classes or "").split(",") if name]
    if stream:
        kept = {
            "--workers": workers,
            "--judges": judges,
            "--report": report_,
            "--suspects": suspects,
            "--next": next_,
            "--score": score,
        }
        for option, given in kept.items():
            if given:
                raise UsageError(f"{option}: a stream keeps no tasks and no workers; leave out --stream")
        show(_stream(labels, columns, known, chosen, options, history, gold, posteriors, final, notice))
        return
    if judges and not (isinstance(chosen, Mixed) and chosen.parameters.reference and options.method == "batch"):
        raise UsageError("--judges: wanted a reference (--reference) and --method batch")
    prices = read_prices(labels, columns) if judges or next_ else {}
    truth_given = read_gold(gold) if gold else None
    data = read_labels(labels, known, history.worker_names if history else (), truth_given, columns)
    if data.form:
        notice(f"{labels}: read as {data.form}")
    for line in data.problems.lines(labels):
        notice(line)
    if not len(data):
        notice(f"{labels}: no labels")
    if data.unmatched_gold:
        notice(f"{gold or labels}: gold without labels: {counted(data.unmatched_gold, 'task')}")
    for path in (gold, score):
        if path:
            _check_classes(path, read_gold(path), data, known, notice)
    if options.test and history:
        data, dropped = restricted(data, len(history.classes))
        if dropped:
            notice(f"{labels}: ignored labels of classes that the model does not know: {dropped}")

    table = Table(notice) if options.method == "online" else None
    check_places(options.shards, ray)
    if options.shards > 1 and not options.test:
        with engine_for(options.shards, ray) as engine:
            over = Sharded(engine, options.shards)
            result = aggregation.aggregate(data, chosen, options, history, table, over=over)
    else:
        result = aggregation.aggregate(data, chosen, options, history, table)
    if table:
        table.finish()
    if result.scale is not None and options.ordered is None:
        span = f"{data.classes[0]} to {data.classes[-1]}"
        notice(f"{labels}: the classes {span} are taken as ordered; --no-ordered if they are only names")
    if posteriors:
        with open_output(posteriors) as file:
            output.write_posteriors(file, result)
    if workers:
        with open_output(workers) as file:
            rows = report(data, result.others(), result.confusions, result.class_prior)
            output.write_workers(file, result, rows)
    if judges and isinstance(chosen, Mixed):
        with open_output(judges) as file:
            write_judges(file, judges_report(result, chosen, prices))
    if report_ or suspects:
        _write_quality(result, labels, report_, suspects)
    if final:
        aggregation.save(final, chosen, options, result.fit.state)

    summary = {"model": chosen.name, "method": options.method, **output.summary(result)}
    if declared := getattr(chosen.parameters, "reference", ()):
        summary["reference"] = int(matches(data.worker_names, declared).sum())
    if score:
        truth = _truth(data, read_gold(score))
        if learned := int(((truth >= 0) & (data.gold >= 0)).sum()):
            notice(f"{score}: left out of the score: {counted(learned, 'task')} also in {gold}, which is learned from")
            truth[data.gold >= 0] = -1
        summary["score"] = output.score(result, truth)
    if next_:
        scores, people = output.label_pool(result), [name for name in (ask_of or "").split(",") if name]
        summary["next"] = output.next_rows(result, scores, next_, people, prices)
        summary["unsettled"] = output.pool_rows(result, scores, scores.unsettled(next_))
    show(summary)


def _write_quality(result: Aggregate, source: str, report: str | None, suspects: str | None) -> None:
    """Write how good the labels are, and those that are probably wrong."""
    from hutch.core.run.output import open_output
    from hutch.crowd.quality.page import write_page
    from hutch.crowd.quality.text import quality_of, text_lines, write_suspects

    quality = quality_of(result)
    if suspects:
        with open_output(suspects) as file:
            write_suspects(file, quality.suspects, result)
    if report:
        with open_output(report) as file:
            if report.endswith(".html"):
                write_page(file, quality, f"Labels of {source}")
            else:
                file.write("".join(f"{line}\n" for line in text_lines(quality)).encode())


def _stream(
    path: str,
    columns: str | None,
    known: list[str],
    model: CrowdModel,
    options: Options,
    history: State | None,
    gold: str | None,
    posteriors: str | None,
    final: str | None,
    notice: Callable[[str], None],
) -> dict[str, Any]:
    """Learn a stream of labels in fixed memory; returns the summary."""
    from contextlib import nullcontext
    from itertools import chain

    from hutch.core.run.output import open_output
    from hutch.crowd import aggregate as aggregation
    from hutch.crowd.data.labels import read_gold
    from hutch.crowd.exports.found import Problems
    from hutch.crowd.label_stream import Totals, label_blocks, run_blocks
    from hutch.crowd.models.online import Table
    from hutch.crowd.models.ordered import scale_of

    if options.method != "online":
        raise UsageError("--stream: wanted --method online; batch models need all labels at once")
    if options.passes > 1 and path == "-":
        raise UsageError("--passes: the labels are read anew in each pass: wanted a file, got standard input")
    truth, table, totals, problems = read_gold(gold) if gold else None, Table(notice), Totals(), Problems()
    blocks = label_blocks(path, known, truth, columns=columns, problems=problems)
    first = next(blocks, None)
    if first is None:
        notice(f"{path}: no labels")
    known = known or (first.classes if first else [])
    learner, scale = model.stream(known, options.slots, history), scale_of(known, options.ordered)
    for number in range(options.passes):
        if number:
            learner.end_pass()
            blocks = label_blocks(path, known, truth, columns=columns)
        pieces = chain([first], blocks) if first and not number else blocks
        last = posteriors if number + 1 == options.passes else None
        with open_output(last) if last else nullcontext() as file:
            totals = run_blocks(learner, pieces, None if options.test else number == 0, table, file, scale)
    table.finish()
    for line in problems.lines(path):
        notice(line)
    if final:
        aggregation.save(final, model, options, learner.state)
    return {
        "model": model.name, "method": "online", "tasks": totals.tasks, "labels": totals.labels, "classes": len(known),
        "class_names": known, "class_prior": learner.class_prior().tolist(), "iterations": options.passes,
        "objective": totals.objective, "left_out": problems.total,
    }  # fmt: skip


def _model(
    method: str | None,
    model: str | None,
    initial: str | None,
    test: bool,
    passes: int,
    slots: int | None,
    shards: int | None,
    settings: list[str],
    reference: tuple[str, ...],
    ordered: bool | None,
) -> tuple[CrowdModel, Options, State | None]:
    """The model, how to run it and what it knows already; a saved model settles what is not given."""
    from hutch.crowd.aggregate import Method, Options, load
    from hutch.crowd.models.online import DEFAULT_SLOTS

    parameters: dict[str, Any] = {}
    history: State | None = None
    if initial:
        saved, history = load(initial)
        for option, given in (("method", method), ("model", model), ("slots", slots)):
            if given is not None and given != saved[option]:
                raise UsageError(f"--{option}: got {given}, but {initial} was made with {saved[option]}")
        method, model, slots, parameters = saved["method"], saved["model"], saved["slots"], saved["parameters"]
        shards = shards or saved.get("shards", 1)
    elif test:
        raise UsageError("-t: nothing to test with; wanted a saved model (-i)")
    method = method or "batch"
    settled = _settings(settings)
    if reference:
        if model not in (None, "mixed"):
            raise UsageError(
                f"--reference, column kind: got model {model}, wanted mixed, which tells people from judges"
            )
        model, settled = "mixed", {"reference": reference} | settled
    if model == "mixed" and ordered is not None:
        settled["ordered"] = ordered
    if method not in _METHODS:
        raise UsageError(f"--method: got {method!r}; {did_you_mean(method, _METHODS)}")
    if method == "online" and (shards or 1) > 1:
        raise UsageError(
            "--shards: wanted --method batch; one stream learns more from the same labels than shards of it"
        )
    chosen = _create(model, parameters | settled)
    kind: Method = "online" if method == "online" else "batch"
    return chosen, Options(kind, passes, slots or DEFAULT_SLOTS, test, shards or 1, ordered), history


def _create(name: str | None, parameters: dict[str, Any]) -> CrowdModel:
    from hutch.crowd.table import BUILT_IN, DEFAULT, create

    models = {model.name: model for model in BUILT_IN}
    if name and name not in models:  # plugins are loaded only if they are asked for
        from hutch.plugins.manager import installed

        models |= installed().registry.crowd_models
    return create(name or DEFAULT, models, **parameters)


def _settings(settings: list[str]) -> dict[str, Any]:
    """NAME=VALUE as a dictionary; values are YAML, and numbers separated by commas a list."""
    import yaml

    parameters: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise ConfigError(f"--set: got {setting!r}, wanted NAME=VALUE")
        parameters[name] = yaml.safe_load(f"[{value}]" if "," in value else value)
    return parameters


def _truth(labels: Labels, truth: dict[str, str]) -> Any:
    """True classes by item, -1 where they are not known or no class of the labels."""
    import numpy as np

    codes = {name: code for code, name in enumerate(labels.classes)}
    return np.array([codes.get(truth.get(name, ""), -1) for name in labels.item_names], np.int32)


def _check_classes(
    path: str, truth: dict[str, str], labels: Labels, known: list[str], notice: Callable[[str], None]
) -> None:
    """Look for classes that no label has: they are refused if they look like a misspelling, else reported.

    Raises:
        DataError: with the line of the first.
    """
    used = {labels.classes[code] for code in set(labels.labels.tolist())} | set(known)
    for name in dict.fromkeys(truth.values()):
        if name in used or not used:
            continue
        near = did_you_mean(name, used)
        text = at(path, _line_of(path, name), None, f"got the class {name!r}, which no label has")
        if near.startswith("did"):
            raise DataError(f"{text}; {near} If not, name all classes with --classes")
        notice(text)


def _line_of(path: str, name: str) -> int | None:
    """The first line of a separated text with a field of that name."""
    from hutch.core.data.chunks import read_chunks

    number = 0
    for chunk in read_chunks([path]) if path != "-" else ():
        for line in bytes(chunk.data).decode(errors="replace").splitlines():
            number += 1
            if name in (field.strip('"') for field in line.replace("\t", ",").split(",")):
                return number
    return None


def _lines(summary: dict[str, Any]) -> list[str]:
    """The summary for people."""
    lines = [f"{name.replace('_', ' '):<20} {_shown(summary[name])}" for name in _SHOWN if name in summary]
    lines += [f"{name.replace('_', ' '):<20} {_shown(value)}" for name, value in summary.get("score", {}).items()]
    titles = {"next": "label next", "unsettled": "further labels will not settle"}
    for name, title in titles.items():
        if name not in summary:
            continue
        lines += ["", f"{title}:" if summary[name] else f"{title}: none"]
        if summary[name]:
            ask = "\task" if "worker" in summary[name][0] else ""
            ask += "\tprice" if "price" in summary[name][0] else ""
            lines.append(f"task\tconfidence\tratings\tgain\tlabels needed{ask}")
        for row in summary[name]:
            needed = "many" if row["labels_needed"] is None else f"{row['labels_needed']:.1f}"
            cells = f"{row['task']}\t{row['confidence']:.3f}\t{row['ratings']}\t{row['gain']:.4f}\t{needed}"
            cells += f"\t{row['worker'] or 'nobody'}" if "worker" in row else ""
            lines.append(cells + (f"\t{row['price']:g}" if "price" in row else ""))
    return lines


def _shown(value: Any) -> str:
    return "undefined" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)
