"""Command lines as tutorials of VW show them: the same predictions, or refused with a way that works.

Predictions of VW 9.11.9 are recorded in tutorials.json, so that they are compared without the peer, too;
`python tests/vw/test_tutorials.py` records them anew.
"""

import contextlib
import gzip
import hashlib
import io
import json
import math
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hutch.cli import dispatch
from hutch.core.errors import HutchError, UsageError
from hutch.vw.main import run

HERE = Path(__file__).parent
TABLE = yaml.safe_load((HERE / "tutorials.yaml").read_text())
RECORDED = HERE / "tutorials.json"
ROWS = 60
EVERY = 6  # of the predictions, so many lines apart are recorded
PEER = "the peer is not installed: pip install vowpalwabbit==9.11.9"


def write_data(folder: Path) -> None:
    """Small files of every kind that the command lines read; numbers without chance, so the same everywhere."""
    files: dict[str, list[str]] = {"cells.csv": ["_label,_tag,a|price,a|kind,b|age"]}

    def add(name: str, *lines: str) -> None:
        files.setdefault(name, []).extend(lines)

    for k in range(ROWS):
        a, b, c = k * 7 % 11, k * 5 % 13, k * 3 % 7
        animal = 1 + (a + c) % 3
        topic = ["sport", "art", "food"][c % 3]
        words = " ".join(sorted({f"w{a}", f"w{b}", f"w{a * b % 5}", topic}))
        add("house.vw", f"{(a * 2 + b) / 30:.3f} {1 + k % 2} 'h{k}|a price:{a / 10} sqft:{b / 4} |b age:{c} 2006")
        add("cells.csv", f'{(a * 2 + b) / 30:.3f},h{k},{a / 10},"{("x", "y z")[k % 2]}",{c}')
        add("counts.vw", f"{(a + b) % 6} |a x:{a / 10} y |b z{c}")
        add("text.vw", f"{1 if a > b else -1} |w {words} |t {topic} length:{len(words) / 10}")
        add("classes.vw", f"{animal} |i p{a} p{b}:0.5 q{c} legs:{c / 2}")
        add("names.vw", f"{['cat', 'dog', 'horse'][animal - 1]} |i p{a} q{c}")
        add("costs.vw", " ".join(f"{j}:{abs(j - animal)}" for j in (1, 2, 3)) + f" |i p{a} q{c}")
        add("lines.vw", *(f"{j}:{abs(j - animal)} |i p{j}_{a % 3} q{j}{c}" for j in (1, 2, 3)), "")
        add("ratings.vw", f"{1 + (a * c + b) % 5} |user u{a} |item i{b}")
        add("logged.vw", f"{1 + k % 3}:{(a + k % 3) % 4}:{0.25 + k % 2 / 4} |u p{a} q{c}")
        actions = [f"|a {name} {topic}" for name in ("x", "y", "z")]
        actions[k % 3] = f"0:{(a + k % 3) % 3}:0.4 {actions[k % 3]}"
        add("decisions.vw", f"shared |u p{c} r{a}", *actions, "")
        add("table.csv", *(["label,size,word"] if not k else []), f"{a},{b},{topic}")
        decision = {
            "_label_cost": -(k % 2),
            "_label_probability": 0.4,
            "_label_Action": 1 + k % 3,
            "_labelIndex": k % 3,
            "EventId": f"e{k}",
            "a": [1 + (k + j) % 3 for j in range(3)],
            "c": {"u": {"who": f"p{c}"}, "_multi": [{"b": {"name": name, "size": a}} for name in ("x", "y", "z")]},
            "p": [0.4, 0.3, 0.3],
        }
        add("log.json", json.dumps(decision))
    for name, lines in files.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    (folder / "text.vw.gz").write_bytes(gzip.compress((folder / "text.vw").read_bytes(), mtime=0))
    (folder / "bayesian.yaml").write_text("chain: [bayesian_linear: {loss: logistic, dimension: 64}]\n")


def predictions(entry: str, runs: Callable[[list[str]], None], folder: Path) -> str:
    """Run all lines of an entry in turn; what the last predicts."""
    lines = [shlex.split(line) for line in entry.split(" && ")]
    if "-p" not in lines[-1]:
        lines[-1] += ["-p", "predictions"]
    output = lines[-1][lines[-1].index("-p") + 1]
    with contextlib.chdir(folder):
        for line in lines:
            with _standard_output() as printed:
                runs(line)
        return printed() if output in ("/dev/stdout", "stdout") else Path(output).read_text()


@contextlib.contextmanager
def _standard_output() -> Iterator[Callable[[], str]]:
    """Standard output, of Python and of VW, goes into a file; what is given says afterwards what came."""
    text: list[str] = []
    with tempfile.NamedTemporaryFile() as kept:
        before = os.dup(1)
        os.dup2(kept.fileno(), 1)
        try:
            with open(kept.fileno(), "w", closefd=False) as stream, contextlib.redirect_stdout(stream):
                yield lambda: text[0]
        finally:
            os.dup2(before, 1)
            os.close(before)
            text.append(Path(kept.name).read_text())


def by_hutch(words: list[str]) -> None:
    with contextlib.redirect_stderr(io.StringIO()):
        assert run(words) == 0


def by_peer(words: list[str]) -> None:
    import vowpalwabbit

    if "-d" not in words:  # its Python interface takes no data without it, its command does
        [name] = [word for word in words if word.endswith(".vw")]
        words = [*(word for word in words if word != name), "-d", name]
    quiet = [] if "--quiet" in words else ["--quiet"]
    vowpalwabbit.Workspace(arg_list=[*words, *quiet, "--log_level", "off"]).finish()


def recorded(text: str) -> dict[str, Any]:
    """Summary of predictions: the number of lines, some of the lines, and a digest of all."""
    lines = text.splitlines()
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return {"lines": len(lines), "some": lines[::EVERY], "digest": digest}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tutorials")
    write_data(folder)
    return folder


@pytest.fixture
def folder(data: Path, tmp_path: Path) -> Path:
    shutil.copytree(data, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.mark.parametrize("entry", TABLE["same"])
def test_predictions_are_those_of_vw(entry: str, folder: Path) -> None:
    wanted = json.loads(RECORDED.read_text())[entry]
    text = predictions(entry, by_hutch, folder)
    found = recorded(text)
    assert found["lines"] == wanted["lines"] > 0
    for ours, theirs in zip(found["some"], wanted["some"], strict=True):
        for mine, other in zip(re.split(r"[ ,:]", ours), re.split(r"[ ,:]", theirs), strict=True):
            assert mine == other or math.isclose(float(mine), float(other), rel_tol=2e-5, abs_tol=1e-6), (ours, theirs)
    if found["digest"] != wanted["digest"]:  # another mathematical library may round the last digit otherwise
        pytest.importorskip("vowpalwabbit", reason=PEER)
        again = folder / "again"
        again.mkdir()
        write_data(again)
        assert text == predictions(entry, by_peer, again)


@pytest.mark.parametrize("case", TABLE["refused"], ids=lambda case: case["line"])
def test_what_is_refused_names_a_way_that_works(case: dict[str, Any], folder: Path) -> None:
    with pytest.raises(UsageError) as refused, contextlib.chdir(folder):
        run(shlex.split(case["line"]))
    for words in case["named"]:
        assert words in str(refused.value)
    if "way" in case:
        with contextlib.chdir(folder):
            assert dispatch.run(shlex.split(case["way"])) == 0


def test_there_are_as_many_as_promised() -> None:
    assert len(TABLE["same"]) + len(TABLE["refused"]) >= 81
    assert len(set(TABLE["same"])) == len(TABLE["same"]) == len(json.loads(RECORDED.read_text()))


if __name__ == "__main__":
    kept = {}
    for entry in TABLE["same"]:
        with tempfile.TemporaryDirectory() as place:
            write_data(Path(place))
            kept[entry] = recorded(predictions(entry, by_peer, Path(place)))
            other = Path(place, "ours")
            other.mkdir()
            write_data(other)
            try:
                ours = recorded(predictions(entry, by_hutch, other))
            except HutchError as error:
                ours = {"refused": str(error)}
            if ours != kept[entry]:
                print(entry, kept[entry], ours, sep="\n  ")
    RECORDED.write_text(json.dumps(kept, indent=0, ensure_ascii=False) + "\n")
