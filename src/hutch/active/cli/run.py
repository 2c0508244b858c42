"""`hutch active run` and `hutch active export`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from hutch.active.cli.page import Names, Page, StoreFile, label_names
from hutch.shell.declared import Argument, Option
from hutch.shell.options import Overrides, takes

Stop = Annotated[
    float | None,
    Option(
        "--stop",
        metavar="N",
        help="Ask no more once a label is expected to save less than one mistake in the next N predictions.",
    ),
]


def check_stop(predictions: float | None) -> None:
    """Check a number of predictions.

    Raises:
        UsageError: it is not above 0, or not finite.
    """
    from hutch.core.errors import UsageError

    if predictions is not None and not 0 < predictions < float("inf"):
        raise UsageError(f"--stop: got {predictions:g}, wanted a number of predictions above 0")


@takes(Page, "page")
def run(
    pool: Annotated[str, Argument(metavar="POOL", help="Lines or a table, whose labels are ignored.")],
    store: StoreFile,
    final: Annotated[Path, Option("-f", "--final-model", metavar="MODEL", help="Write the model here.")],
    config: Annotated[
        str | None, Option("-C", "--config", metavar="FILE", help="The chain, with `active` on top.")
    ] = None,
    overrides: Overrides = None,
    initial: Annotated[
        Path | None, Option("-i", "--initial-model", metavar="MODEL", help="Start from this model.")
    ] = None,
    count: Annotated[
        int, Option("-n", min=1, metavar="K", help="Labels to ask for at a time, and to learn at a time.")
    ] = 10,
    wanted: Annotated[int, Option(min=1, metavar="N", help="Answers wanted per request, from different workers.")] = 1,
    stop: Stop = None,
    *,
    page: Page,
) -> None:
    """Ask, serve the page, learn and ask again, unattended.

    However it ends, the same command resumes it: the answers are in the store, and the model learns them.

    Example: hutch active run pool.csv -C chain.yaml --store labels.db -f model --name 1=spam --name -1=ham
    """
    import threading

    from hutch.active.pool import Pool
    from hutch.active.run import Loop
    from hutch.chain import Chain
    from hutch.core.atomic import check_writable
    from hutch.core.data.files import check_sources
    from hutch.core.errors import UsageError
    from hutch.durable.store import Store

    page.check()
    check_stop(stop)
    check_sources([pool])
    check_writable(final)
    if pool == "-":
        raise UsageError("POOL: got standard input, wanted a file: it is read again when the command resumes")
    if initial or (final.exists() and not config):
        if config:
            raise UsageError("-C, -i: wanted one of them")
        chain = Chain.load(initial or final)
    elif config is None:
        raise UsageError("wanted a chain (-C chain.yaml) or a model to start from (-i MODEL)")
    else:
        chain = Chain.from_config(config, overrides or [])
    examples = Pool.of_files(pool, chain)

    def tell(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    with Store(store, create=True) as opened:
        loop = Loop(chain, final, opened, examples, count, source=pool, wanted=wanted, stop=stop, tell=tell)
        first = next((entry.document for source in examples.sources for entry in source), None)
        look = page.look(opened, first)
        loop.start()
        ended = threading.Event()
        thread = threading.Thread(target=loop.run, args=(ended,))
        thread.start()
        try:
            page.serve(opened, look)
        finally:
            ended.set()
            thread.join()


def export(
    store: StoreFile,
    output: Annotated[str, Option("-o", "--output", metavar="FILE", help="Write here; - is standard output.")] = "-",
    form: Annotated[str, Option("--format", metavar="NAME", help="csv, or crowd: labels for `hutch crowd`.")] = "csv",
    name: Names = None,
    show: Annotated[
        str | None, Option(metavar="A,B,...", help="Columns of a table that are written.", show_default="all")
    ] = None,
) -> None:
    """Write the labels for other programs.

    Example: hutch active export --store labels.db --format crowd -o labels.tsv
    """
    from hutch.active.export import export as exported
    from hutch.core.run.output import open_output
    from hutch.durable.store import Store

    with Store(store) as opened:
        said = label_names(name or [], opened.labels_allowed)
        text = exported(opened, form, said, [field for field in (show or "").split(",") if field])
    with open_output(output) as file:
        file.write(text.encode())
