"""`hutch demo`: small files as people have them, and the commands to type next."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from hutch.core.errors import UsageError, counted, did_you_mean
from hutch.shell.declared import Argument, Option

if TYPE_CHECKING:
    from hutch.demo.demonstration import Demonstration

KINDS = {
    "ratings": ("ratings", "800 support tickets, sorted into categories by twelve annotators"),
    "judges": ("judges", "verdicts of three language models, and 150 labels by people"),
    "benchmark": ("benchmark", "60 models' answers to 1,200 questions, and a new model to be judged"),
    "clicks": ("clicks", "a log of what was shown and clicked, to learn what to show"),
    "table": ("tables", "4,000 customers with numbers and words: who leaves?"),
    "vw": ("vowpal_wabbit", "lines and a command line of Vowpal Wabbit"),
    "serve": ("service", "a model that answers and learns over HTTP"),
}
"""The kinds by name: module, and what it shows."""

_SHOWN = 6
_WIDEST = 76


def demo(
    kind: Annotated[
        str | None,
        Argument(metavar="KIND", help="What you have: ratings, judges, benchmark, clicks, table, vw or serve."),
    ] = None,
    to: Annotated[
        str | None, Option("--to", metavar="DIR", help="Folder for the files.", show_default="demo-KIND")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
    quick: Annotated[
        bool, Option("--quick", help="Compare learners instead: `hutch reproduce dyadic --quick` is its new name.")
    ] = False,
    seed: Annotated[int | None, Option("--seed", metavar="N", help="With --quick: seed of the simulation.")] = None,
    write: Annotated[
        str | None, Option("--write", metavar="DIR", help="With --quick: write train.vw, test.vw, labels.tsv here.")
    ] = None,
) -> int:
    """Write small files as you have them, and show the commands for them.

    Without KIND: list the kinds, and run the first one from end to end. The data are made up, so that the truth is
    known.

    Example: hutch demo judges
    """
    if quick or seed is not None or write is not None:
        return _compare(quick=quick, seed=seed or 0, write=write, as_json=as_json)
    if kind is not None and kind not in KINDS:
        raise UsageError(f"no demonstration {kind!r}; {did_you_mean(kind, KINDS)}")
    chosen = kind or next(iter(KINDS))
    folder = Path(to or f"demo-{chosen}")
    shown = _made(KINDS[chosen][0])
    commands = [(why, command.replace("{}", shlex.quote(str(folder)))) for why, command in shown.commands]
    if kind is None and not as_json:
        _list()
    _write(shown, folder)
    if as_json:
        _print_json(chosen, folder, shown, commands)
        return 0
    _show_files(shown, folder)
    return _show(commands, run_first=kind is None)


def _made(module: str) -> "Demonstration":
    from importlib import import_module

    made: Demonstration = import_module(f"hutch.demo.{module}").make()
    return made


def _list() -> None:
    print("Each of these writes small files of made-up data, and shows the commands for them:\n")
    for name, (_, text) in KINDS.items():
        print(f"  hutch demo {name:9} {text}")
    print("\nThe first one, from end to end:\n")


def _write(shown: "Demonstration", folder: Path) -> None:
    """Write the files; one that is there with another content stays.

    Raises:
        UsageError: there is one.
    """
    from hutch.core.atomic import make_directory, write_bytes

    for name, text in shown.files.items():
        path = folder / name
        if path.exists() and path.read_bytes() != text.encode():
            raise UsageError(f"{path}: is there with another content, which stays; name another folder with --to")
    make_directory(folder)
    for name, text in shown.files.items():
        write_bytes(folder / name, text.encode())


def _show_files(shown: "Demonstration", folder: Path) -> None:
    for number, (name, text) in enumerate(shown.files.items()):
        lines = text.splitlines()
        print(f"wrote {folder / name}: {counted(len(lines), 'line')}")
        for line in lines[:_SHOWN] if not number else ():
            print(f"    {line if len(line) <= _WIDEST else line[: _WIDEST - 3] + '...'}")
    print()


def _show(commands: list[tuple[str, str]], *, run_first: bool) -> int:
    """Print the commands; the first one also runs, if it shall."""
    status = 0
    for number, (why, command) in enumerate(commands):
        print(f"{why}\n$ {command}", flush=True)
        if run_first and not number:
            from hutch.cli.dispatch import run

            if status := run(shlex.split(command)[1:]):
                return status
            print()
            print("Next:")
        print()
    return status


def _print_json(kind: str, folder: Path, shown: "Demonstration", commands: list[tuple[str, str]]) -> None:
    from hutch.core.strict_json import dumps

    made: dict[str, Any] = {"kind": kind, "kinds": {name: text for name, (_, text) in KINDS.items()}}
    made["files"] = [str(folder / name) for name in shown.files]
    made["commands"] = [{"question": why, "command": command} for why, command in commands]
    print(dumps(made))


def _compare(*, quick: bool, seed: int, write: str | None, as_json: bool) -> int:
    """The comparison of learners, as this command was until version 0.1."""
    import sys

    from hutch.reproduce.cli.comparison import compare

    print("hutch demo --quick, --seed and --write: this is `hutch reproduce dyadic --quick` now", file=sys.stderr)
    compare(quick=quick, seed=seed, write=write, as_json=as_json)
    return 0
