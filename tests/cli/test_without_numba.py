"""Once kernels are compiled, commands that learn and predict from text import no compiler, and do the same."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from hutch.core.kernel import object_store
from tests import forked_hutch

pytestmark = pytest.mark.skipif(not object_store.enabled(), reason="machine code is kept on Linux only")

X86_64 = platform.machine() == "x86_64"
PROGRAM = """
import sys
from hutch.cli.main import main
try:
    main()
finally:
    slow = {"numba", "llvmlite", "numpy.ma", "pydantic", "yaml", "safetensors", "importlib.metadata"}
    print(*(slow & {*sys.modules}), file=sys.stderr)
"""
LINES = """\
1 2 'a |f x:0.5 y |g z
-1 0.5 |f x |g z
1 'c |f y:1e+2 w |g z:-0.25
-1 |f x:0.125 y
"""
CHAIN = "chain:\n  - binary\n  - linear:\n      loss: hinge\n"


def warm(folder: Path, *words: str) -> None:
    """Let a command compile what it needs."""
    subprocess.run([forked_hutch.hutch(), *words], cwd=folder, capture_output=True, check=True)


def hutch(folder: Path, *words: str, store: bool = True) -> tuple[bytes, set[str]]:
    """Run a command; what it said on standard output, and what it imported of that which takes long."""
    environment = {**os.environ, "HUTCH_OBJECT_STORE": "1" if store else "0"}
    command = [sys.executable, "-c", PROGRAM, *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)
    return done.stdout, set(done.stderr.decode().splitlines()[-1].split())


OTHER_DATA = {
    "data.vw": LINES,
    "pool.vw": "|f x\n|g z\n",
    "classes.vw": "1 |x a:2 b:1\n2 |x a:-1 c:0.5\n1 |x b:2\n",
    "table.csv": "label,number,word\n1,0.5,x\n0,2,y\n",
    "labels.tsv": "".join(  # enough of them for every part of the default model to run, the search for copies, too
        f"w{worker}\tt{task}\t{'abc'[task % 3 if (7 * task + 5 * worker) % 11 > 2 else worker % 3]}\n"
        for task in range(60)
        for worker in {task % 9, (task + 2) % 9, (task * task + 5) % 9}
    ),
    "blocks.vw": "1 |worker v |words a\n2 |worker w |words a\n\n2 |worker v |words b\n",
    "rows.csv": "a,b,c\n" + "".join(f"{i},{i * i % 7},{i * i * i % 11}\n" for i in range(40)),
    "asking.yaml": "chain: [{active: {}}, {linear: {loss: logistic}}]\n",
    "posterior.yaml": "chain:\n- multinomial: {classes: 2}\n"
    "- bayesian_linear: {loss: squared, dimension: 9, features: named}\n",
    "curves.yaml": "chain: [random_features: {count: 8}, {linear: {loss: logistic}}]\n",
    "crowd.yaml": "chain:\n- crowd_em: {classes: 2, worker: worker, passes: 1}\n- one_against_all: {classes: 2}\n"
    "- linear: {loss: logistic}\n",
}
COMMANDS = {
    "vw": ("vw", "-d", "data.vw", "--loss_function", "logistic", "-q", "fg", "-f", "made.model", "-p", "made.txt"),
    "train": ("train", "data.vw", "-C", "chain.yaml", "-f", "made.model", "-p", "made.txt", "-P", "1"),
    "predict": ("predict", "data.vw", "-i", "known.model", "-p", "made.txt", "-r", "raw.txt"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("without_numba")
    (folder / "data.vw").write_text(LINES)
    (folder / "chain.yaml").write_text(CHAIN)
    warm(folder, "train", "data.vw", "--quiet", "-f", "known.model")
    return folder


def test_a_warm_run_of_vw_imports_nothing_that_it_does_not_need(folder: Path) -> None:
    command = ("vw", "-d", "data.vw", "--loss_function", "logistic", "-b", "10")
    warm(folder, *command)
    allowed = {"importlib.metadata", "pydantic"} | (set() if X86_64 else {"llvmlite"})
    assert hutch(folder, *command)[1] <= allowed
    assert hutch(folder, *command, "-f", "other.model")[1] <= allowed | {"safetensors"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "train table.csv --quiet",
        "train data.vw --quiet -C asking.yaml -f asking.model",
        "active ask pool.vw -i known.model --store made.store -n 1",
        "crowd labels.tsv --quiet -p made.tsv --workers workers.tsv",
        "crowd labels.tsv --quiet --method online",
        "train blocks.vw --quiet -C crowd.yaml",
        "train classes.vw --quiet -C posterior.yaml",
        "train data.vw --quiet -C curves.yaml",
        "em fit rows.csv --rank 1",
    ],
)
def test_a_warm_run_on_other_data_or_of_other_commands_imports_nothing_slow(command: str, tmp_path: Path) -> None:
    for name, text in OTHER_DATA.items():
        (tmp_path / name).write_text(text)
    words = command.split()
    if words[0] == "active":
        warm(tmp_path, "train", "data.vw", "--quiet", "-C", "asking.yaml", "-f", "known.model")
    warm(tmp_path, *words)
    (tmp_path / "made.store").unlink(missing_ok=True)
    needed = {"safetensors", "yaml", "pydantic", "importlib.metadata"}  # the last two to check parameters
    assert hutch(tmp_path, *words)[1] <= needed | (set() if X86_64 else {"llvmlite"})


def made(folder: Path) -> dict[str, bytes]:
    """All that a command wrote; of a model the arrays, since its header has no order."""
    files = {path: path.read_bytes() for path in folder.iterdir() if path.stem in ("made", "raw")}
    headers = {path: 8 + int.from_bytes(files[path][:8], "little") for path in files if path.suffix == ".model"}
    return {path.name: data[headers.get(path, 0) :] for path, data in files.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_warm_run_does_without_numba_bit_for_bit(name: str, folder: Path) -> None:
    warm(folder, *COMMANDS[name])
    said, imported = hutch(folder, *COMMANDS[name])
    found = made(folder)
    assert not imported & ({"numba"} | ({"llvmlite"} if X86_64 else set()))
    without_store = hutch(folder, *COMMANDS[name], store=False)
    assert without_store[0] == said and "numba" in without_store[1]
    assert len(found) >= 2 and made(folder) == found
