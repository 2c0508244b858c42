"""`hutch serve log`: show what served models have learned, go back, and make room."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from hutch.shell.declared import Argument, Group, Option

if TYPE_CHECKING:
    from hutch.durable.log import Log

app = Group("Export, replay or compact the log of `hutch serve`, which must not be running.")

StoreFile = Annotated[Path, Option("--store", metavar="FILE", help="The log, as of `hutch serve`.")]
ModelFile = Annotated[Path, Argument(metavar="MODEL", help="A model file, or an earlier save of it.")]


@app.command()
def export(
    store: StoreFile,
    name: Annotated[str | None, Option("--model", metavar="NAME", help="Only this model.", show_default="all")] = None,
) -> None:
    """Print the log as JSON lines: entries learned and taken back, with their times.

    Example: hutch serve log export --store model.log.db
    """
    from contextlib import closing

    from hutch.core.strict_json import dumps

    with closing(_opened(store)) as log:
        for line in log.lines(name):
            print(dumps(line, ensure_ascii=False))


@app.command()
def decisions(
    store: StoreFile,
    name: Annotated[
        str | None, Option("--model", metavar="NAME", help="Of this model.", show_default="the only one")
    ] = None,
) -> None:
    """Print the decisions that were learned as lines of dsjson, for hutch evaluate and hutch train.

    Example: hutch serve log decisions --store model.log.db > log.dsjson
    """
    import sys
    from contextlib import closing

    from hutch.core.errors import counted
    from hutch.serve.decision_log import decision_lines

    others = 0
    with closing(_opened(store)) as log:
        for line in decision_lines(log.store, name):
            if line is None:
                others += 1
            else:
                print(line)
    if others:
        left = f"{counted(others, 'decision')} asked for in another form than Azure Personalizer's left out"
        print(f"{left}; hutch serve log export prints them", file=sys.stderr)


@app.command()
def replay(
    model: ModelFile,
    store: StoreFile,
    final: Annotated[Path, Option("-f", "--final-model", metavar="MODEL", help="Write the model here.")],
    through: Annotated[
        int | None, Option(min=0, metavar="N", help="Learn the log up to entry N.", show_default="all of it")
    ] = None,
    before: Annotated[
        str | None, Option(metavar="TIME", help="Learn the entries before this time: 2026-05-17T10:30, UTC by default.")
    ] = None,
    drop: Annotated[
        bool, Option("--drop", help="Take back all later entries for good; the model continues from here.")
    ] = False,
) -> None:
    """Learn the log from an earlier save, up to an entry or a time.

    Example: hutch serve log replay model.at-000000000123 --store model.log.db --through 140 --drop -f model
    """
    from contextlib import closing

    from hutch.core.errors import counted
    from hutch.serve.replay import replay as replay_log

    with closing(_opened(store)) as log:
        done = replay_log(log, model, final, through, _seconds(before), drop=drop)
    dropped = f", {counted(done.dropped, 'entry', 'entries')} behind taken back" if drop else ""
    print(f"{final}: {counted(done.learned, 'entry', 'entries')} learned, up to entry {done.through}{dropped}")


@app.command()
def compact(store: StoreFile) -> None:
    """Free the disk space of removed entries.

    Example: hutch serve log compact --store model.log.db
    """
    from contextlib import closing

    with closing(_opened(store)) as log:
        before = log.size
        log.store.compact()
        print(f"{store}: {before} bytes, now {log.size}")


def _opened(store: Path) -> Log:
    from hutch.core.errors import StoreError, at
    from hutch.durable.log import Log

    if not store.is_file():
        raise StoreError(at(str(store), None, None, "no such log; `hutch serve` creates it"))
    return Log(store)


def _seconds(time: str | None) -> float | None:
    """A time of ISO 8601 as seconds since 1970."""
    from datetime import UTC, datetime

    from hutch.core.errors import UsageError

    if time is None:
        return None
    try:
        found = datetime.fromisoformat(time)
    except ValueError:
        raise UsageError(f"--before: got {time!r}, wanted a time such as 2026-05-17T10:30") from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
