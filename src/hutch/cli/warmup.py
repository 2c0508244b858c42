"""`hutch warmup`: compile the kernels ahead."""

from typing import Annotated

from hutch.core.chain.registry import Warmup
from hutch.core.strict_json import dumps
from hutch.shell.declared import Option


def warmup(
    jobs: Annotated[
        int | None,
        Option(
            "-j", "--jobs", min=1, metavar="N", help="Number of processes that compile.", show_default="one per core"
        ),
    ] = None,
    all_: Annotated[bool, Option("--all", help="Every kernel of all installed plugins.")] = False,
    usual: Annotated[
        bool, Option("--usual", help="Only what lines, tables, classes and costs above `linear` need.")
    ] = False,
    quiet: Annotated[bool, Option("--quiet", help="Print nothing.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compile kernels ahead of time, so that later commands only load them.

    These are the kernels for lines, tables and the usual layers, for the chains in configs/ and for the commands crowd,
    em and active. All are compiled for this exact processor, even those that the package ships.

    Example: hutch warmup -j 4
    """
    import sys
    import time
    from multiprocessing import get_context

    from hutch.core.threads import processor_count
    from hutch.plugins.manager import installed

    start = time.perf_counter()
    kernels = sorted(name for name in installed_kernels() if all_ or name.startswith(_USUAL))
    runs = [each for each in installed().registry.warmups.values() if each.usual or not usual]
    pieces: list[str | Warmup] = [*runs, "hutch.cli.warmup:read_tables", *kernels]
    total, processes = len(pieces), min(jobs or processor_count(), len(pieces))
    told = sys.stderr if not (quiet or as_json) else None
    if told:
        print(f"compiling {total} pieces in {processes} processes", file=told, flush=True)
    with get_context("spawn").Pool(processes, initializer=_leave_shipped_aside) as pool:
        for done, _ in enumerate(pool.imap(compile_piece, pieces), 1):
            if told and done * 10 // total > (done - 1) * 10 // total:
                print(f"compiled {done} of {total}", file=told, flush=True)
    seconds = time.perf_counter() - start
    if as_json:
        print(dumps({"kernels": len(kernels), "runs": len(runs), "seconds": seconds}))
    elif told:
        print(f"{len(kernels)} kernels and those of {len(runs)} small runs are ready after {seconds:.1f} s", file=told)


_USUAL = (
    "hutch.core.",
    "hutch.reductions.features.",
    "hutch.reductions.linear.",
    "hutch.reductions.binary:",
    "hutch.reductions.cost_sensitive_one_against_all:",
    "hutch.reductions.error_correcting_tournament:",
    "hutch.reductions.filter_tree:",
    "hutch.reductions.link:",
    "hutch.reductions.one_against_all:",
)
"""How the names of kernels begin that are compiled without `--all`."""
_EVERY_RUN = (
    "hutch.chain",
    "hutch.core.chain.decisions",
    "hutch.core.run.one",
    "hutch.core.run.predictions",
    "hutch.core.text.parser",
)
"""Modules with kernels that runs need and plugins do not import."""


def installed_kernels() -> set[str]:
    """All kernels of the installed plugins that are reached by address, as `module:name`."""
    import sys
    from importlib import import_module

    from hutch.core.kernel.cache import AddressKernel
    from hutch.plugins.manager import installed

    for needed in _EVERY_RUN:
        import_module(needed)
    plugins = installed()
    for kind in ("reductions", "losses", "readers", "crowd_models", "em_models"):
        for item in getattr(plugins.registry, kind).values():
            import_module(item.__module__)
    tops = {"hutch", *plugins.packages()}
    found = {}
    for name, module in sorted(sys.modules.items()):
        if name.partition(".")[0] in tops:
            for attribute, value in vars(module).items():
                if isinstance(value, AddressKernel) and (id(value) not in found or value.function.__module__ == name):
                    found[id(value)] = f"{name}:{attribute}"
    return set(found.values())


def _leave_shipped_aside() -> None:
    """Make this process compile the kernels that it would load from the package."""
    import os

    from hutch.core.kernel.shipped import SWITCH

    os.environ[SWITCH] = "0"


def compile_piece(piece: str | Warmup) -> None:
    """Compile something for the cache on disk.

    Args:
        piece: a run, or `module:name` of a kernel or of a function to call.

    Raises:
        HutchError: a command fails.
    """
    import contextlib
    import io
    import tempfile
    from importlib import import_module
    from pathlib import Path

    from hutch.cli.dispatch import run
    from hutch.core.errors import HutchError
    from hutch.core.kernel.cache import AddressKernel

    if isinstance(piece, str):
        module, _, name = piece.partition(":")
        target = getattr(import_module(module), name)
        _ = target.address if isinstance(target, AddressKernel) else target()
        return
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for file, text in piece.files.items():
            Path(file).write_text(text, encoding="utf-8")
        for command in piece.command.split(" && "):
            said = io.StringIO()
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
                status = run(command.split())
            if status:
                raise HutchError(f"hutch {command} ended with status {status}: {said.getvalue()}")


def read_tables() -> None:
    """Learn from an Arrow table, where pyarrow is installed."""
    try:
        import pyarrow
    except ImportError:
        return
    from hutch.chain import Chain

    words = pyarrow.array(["a", "b"])
    columns = {"number": [0.5, 2.0], "word": words, "category": words.dictionary_encode(), "text": ["good words", ""]}
    table = pyarrow.table({"label": [1.0, 0.0], **columns})
    Chain.from_config({"input": {"columns": {"text": ["text"]}}, "chain": [{"linear": {}}]}).learn(table)
