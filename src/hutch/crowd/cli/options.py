"""The options of `hutch crowd`."""

import sys
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import TYPE_CHECKING, Annotated

from hutch.core.errors import UsageError, counted
from hutch.shell.declared import Argument, Option, ray_option

if TYPE_CHECKING:
    from hutch.crowd.data.asked import ColumnNames
    from hutch.crowd.data.labels import Labels
    from hutch.crowd.label_stream import Seen


_CHANCE = 0.01  # below which gold is hardly of one class by chance


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdOptions:
    """The options of `hutch crowd`, by their names.

    Attributes:
        read_as: what `columns`, `encoding` and `multi_label` say of files of labels; None: nothing.
    """

    labels: Annotated[
        str,
        Argument(
            metavar="LABELS",
            help="Labels: worker TAB task TAB label, CSV, or the export of a labelling tool; - is standard input.",
        ),
    ]
    method: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="How to infer: batch or online.",
            show_default="batch",
            rich_help_panel="Streams and shards",
        ),
    ] = None
    model: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="Name of the crowd model.",
            show_default="two_level, or many_classes; mixed with a reference, ordinal with --ordered",
            rich_help_panel="Model",
        ),
    ] = None
    gold: Annotated[str | None, Option(metavar="FILE", help="True classes of some tasks: task TAB label.")] = None
    score: Annotated[str | None, Option(metavar="FILE", help="True classes to score against; not learned from.")] = None
    reference: Annotated[
        list[str] | None,
        Option(
            help="Worker, or glob of workers, whose labels define the classes; all others are judges. Repeatable.",
            metavar="PATTERN",
        ),
    ] = None
    all_judges: Annotated[
        bool, Option("--all-judges", help="No worker's labels define the classes: all are judges; gold helps.")
    ] = False
    least_accuracy: Annotated[
        float | None,
        Option(
            "--least-accuracy",
            metavar="P",
            help="With --all-judges: share of tasks in which the judges' most probable class is surely right. "
            "Probabilities then cost no more than equal shares, whatever errors the judges have in common.",
            show_default="0.5; 0.77 of more than 20 judges",
            rich_help_panel="Model",
        ),
    ] = None
    next: Annotated[int, Option("--next", min=0, metavar="N", help="List N tasks to label next.")] = 0
    ask_of: Annotated[
        str | None,
        Option(
            "--ask-of",
            metavar="A,B,...",
            help="With --next: the workers available, separated by commas; names the best one to ask per task, by gain "
            "per price if the labels have a column price.",
        ),
    ] = None
    predictions: Annotated[
        str | None, Option("-p", "--predictions", metavar="FILE", help="Write posteriors here; - is standard output.")
    ] = None
    detail: Annotated[
        bool,
        Option(
            "--detail", help="With -p: also how easy each task is (beta) and the posterior before calibration (raw)."
        ),
    ] = False
    workers: Annotated[
        str | None, Option(metavar="FILE", help="Write the worker report here; - is standard output.")
    ] = None
    report: Annotated[
        str | None,
        Option(
            "--report",
            metavar="FILE",
            help="Write a report on the quality of the labels: a page if FILE ends in .html, else text.",
        ),
    ] = None
    texts: Annotated[
        str | None,
        Option(metavar="FILE", help="With --report FILE.html: show tasks' texts, from a table of ids and texts."),
    ] = None
    suspects: Annotated[
        str | None, Option(metavar="FILE", help="Write the labels that are probably wrong; - is standard output.")
    ] = None
    initial: Annotated[
        str | None,
        Option("-i", "--initial-model", metavar="MODEL", help="Continue from a saved model.", rich_help_panel="Model"),
    ] = None
    final: Annotated[
        str | None, Option("-f", "--final-model", metavar="MODEL", help="Save the model here.", rich_help_panel="Model")
    ] = None
    test: Annotated[bool, Option("-t", "--test", help="Only score; do not learn.", rich_help_panel="Model")] = False
    passes: Annotated[
        int, Option(min=1, metavar="N", help="Online: passes over the labels.", rich_help_panel="Streams and shards")
    ] = 1
    slots: Annotated[
        int | None,
        Option(
            min=1,
            metavar="N",
            help="Online: number of rows of the worker table.",
            show_default="65536",
            rich_help_panel="Streams and shards",
        ),
    ] = None
    stream: Annotated[
        bool,
        Option(
            "--stream",
            help="Online: read in pieces; all models but two_level want a task's labels to be adjacent.",
            rich_help_panel="Streams and shards",
        ),
    ] = False
    open_tasks: Annotated[
        int | None,
        Option(
            "--open",
            min=1,
            metavar="N",
            help="Online, two_level: keep at most N tasks open for further labels; the surest are closed.",
            show_default="all; 100000 with --stream",
            rich_help_panel="Streams and shards",
        ),
    ] = None
    follow: Annotated[
        bool,
        Option(
            "--follow",
            help="Learn each label as it comes, and print a line whenever the verdict of its task changes.",
            rich_help_panel="Streams and shards",
        ),
    ] = False
    shards: Annotated[
        int | None,
        Option(
            min=1,
            metavar="N",
            help="Batch: split the tasks into N shards, in parallel processes.",
            show_default="1",
            rich_help_panel="Streams and shards",
        ),
    ] = None
    ray: Annotated[str | None, ray_option("Count the shards", "Streams and shards")] = None
    classes: Annotated[
        str | None,
        Option(
            metavar="A,B,...",
            help="The classes, separated by commas, in this order; no other label may occur.",
            rich_help_panel="Form of the labels",
        ),
    ] = None
    unsure: Annotated[
        list[str] | None,
        Option(
            metavar="WORD",
            help="Label that means that a worker does not know; it is never a class. Repeatable.",
            show_default='the usual words, such as "unsure", "don\'t know" and "weiß nicht"',
            rich_help_panel="Form of the labels",
        ),
    ] = None
    ordered: Annotated[
        bool | None,
        Option(
            "--ordered/--no-ordered",
            help="Classes are ordered: also write mean, median and interval; the model is ordinal if none is named.",
            show_default="if they are 3 to 12 whole numbers",
            rich_help_panel="Form of the labels",
        ),
    ] = None
    set: Annotated[
        list[str] | None,
        Option(
            "--set", metavar="NAME=VALUE", help="Set a parameter of the model. Repeatable.", rich_help_panel="Model"
        ),
    ] = None
    pairs: Annotated[
        bool,
        Option(
            "--pairs",
            help="Votes on pairs: worker TAB left TAB right TAB winner, or JSON; infer strengths.",
            rich_help_panel="Form of the labels",
        ),
    ] = False
    features: Annotated[
        str | None,
        Option(
            metavar="A,B,...",
            help="With --pairs: columns that say in which context a vote was given.",
            show_default="all further columns",
            rich_help_panel="Form of the labels",
        ),
    ] = None
    columns: Annotated[
        str | None,
        Option(
            metavar="ROLE=NAME,...",
            help="Names of columns or fields: worker, task, label, gold, question, time; unsure=LABEL is none; "
            "with --pairs worker, left, right, winner, weight. Several labels, or a glob: one column per worker, or "
            "per question if there is a worker.",
            rich_help_panel="Form of the labels",
        ),
    ] = None
    encoding: Annotated[
        str,
        Option(
            metavar="NAME",
            help="Encoding of the text, such as cp1252.",
            show_default="UTF-8",
            rich_help_panel="Form of the labels",
        ),
    ] = ""
    multi_label: Annotated[
        bool,
        Option(
            "--multi-label",
            help="A task may have several labels: each is a separate yes or no, reported together.",
            rich_help_panel="Form of the labels",
        ),
    ] = False
    quiet: Annotated[bool, Option("--quiet", help="Print no progress table and no notices.")] = False
    json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False
    read_as: "ColumnNames | None" = None

    @property
    def class_names(self) -> list[str]:
        """The names in `classes`."""
        return [name for name in (self.classes or "").split(",") if name]

    @property
    def asked(self) -> "ColumnNames | None":
        """What the options say of files of labels; None: nothing.

        Raises:
            UsageError: malformed, or a class that is no answer.
        """
        if not (self.columns or self.encoding or self.multi_label or self.classes or self.unsure):
            return None
        from hutch.crowd.data.asked import ColumnNames  # not at the top: not every help needs it

        named = ColumnNames.of(self.columns).answering(self.class_names, self.unsure or ())
        return replace(named, encoding=self.encoding, sets=self.multi_label)

    def refuse(self, names: tuple[str, ...], why: str) -> None:
        """Refuse options that cannot be combined with another.

        Args:
            names: of the options.
            why: they do not.

        Raises:
            UsageError: one of them was given.
        """
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        for name in names:
            if given[name] and not (name == "passes" and given[name] == 1):
                option = name.removesuffix("_tasks").replace("_", "-")
                raise UsageError(f"--{option}: {why}")

    def notice_numbers(self, classes: list[str], question: str = "") -> None:
        """Tell of many classes that are numbers, unless an option says what they are, and of decimal commas."""
        from hutch.crowd.data.degrees import MOST, all_numbers
        from hutch.crowd.data.spelling import (
            DECIMAL_COMMA,
            with_decimal_comma,
        )  # not at the top: not every help needs it

        if not self.classes and (name := with_decimal_comma(classes)) is not None:
            self.notice(f"{self.labels}: {question}the class {name!r} {DECIMAL_COMMA}")
        if self.ordered is None and not self.classes and len(classes) > MOST and all_numbers(classes):
            wanted = "--model numbers if they are measurements, --ordered if they are degrees, --no-ordered if names"
            self.notice(f"{self.labels}: {question}{len(classes)} numbers, each taken as a class; {wanted}")

    def notice_alike(self, *questions: "Labels") -> None:
        """Tell of workers, and of tasks unless they are many, whose names differ only in how they are written."""
        from hutch.crowd.data.spelling import told_alike  # not at the top: not every help needs it

        workers, tasks = (
            list(dict.fromkeys(chain.from_iterable(getattr(each, names) for each in questions)))
            for names in ("worker_names", "item_names")
        )
        for said in told_alike(workers, tasks):
            self.notice(f"{self.labels}: {said}")

    def notice_strays(self, labels: "Labels") -> None:
        """Tell of labels without a worker, and of gold without labels."""
        if "" in labels.worker_names:
            nameless = int((labels.workers == labels.worker_names.index("")).sum())
            self.notice(f"{self.labels}: {counted(nameless, 'label')} without a worker: all are taken as one person's")
        if labels.unmatched_gold:
            self.notice(f"{self.gold or self.labels}: gold without labels: {counted(labels.unmatched_gold, 'task')}")

    def notice_one_sided(self, labels: "Labels") -> None:
        """Tell of gold that is all of one class, where that is hardly chance."""
        gold = labels.gold[labels.gold >= 0]
        if len(gold) and (gold == gold[0]).all() and (labels.labels == gold[0]).mean() ** len(gold) < _CHANCE:
            name = labels.classes[int(gold[0])]
            self.notice(f"{self.labels}: all gold is {name!r}: gold that is not drawn at random misleads the panel")

    def notice_seen(self, seen: "Seen") -> None:
        """Tell how a stream was read, what was left out, and, whatever `quiet` says, of tasks that came back."""
        for line in (*(f"{self.labels}: {notice}" for notice in seen.notices), *seen.problems.lines(self.labels)):
            self.notice(line)
        if seen.split:
            print(f"{self.labels}: {seen.warning()}", file=sys.stderr)

    def notice(self, text: str) -> None:
        """Print a message on stderr, unless `quiet`."""
        if not self.quiet:
            print(text, file=sys.stderr)
