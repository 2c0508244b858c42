"""`hutch warmup`: compile the kernels ahead."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

from hutch.cli.shell.declared import Option
from hutch.core.strict_json import dumps

CHAINS = {
    "linear": "[{linear: {loss: squared, learning_rate: 0.5, power_t: 0.5}}]",
    "sentiment": "[{linear: {loss: logistic, learning_rate: 0.5, interactions: [[text, author]]}}]",
    "active": "[{active: {}}, {linear: {loss: logistic}}]",
    "crowd_em": "[{crowd_em: {classes: 3, worker: worker, passes: 2}}, {one_against_all: {classes: 3}}, "
    "{linear: {loss: logistic, initial_t: 0.1}}]",
    "explore": "[{explore_posterior: {method: optimism, width: 1}}, contextual_bandit, cost_sensitive_with_features, "
    "{bayesian_linear: {covariance: blocks, dimension: 64, loss: squared}}]",
    "ethnicity": "[{filter_tree: {classes: 5}}, "
    "{dyadic: {left: rater, right: task, rank: 2, loss: hinge, learning_rate: 0.3, l2: 0.3, shift: 0.3}}]",
    "ratings": "[{dyadic: {left: user, right: item, rank: 8, loss: squared}}]",
    "ppca": "[{ppca: {namespace: pixel, dimension: 64, rank: 15}}, {one_against_all: {classes: 10}}, "
    "{linear: {loss: squared, interactions: [[latent, latent]]}}]",
}
"""The chains of configs/, which are not part of an installation."""

_DATA = {
    "lines.vw": "1 'a |text x:0.5 y |author z\n-1 |text x |author z\n",
    "pool.vw": "|text x\n|text y\n|author z\n",
    "blocks.vw": "1 |worker v |words a\n2 |worker w |words a\n\n2 |worker v |words b\n2 |worker w |words b\n",
    "raters.vw": "3 |rater r |task t\n1 |rater s |task t\n",
    "ratings.vw": "3.5 |user r |item t\n1 |user s |item t\n",
    "decisions.vw": "0:1:0.5 |a x\n|a y\n\n|a x\n1:0:0.5 |a y\n\n",
    "digits.vw": "1 |pixel 0:0.5 3:1\n2 |pixel 1:1 2:0.5\n3 |pixel 5:1\n",
    "table.csv": "label,importance,tag,number,word,text\n1,1,a,0.5,x,good words\n0,2,b,,y,more words\n",
    "table.svm": "1 1:0.5 7:2\n-1 qid:2 3:1\n",
    "labels.tsv": "w1\tt1\ta\nw2\tt1\ta\nw1\tt2\tb\nw2\tt2\tb\nw3\tt2\ta\n",
    "gold.tsv": "t1\ta\n",
    "votes.csv": "worker,left,right,winner\nv,a,b,a\nw,b,c,b\nv,c,a,a\nw,a,c,tie\n",
    "rows.csv": "a,b,c\n" + "".join(f"{i},{i * i % 7},{i * i * i % 11}\n" for i in range(120)),
}
_TEXT = {"text.yaml": "input: {columns: {text: [text], tag: tag}}\nchain: [{linear: {}}]\n"}
FILES = _DATA | _TEXT | {f"{name}.yaml": f"chain: {layers}\n" for name, layers in CHAINS.items()}
"""The inputs of the runs, by name."""

THEN = "&&"
"""Between two commands of one run."""

USUAL = (
    ("train", "lines.vw", "--quiet", "-p", "out", "-f", "model"),
    ("train", "table.csv", "-C", "text.yaml", "--quiet", "-p", "out", THEN, "train", "table.svm", "--quiet"),
)
"""The kernels that every run of a chain needs beside those of its layers."""

RUNS = tuple(
    tuple(line.split())
    for line in (
        "train raters.vw -C ethnicity.yaml --passes 2 --quiet -p out -f model",
        "train ratings.vw -C ratings.yaml --passes 2 --quiet -p out -f model",
        "train digits.vw -C ppca.yaml --quiet -p out -f model && predict digits.vw -i model -p out",
        "train blocks.vw -C crowd_em.yaml --passes 5 --quiet -r out -f model && predict blocks.vw -i model -p out",
        "train lines.vw -C active.yaml --quiet -f model && active ask pool.vw -i model --store store -n 1 && "
        "active report --store store",
        "train decisions.vw -C explore.yaml --quiet -p out",
        "train lines.vw -C sentiment.yaml --quiet -p out",
        "crowd labels.tsv --quiet --next 1 -p out --workers out.tsv --gold gold.tsv",
        "crowd labels.tsv --quiet --report report.txt --suspects out.tsv",
        "crowd labels.tsv --quiet --method online -p out --workers out.tsv",
        "crowd votes.csv --quiet --pairs",
        "em fit rows.csv --rank 1 && em fit rows.csv --rank 2",
    )
)
"""The runs of the shipped chains and of `hutch crowd`, `em` and `active`, the longest first."""


def warmup(
    jobs: Annotated[
        int | None,
        Option(
            "-j",
            "--jobs",
            min=1,
            metavar="N",
            help="Number of processes that compile.",
            show_default="one per core",
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

    from hutch.core.threads import processor_count

    start = time.perf_counter()
    kernels = sorted(installed_kernels() if all_ else filter(_is_usual, installed_kernels()))
    runs = USUAL if usual else (*RUNS, *USUAL)
    pieces: list[str | tuple[str, ...]] = [*runs, "hutch.cli.warmup:read_tables", *kernels]
    processes = jobs or processor_count()
    advance = _tenths(len(pieces), processes, quiet or as_json)
    with _shipped_left_aside(), background(pieces, processes) as results:
        for result in results:
            result.get()
            advance()
    found = {"kernels": len(kernels), "runs": len(runs), "seconds": time.perf_counter() - start}
    if as_json:
        print(dumps(found))
    elif not quiet:
        text = f"{len(kernels)} kernels and those of {len(runs)} small runs are ready after {found['seconds']:.1f} s"
        print(text, file=sys.stderr)


_USUAL = (
    "hutch.core.",
    "hutch.reductions.features.",
    "hutch.reductions.linear.",
    *(
        f"hutch.reductions.{name}:"
        for name in (
            "binary",
            "cost_sensitive_one_against_all",
            "error_correcting_tournament",
            "filter_tree",
            "link",
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


def _tenths(total: int, processes: int, hidden: bool) -> Callable[[], Any]:
    """A function that reports each further tenth on standard error."""
    import sys

    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        if not hidden and done * 10 // total > (done - 1) * 10 // total:
            print(f"compiled {done} of {total}", file=sys.stderr, flush=True)

    if not hidden:
        print(f"compiling {total} pieces in {processes} processes", file=sys.stderr, flush=True)
    return advance


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
    from hutch.core.processes import spawning

    with spawning().Pool(min(jobs, len(pieces))) as pool:
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


def read_tables() -> None:
    """Learn from an Arrow table, where pyarrow is installed."""
    try:
        import pyarrow
    except ImportError:
        return
    from hutch.chain import Chain

    table = pyarrow.table({"label": [1.0, 0.0], "number": [0.5, 2.0], "word": ["a", "b"]})
    Chain.from_config({"chain": [{"linear": {}}]}).learn(table)


def _run(command: tuple[str, ...]) -> None:
    import contextlib
    import io
    import tempfile
    from itertools import groupby
    from pathlib import Path

    from hutch.cli.dispatch import run
    from hutch.cli.table import installed
    from hutch.core.errors import HutchError

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, text in FILES.items():
            Path(name).write_text(text, encoding="utf-8")
        for is_next, words in groupby(command, lambda word: word == THEN):
            one = list(words)
            if is_next or not installed(one[0]):
                continue
            said = io.StringIO()
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
                status = run(one)
            if status:
                raise HutchError(f"hutch {' '.join(one)} ended with status {status}: {said.getvalue()}")
