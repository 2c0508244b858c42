"""`hutch warmup`: compile the kernels ahead."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from hutch.core.strict_json import dumps

_FILES = {
    "simple.vw": "1 'a |f x:0.5 y |g z\n-1 |f x |g z\n",
    "labels.tsv": "w1\tt1\ta\nw2\tt1\ta\nw1\tt2\tb\nw2\tt2\tb\nw3\tt2\ta\n",
    "rows.csv": "a,b,c\n" + "".join(f"{i},{i * i % 7},{i * i * i % 11}\n" for i in range(120)),
}
_COMMANDS = (
    ("train", "simple.vw", "--quiet", "-p", "predictions.txt"),
    ("crowd", "labels.tsv", "--quiet", "--next", "1"),
    ("crowd", "labels.tsv", "--quiet", "--method", "online"),
    ("em", "fit", "rows.csv", "--rank", "1"),
)
"""Small runs that compile what is not reached by address."""


def warmup(
    jobs: Annotated[
        int | None,
        typer.Option(
            "-j", "--jobs", min=1, metavar="N", help="Processes that compile at the same time; by default all cores."
        ),
    ] = None,
    usual: Annotated[
        bool, typer.Option("--usual", help="Only what lines, tables, classes and costs above `linear` need.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compile every kernel ahead of time, so that later commands only load them.

    Kernels are compiled for this very processor, those that came with the package, too.

    Example: hutch warmup -j 4
    """
    import sys
    import time

    start = time.perf_counter()
    kernels = sorted(filter(_is_usual, installed_kernels()) if usual else installed_kernels())
    pieces = [*(_COMMANDS[:1] if usual else _COMMANDS), *kernels]
    with (
        _shipped_left_aside(),
        background(pieces, jobs or _cores()) as results,
        _bar(len(pieces), quiet or as_json) as advance,
    ):
        for result in results:
            result.get()
            advance()
    found = {"kernels": len(kernels), "seconds": time.perf_counter() - start}
    if as_json:
        print(dumps(found))
    elif not quiet:
        print(f"{found['kernels']} kernels are ready after {found['seconds']:.1f} s", file=sys.stderr)


_USUAL = (
    "hutch.core.",
    "hutch.reductions.linear.",
    *(
        f"hutch.reductions.{name}:"
        for name in (
            "binary",
            "cost_sensitive_one_against_all",
            "error_correcting_tournament",
            "filter_tree",
            "link",
            "low_rank_quadratic",
            "merge_namespaces",
            "ngrams",
            "one_against_all",
        )
    ),
)


_EVERY_RUN = (
    "hutch.chain",
    "hutch.core.chain.decisions",
    "hutch.core.run.one",
    "hutch.core.run.predictions",
    "hutch.core.text.parser",
)
"""Modules with kernels that runs need and plugins do not import."""


def _is_usual(kernel: str) -> bool:
    return kernel.startswith(_USUAL)


@contextmanager
def _shipped_left_aside() -> Iterator[None]:
    """Let processes that start meanwhile compile what they would load from the package."""
    import os

    from hutch.core.kernel.shipped import SWITCH

    before = os.environ.get(SWITCH)
    os.environ[SWITCH] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SWITCH]
        else:
            os.environ[SWITCH] = before


def _cores() -> int:
    """Cores that this process may use."""
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _bar(total: int, hidden: bool) -> Iterator[Callable[[], Any]]:
    """A bar on a terminal; the block gets a function that moves it on by one."""
    import sys

    if hidden or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("compiling"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda: progress.advance(task)


def installed_kernels() -> set[str]:
    """All kernels of the installed plugins that are reached by address, as `module:name`."""
    import sys
    from importlib import import_module

    from hutch.core.kernel.cache import AddressKernel
    from hutch.plugins.manager import installed

    for needed in _EVERY_RUN:
        import_module(needed)
    tops = {"hutch", *(plugin.name.partition(".")[0] for plugin in installed())}
    found = {}
    for name, module in sorted(sys.modules.items()):
        if name.partition(".")[0] in tops:
            for attribute, value in vars(module).items():
                if isinstance(value, AddressKernel) and (id(value) not in found or value.function.__module__ == name):
                    found[id(value)] = f"{name}:{attribute}"
    return set(found.values())


@contextmanager
def background(pieces: Sequence[str | tuple[str, ...]], jobs: int) -> Iterator[list[Any]]:
    """Compile in other processes while the block runs; see `compile_piece`.

    The block gets one result for each piece, whose `get()` waits for it. What is not ready when it ends is abandoned.
    """
    from multiprocessing import get_context

    with get_context("spawn").Pool(min(jobs, len(pieces))) as pool:
        yield [pool.apply_async(compile_piece, (piece,)) for piece in pieces]


def compile_piece(piece: str | tuple[str, ...]) -> None:
    """Compile something and leave it in the cache on disk.

    Args:
        piece: `module:name` of a kernel or of a function to call, or a command line that needs what is to be compiled.
    """
    from importlib import import_module

    from hutch.core.kernel.cache import AddressKernel

    if isinstance(piece, tuple):
        _run(piece)
        return
    module, _, name = piece.partition(":")
    target = getattr(import_module(module), name)
    _ = target.address if isinstance(target, AddressKernel) else target()


def parse_a_line() -> None:
    """Compile the text parser, but for what few lines need."""
    from hutch.core.text.parser import TextParser

    TextParser().parse(b"1 |f a:0.5\n")


def _run(command: tuple[str, ...]) -> None:
    import contextlib
    import io
    import tempfile
    from pathlib import Path

    from hutch.cli.commands import Commands, app
    from hutch.core.errors import HutchError

    if command[0] not in Commands.names():
        return
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, text in _FILES.items():
            Path(name).write_text(text, encoding="utf-8")
        said = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            status = app(list(command), standalone_mode=False)
        if status:
            raise HutchError(f"hutch {' '.join(command)} ended with status {status}: {said.getvalue()}")
