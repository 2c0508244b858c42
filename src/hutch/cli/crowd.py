"""`hutch crowd`: workers' skills and true labels."""

from dataclasses import replace
from typing import Annotated

from hutch.cli.crowds.options import CrowdOptions
from hutch.cli.options import ray_option
from hutch.cli.shell.declared import Argument, Option
from hutch.core.errors import UsageError


def crowd(
    labels: Annotated[
        str,
        Argument(
            metavar="LABELS",
            help="Labels: worker TAB task TAB label, CSV, or the export of a labelling tool; - is standard input.",
        ),
    ],
    method: Annotated[
        str | None,
        Option(metavar="NAME", help="How to infer: batch or online.", show_default="batch"),
    ] = None,
    model: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="Name of the crowd model.",
            show_default="two_level; mixed with a reference, ordinal with --ordered",
        ),
    ] = None,
    gold: Annotated[str | None, Option(metavar="FILE", help="True classes of some tasks: task TAB label.")] = None,
    score: Annotated[
        str | None, Option(metavar="FILE", help="True classes to score against; not learned from.")
    ] = None,
    reference: Annotated[
        list[str] | None,
        Option(
            help="Worker, or glob of workers, whose labels define the classes; all others are judges. Repeatable.",
            metavar="PATTERN",
        ),
    ] = None,
    all_judges: Annotated[
        bool,
        Option("--all-judges", help="No worker's labels define the classes: all are judges; gold helps."),
    ] = False,
    next_: Annotated[int, Option("--next", min=0, metavar="N", help="List N tasks to label next.")] = 0,
    ask_of: Annotated[
        str | None,
        Option(
            "--ask-of",
            metavar="A,B,...",
            help="With --next: the workers available, separated by commas; names the best one to ask per task, by gain "
            "per price if the labels have a column price.",
        ),
    ] = None,
    predictions: Annotated[
        str | None,
        Option("-p", "--predictions", metavar="FILE", help="Write posteriors here; - is standard output."),
    ] = None,
    detail: Annotated[
        bool,
        Option(
            "--detail", help="With -p: also how easy each task is (beta) and the posterior before calibration (raw)."
        ),
    ] = False,
    workers: Annotated[
        str | None, Option(metavar="FILE", help="Write the worker report here; - is standard output.")
    ] = None,
    report: Annotated[
        str | None,
        Option(
            "--report",
            metavar="FILE",
            help="Write a report on the quality of the labels: a page if FILE ends in .html, else text.",
        ),
    ] = None,
    suspects: Annotated[
        str | None, Option(metavar="FILE", help="Write the labels that are probably wrong; - is standard output.")
    ] = None,
    initial: Annotated[
        str | None, Option("-i", "--initial-model", metavar="MODEL", help="Continue from a saved model.")
    ] = None,
    final: Annotated[str | None, Option("-f", "--final-model", metavar="MODEL", help="Save the model here.")] = None,
    test: Annotated[bool, Option("-t", "--test", help="Only score; do not learn.")] = False,
    passes: Annotated[int, Option(min=1, metavar="N", help="Online: passes over the labels.")] = 1,
    slots: Annotated[
        int | None,
        Option(min=1, metavar="N", help="Online: number of rows of the worker table.", show_default="65536"),
    ] = None,
    stream: Annotated[
        bool,
        Option("--stream", help="Online: read in pieces, in fixed memory; the labels of a task must be adjacent."),
    ] = False,
    shards: Annotated[
        int | None,
        Option(
            min=1, metavar="N", help="Batch: split the tasks into N shards, in parallel processes.", show_default="1"
        ),
    ] = None,
    ray: Annotated[str | None, ray_option("Count the shards")] = None,
    classes: Annotated[
        str | None, Option(metavar="A,B,...", help="Classes, separated by commas, in this order.")
    ] = None,
    ordered: Annotated[
        bool | None,
        Option(
            "--ordered/--no-ordered",
            help="Classes are ordered: also write mean, median and interval; the model is ordinal if none is named.",
            show_default="if they are 3 to 12 whole numbers",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None, Option("--set", metavar="NAME=VALUE", help="Set a parameter of the model. Repeatable.")
    ] = None,
    pairs: Annotated[
        bool, Option("--pairs", help="Votes on pairs: worker TAB left TAB right TAB winner, or JSON; infer strengths.")
    ] = False,
    features: Annotated[
        str | None,
        Option(
            metavar="A,B,...",
            help="With --pairs: columns that say in which context a vote was given.",
            show_default="all further columns",
        ),
    ] = None,
    columns: Annotated[
        str | None,
        Option(
            metavar="ROLE=NAME,...",
            help="Names of columns or fields: worker, task, label, gold; with --pairs worker, left, right, winner. "
            "Labels with globs: one column per worker.",
        ),
    ] = None,
    encoding: Annotated[
        str | None,
        Option(metavar="NAME", help="Encoding of the text, such as cp1252.", show_default="UTF-8"),
    ] = None,
    multi_label: Annotated[
        bool,
        Option(
            "--multi-label", help="A task may have several labels: each is a separate yes or no, reported together."
        ),
    ] = False,
    quiet: Annotated[bool, Option("--quiet", help="Print no progress table and no notices.")] = False,
    json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Infer the true class of every task and the skill of every worker.

    Example: hutch crowd labels.tsv --gold gold.tsv -p posteriors.tsv --workers workers.tsv --next 10
    """
    given = CrowdOptions(
        labels=labels, method=method, model=model, gold=gold, score=score, reference=tuple(reference or ()),
        all_judges=all_judges, next=next_, ask_of=ask_of, predictions=predictions, detail=detail, workers=workers,
        report=report, suspects=suspects, initial=initial, final=final, test=test, passes=passes,
        slots=slots, shards=shards, ray=ray, classes=tuple(name for name in (classes or "").split(",") if name),
        ordered=ordered, set=tuple(set_ or ()), columns=columns, encoding=encoding or "", quiet=quiet, json=json,
    )  # fmt: skip
    if multi_label and (pairs or stream):
        raise UsageError(f"--multi-label: cannot be combined with {'--pairs' if pairs else '--stream'}")
    if pairs:
        _run_pairs(given, features, stream)
        return
    if features is not None:
        raise UsageError("--features: needs --pairs")
    from hutch.crowd.exports.found import Columns

    read_as = replace(Columns.of(columns), encoding=given.encoding, sets=multi_label)
    given = replace(given, columns=read_as if columns or encoding or multi_label else None)
    from hutch.cli.crowds.model import model_of
    from hutch.cli.crowds.summary import show
    from hutch.core.run.output import is_stdout
    from hutch.crowd.data.kinds import reference_workers

    written = _check_outputs(given)
    if detail and not predictions:
        raise UsageError("--detail: needs -p, whose file it makes wider")
    if ask_of and not next_:
        raise UsageError("--ask-of: needs --next, which lists the tasks to ask for")
    kinds = () if all_judges else reference_workers(labels, given.columns)
    chosen, options, history = model_of(given, given.reference or kinds)
    if multi_label:
        from hutch.cli.crowds.multi_label import run
    elif stream:
        from hutch.cli.crowds.stream import run
    else:
        from hutch.cli.crowds.tasks import run
    show(run(given, chosen, options, history), given, any(map(is_stdout, written)))


def _check_outputs(given: CrowdOptions) -> list[str]:
    """The files that results go to, once it is known that they can be written.

    Raises:
        UsageError: standard output is named for several, or a file cannot be written.
    """
    from hutch.core.atomic import check_outputs
    from hutch.core.plots import require_matplotlib
    from hutch.core.run.output import is_stdout

    outputs = {
        "-p": given.predictions,
        "--workers": given.workers,
        "--report": given.report,
        "--suspects": given.suspects,
    }
    found = {option: path for option, path in outputs.items() if path}
    if len(several := [option for option, path in found.items() if is_stdout(path)]) > 1:
        raise UsageError(f"{', '.join(several)}: got standard output for all, wanted it for at most one")
    if given.report and given.report.endswith(".html"):
        require_matplotlib()
    check_outputs((*found.values(), given.final), (given.labels, given.gold, given.score))
    return list(found.values())


def _run_pairs(given: CrowdOptions, features: str | None, stream: bool) -> None:
    """Run `--pairs`."""
    from hutch.cli.crowds.pairs import run

    names = (
        "gold",
        "reference",
        "ask_of",
        "slots",
        "classes",
        "set",
        "passes",
        "shards",
        "ray",
        "all_judges",
        "detail",
    )
    given.refuse(names, "cannot be combined with --pairs")
    if given.ordered is not None:
        raise UsageError("--ordered: cannot be combined with --pairs")
    run(given, given.method or ("online" if stream else "batch"), features)
