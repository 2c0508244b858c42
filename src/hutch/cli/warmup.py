"""`hutch warmup`: compile the kernels ahead."""

from typing import Annotated

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

FILES = {
    "lines.vw": "1 'a |text x:0.5 y |author z\n-1 |text x |author z\n",
    "pool.vw": "|text x\n|text y\n|author z\n",
    "blocks.vw": "1 |worker v |words a\n2 |worker w |words a\n\n2 |worker v |words b\n2 |worker w |words b\n",
    "raters.vw": "3 |rater r |task t\n1 |rater s |task t\n",
    "ratings.vw": "3.5 |user r |item t\n1 |user s |item t\n",
    "decisions.vw": "0:1:0.5 |a x\n|a y\n\n|a x\n1:0:0.5 |a y\n\n",
    "digits.vw": "1 |pixel 0:0.5 3:1\n2 |pixel 1:1 2:0.5\n3 |pixel 5:1\n",
    "table.csv": "label,importance,tag,number,word,text\n1,1,a,0.5,x,good words\n0,2,b,,y,more words\n",
    "labels.tsv": "".join(
        f"w{w}\tt{t}\t{'ab'[(t + (w // 2 * t % 5 == 4)) % 2]}\n" for t in range(40) for w in range(1, 5)
    ),
    "gold.tsv": "t1\ta\n",
    "votes.csv": "worker,left,right,winner\nv,a,b,a\nw,b,c,b\nv,c,a,a\nw,a,c,tie\n",
    "rows.csv": "a,b,c\n" + "".join(f"{i},{i * i % 7},{i * i * i % 11}\n" for i in range(120)),
    "text.yaml": "input: {columns: {text: [text], tag: tag}}\nchain: [{linear: {}}]\n",
    **{f"{name}.yaml": f"chain: {layers}\n" for name, layers in CHAINS.items()},
}
"""The inputs of the runs, by name."""

USUAL = ("train lines.vw --quiet -p out -f model", "train table.csv -C text.yaml --quiet -p out")
"""The kernels that every run of a chain needs in addition to those of its layers."""

RUNS = (
    "train raters.vw -C ethnicity.yaml --passes 2 --quiet -p out -f model",
    "train ratings.vw -C ratings.yaml --passes 2 --quiet -p out -f model",
    "train digits.vw -C ppca.yaml --quiet -p out -f model && predict digits.vw -i model -p out",
    "train blocks.vw -C crowd_em.yaml --passes 5 --quiet -r out -f model && predict blocks.vw -i model -p out",
    "train lines.vw -C active.yaml --quiet -f model && active ask pool.vw -i model --store store -n 1 && "
    "active report --store store",
    "train decisions.vw -C explore.yaml --quiet -p out",
    "vw -d table.csv --csv --quiet",
    "train lines.vw -C sentiment.yaml --quiet -p out",
    "crowd labels.tsv --quiet --next 1 -p out --workers out.tsv --gold gold.tsv",
    "crowd labels.tsv --quiet --report report.txt --suspects out.tsv",
    "crowd labels.tsv --quiet --method online -p out --workers out.tsv",
    "crowd votes.csv --quiet --pairs",
    "em fit rows.csv --rank 1 && em fit rows.csv --rank 2",
)
"""The runs of the shipped chains and of `hutch crowd`, `em` and `active`, the longest first."""


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

    start = time.perf_counter()
    kernels = sorted(name for name in installed_kernels() if all_ or name.startswith(_USUAL))
    runs = USUAL if usual else (*RUNS, *USUAL)
    pieces = [*runs, "hutch.cli.warmup:read_tables", *kernels]
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
    tops = {"hutch", *(plugin.name.partition(".")[0] for plugin in installed())}
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


def compile_piece(piece: str) -> None:
    """Compile something for the cache on disk.

    Args:
        piece: `module:name` of a kernel or of a function to call, or command lines that need the kernels to compile,
            with `&&` between them; they run in a folder with `FILES`.

    Raises:
        HutchError: a command fails.
    """
    import contextlib
    import io
    import tempfile
    from importlib import import_module
    from pathlib import Path

    from hutch.cli.dispatch import run
    from hutch.cli.table import installed
    from hutch.core.errors import HutchError
    from hutch.core.kernel.cache import AddressKernel

    module, _, name = piece.partition(":")
    if name:
        target = getattr(import_module(module), name)
        _ = target.address if isinstance(target, AddressKernel) else target()
        return
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for file, text in FILES.items():
            Path(file).write_text(text, encoding="utf-8")
        for command in piece.split(" && "):
            said = io.StringIO()
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
                status = run(command.split()) if installed(command.split()[0]) else 0
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
