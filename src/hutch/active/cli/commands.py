"""`hutch active`: simulate label requests, or make them, take the answers and learn them, over one store."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from hutch.active.cli.page import Page, StoreFile, open_document
from hutch.active.cli.run import Stop, check_stop, export, run
from hutch.core.errors import counted
from hutch.core.strict_json import dumps
from hutch.shell.declared import Argument, Group, Option, ray_option
from hutch.shell.options import Overrides, takes
from hutch.shell.reports import reports
from hutch.shell.sentences import Verdict, number, other_command, percent, things

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hutch.active.report import Report
    from hutch.active.simulate import Run

app = Group("Choose which labels to ask for, and learn them.")

Initial = Annotated[Path, Option("-i", "--initial-model", metavar="MODEL", help="The model, with `active` on top.")]
AsJson = Annotated[bool, Option("--json", help="Print one JSON object.")]


@app.command()
@reports
def simulate(
    data: Annotated[str, Argument(metavar="DATA", help="Labelled examples; - is standard input.")],
    config: Annotated[str, Option("-C", "--config", metavar="FILE", help="The chain.")],
    overrides: Overrides = None,
    test: Annotated[str | None, Option(metavar="FILE", help="Labelled examples to test on.")] = None,
    budget: Annotated[
        float | None,
        Option(metavar="FRACTION", help="Share of labels to buy or, above 1, their number.", show_default="0.1"),
    ] = None,
    stop: Annotated[
        float | None,
        Option(
            metavar="N", help="Say where to stop if a label must save at least one mistake in the next N predictions."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Simulate active learning on data with all labels.

    Labels are bought as the chain asks for them. For comparison it also learns from as many
    random labels, and from all of them.

    Example: hutch active simulate train.vw -C chain.yaml --test test.vw --budget 0.1
    """
    import tempfile

    from hutch.active.simulate import simulate as run_simulation
    from hutch.active.simulate import to_json
    from hutch.chain import Chain
    from hutch.core.data.files import InputFiles, check_sources
    from hutch.core.errors import UsageError
    from hutch.shell.waiting import waiting

    if budget is not None and not 0 < budget < float("inf"):
        raise UsageError(f"--budget: got {budget:g}, wanted a fraction up to 1 or a number of labels")
    check_stop(stop)
    check_sources([source for source in (data, test) if source])
    chain = Chain.from_config(config, overrides or [])
    readers, columns = chain.plugins.registry.readers, chain.config.input.columns
    with tempfile.NamedTemporaryFile(suffix=".vw") as copy:
        if data == "-":  # it is read several times
            copy.write(sys.stdin.buffer.read())
            copy.flush()
            data = copy.name
        with waiting("active simulate"):
            runs = run_simulation(
                Chain.from_config,
                chain.config.to_dict(defaults=False),
                lambda: InputFiles([data], chain.parser, readers, columns=columns),
                (lambda: InputFiles([test], chain.parser, readers, columns=columns)) if test else None,
                budget,
            )
    found = to_json(runs, stop)
    print(dumps(found) if as_json else _simulation_text(runs, found))


def _simulation_text(runs: dict[str, Run], found: dict[str, Any]) -> str:
    lines = [f"{'':9} {'labels':>9} {'seen':>9} {'progressive loss':>17} {'test loss':>10}"]
    for name, one in runs.items():
        end = one.end
        tested = "n.a." if end.test_loss != end.test_loss else f"{end.test_loss:.4f}"
        lines.append(f"{name:9} {end.queries:9} {end.seen:9} {end.progressive_loss:17.4f} {tested:>10}")
    stop = _stop_text(found["stop"], found["queries"]) if "stop" in found else []
    return "\n".join([*lines, "", *_stopping_text(found["estimate"], found["classes"]), *stop])


def _stop_text(stop: dict[str, Any], bought: int) -> Iterator[str]:
    labels, predictions = stop["labels"], f"{stop['predictions']:g} predictions"
    if labels is None:
        gain = f"the next is expected to save {stop['gain'] or 0:.1f} mistakes in {predictions}"
        yield f"go on after {counted(bought, 'label')}: {gain}"
    else:
        gain = f"the next is expected to save less than one mistake in {predictions}"
        yield f"stop after {counted(labels, 'label')}: {gain}"
    if stop["cost"] is not None:
        best = f"the least is {stop['best_cost']:.0f}, with {counted(stop['best_labels'], 'label')}"
        yield f"labels and mistakes in {predictions} to come: {stop['cost']:.0f}; {best}"


def _stopping_text(estimate: dict[str, Any], classes: dict[str, int]) -> Iterator[str]:
    if estimate["high"] is None:
        yield "loss: not known yet"
    else:
        low, loss, high = (estimate[key] for key in ("low", "loss", "high"))
        yield f"loss over all examples, from the labels bought: {loss:.4f} ({low:.4f} to {high:.4f}, 90%)"
        left, few, many = (estimate[key] for key in ("wrong_left", "wrong_left_low", "wrong_left_high"))
        yield f"buying the rest would save about {counted(round(left), 'mistake')} ({few:.0f} to {many:.0f})"
        if estimate["labels_per_mistake"]:
            yield f"that is {counted(round(estimate['labels_per_mistake']), 'label')} for each"
    yield "labels bought by class: " + (", ".join(f"{name}: {count}" for name, count in classes.items()) or "none")


@app.command()
def ask(
    pool: Annotated[
        str, Argument(metavar="POOL", help="Lines or a table, whose labels are ignored; - is standard input.")
    ],
    model: Initial,
    store: StoreFile,
    count: Annotated[int, Option("-n", min=1, metavar="K", help="Labels to ask for.")],
    wanted: Annotated[int, Option(min=1, metavar="N", help="Answers wanted per request, from different workers.")] = 1,
    stop: Stop = None,
    ray: Annotated[str | None, ray_option("With a glob as POOL: score the files")] = None,
) -> None:
    """Choose examples to label, and put the requests in the store.

    The requests are printed as JSON lines. Each file of a glob is scored in a separate task.

    Example: hutch active ask pool.vw -i model --store labels.db -n 50 > requests.jsonl
    """
    from hutch.active.loop import ask as ask_for
    from hutch.active.loop import model_version
    from hutch.active.pool import Pool
    from hutch.active.report import is_enough
    from hutch.chain import Chain
    from hutch.core.data.files import check_sources
    from hutch.durable.records import write_requests
    from hutch.durable.store import Store

    check_stop(stop)
    check_sources([pool])
    version, chain = model_version(model), Chain.load(model)
    examples = Pool.of_files(pool, chain)
    source = "<stdin>" if pool == "-" else pool
    with Store(store, create=True) as opened:
        if stop is not None and is_enough(opened, stop):
            text = f"asked for nothing: a label is expected to save less than one mistake in {stop:g} predictions"
            print(text, file=sys.stderr)
            return
        with examples.engine(ray) as engine:
            found = ask_for(chain, examples, opened, count, source=source, model=version, wanted=wanted, engine=engine)
    write_requests(found, sys.stdout)
    if len(found) < count:
        print(f"asked for {len(found)} of {count}: {source} has no more lines not asked for yet", file=sys.stderr)


@app.command("requests")
def open_requests(store: StoreFile) -> None:
    """Print the requests that are still open, as JSON lines.

    Example: hutch active requests --store labels.db > requests.jsonl
    """
    from hutch.durable.records import write_requests
    from hutch.durable.store import Store

    with Store(store) as opened:
        write_requests(opened.open_requests(), sys.stdout)


@app.command()
def answer(
    answers: Annotated[str, Argument(metavar="ANSWERS", help="JSON lines; - is standard input.")],
    store: StoreFile,
    as_json: AsJson = False,
) -> None:
    """Record the answers in a file, all or none.

    Answers that the store already has are skipped.

    Example: hutch active answer answers.jsonl --store labels.db
    """
    from contextlib import nullcontext

    from hutch.core.errors import DataError, at
    from hutch.durable.records import read_answers
    from hutch.durable.store import Store

    with Store(store) as opened:
        try:
            with nullcontext(sys.stdin) if answers == "-" else open(answers, encoding="utf-8") as file:
                accepted = opened.answer(read_answers(file, "<stdin>" if answers == "-" else answers))
        except OSError as error:
            raise DataError(at(answers, None, None, f"cannot be read: {error.strerror}")) from None
        except UnicodeDecodeError as error:
            raise DataError(at(answers, None, None, f"is not UTF-8: {error.reason}")) from None
    if as_json:
        print(dumps({"new": accepted.new, "repeated": accepted.repeated}))
    else:
        print(f"{counted(accepted.new, 'new answer')}, {accepted.repeated} known already")


@app.command()
def learn(
    model: Initial,
    final: Annotated[Path, Option("-f", "--final-model", metavar="MODEL", help="Write the model here.")],
    store: StoreFile,
    as_json: AsJson = False,
) -> None:
    """Learn from new answers, in order.

    Example: hutch active learn -i model -f model --store labels.db
    """
    from hutch.active.loop import learn as learn_log
    from hutch.chain import Chain
    from hutch.core.atomic import check_writable
    from hutch.durable.store import Store

    check_writable(final)
    with Store(store) as opened:
        learned, last = learn_log(Chain.load(model), opened, final)
    print(dumps({"learned": learned, "through": last}) if as_json else f"{counted(learned, 'example')} learned")


@app.command()
@takes(Page, "page")
def serve(store: StoreFile, page: Page) -> None:
    """Serve the requests on a page for people to answer.

    Key 1 is the first --name. Only this machine can connect, unless --host is given.

    Example: hutch active serve --store labels.db --name 1=spam --name -1=ham
    """
    from hutch.durable.store import Store

    page.check()
    with Store(store) as opened:
        page.serve(opened, page.look(opened, open_document(opened)))


app.command()(run)
app.command()(export)


@app.command()
@reports
def report(store: StoreFile, as_json: AsJson = False) -> None:
    """Report progress, the loss, and the expected saving by more labels.

    Example: hutch active report --store labels.db
    """
    from dataclasses import asdict

    from hutch.active.report import report_of
    from hutch.active.whom import judge
    from hutch.durable.store import Store

    with Store(store) as opened:
        found, known = report_of(opened), judge(opened)
    little = known.little if known else {}
    verdict = _verdict(found, str(store))
    if as_json:
        rest = {"estimate": found.estimate, "classes": found.classes, "worth_little": little} | verdict.as_json()
        print(dumps({**asdict(found.counts), **rest}))
        return
    counts = found.counts
    states = f"{counts.answered} answered, {counts.unknown} unknown, {counts.open} open"
    print(f"{counted(counts.requests, 'request')}: {states}")
    workers = counted(counts.workers, "worker")
    labels, skips = counted(counts.labels, "label"), counted(counts.skips, "skip")
    print(f"{counted(counts.answers, 'answer')} from {workers}: {labels}, {skips}")
    for name, worth in little.items():
        print(f"{name} gets audits only: an answer is worth {worth:.0%} of the mean")
    print("\n".join([*_stopping_text(found.estimate, found.classes), *verdict.lines()]))


def _verdict(found: Report, store: str) -> Verdict:
    """How often the predictions are wrong, what more labels save, and what is open."""
    estimate, said = found.estimate, []
    if found.of_purchase:
        said.append("`hutch label` asked for these labels: run it again to see what they prove.")
    elif estimate["high"] is None:
        said.append("Cannot tell how often the predictions are wrong, because too few requests are answered.")
    else:
        share = percent(estimate["loss"], estimate["low"], estimate["high"])
        said.append(f"The predictions are wrong on an estimated {share} of all examples, with a confidence of 0.9.")
        if each := estimate["labels_per_mistake"]:
            left = f"{number(estimate['wrong_left'])} ({number(estimate['wrong_left_low'])} to "
            left += f"{number(estimate['wrong_left_high'])})"
            said.append(f"Labels of the rest would correct about {left}, one for {things(round(each), 'label')}.")
    if found.counts.open:
        said.append(f"{things(found.counts.open, 'request waits', 'requests wait')} for an answer.")
    following = other_command("hutch", "active", "serve", "--store", store) if found.counts.open else ""
    return Verdict(tuple(said), following)


@app.command()
def log(store: StoreFile) -> None:
    """Print everything that happened, as JSON lines.

    Their order is the one in which a model learns.

    Example: hutch active log --store labels.db | tail
    """
    from hutch.active.loop import log_lines
    from hutch.durable.store import Store

    with Store(store) as opened:
        for line in log_lines(opened):
            print(line)
