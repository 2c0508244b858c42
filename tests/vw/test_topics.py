"""`hutch vw --lda` beside recorded runs of VW 9.11.9: topics of documents, the loss, the model as text."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from hutch.core.errors import UsageError
from hutch.vw.main import run
from hutch.vw.parse import parse
from hutch.vw.translate import chain_of

RECORDED = json.loads(Path(__file__).with_name("recorded.json").read_text())
DATA = {name: RECORDED[name]["data"] for name in ("topics", "topics over passes")}
CALLS = [(name, k) for name in DATA for k in range(len(RECORDED[name]["calls"]))]

pytestmark = pytest.mark.slow


@pytest.fixture
def case(tmp_path, monkeypatch):
    """Runs a recorded call, after those before it where it reads their model."""
    monkeypatch.chdir(tmp_path)

    def run_call(name, number):
        (tmp_path / "input.vw").write_text(DATA[name])
        calls = RECORDED[name]["calls"]
        first = number - 1 if "-i" in calls[number]["args"].split() else number
        for k in range(first, number + 1):
            words = [*calls[k]["args"].split(), "-p", "pred", "--readable_model", "text"]
            assert run(["-d", "input.vw", *words]) == 0
        return calls[number]

    return run_call


def numbers(text):
    """Each line's numbers, without a tag."""
    return np.array(
        [[float(word) for word in line.split() if not word.startswith("doc")] for line in text.split("\n")[:-1]]
    )


def tags(text):
    """The tag of each line, empty without one."""
    return ["".join(re.findall(r"doc\d+", line)) for line in text.split("\n")[:-1]]


def table(text):
    """The rows of a readable model."""
    return numbers(text[text.index("Checksum") :].split("\n", 1)[1])


@pytest.mark.parametrize(("name", "number"), CALLS)
def test_same_as_vw(name, number, case, capsys):
    call = case(name, number)
    told = capsys.readouterr().err
    ours, theirs = Path("pred").read_text(), call["pred"]
    assert tags(ours)[:18] == tags(theirs)[:18]
    assert len(tags(ours)) == len(tags(DATA[name])) * (2 if "passes" in name else 1)
    tested = "-t" in call["args"].split()
    # VW learns with -t, too: only its first minibatch shows the model; and it loses a last minibatch that is not full
    count = 4 if tested else len(tags(theirs))
    assert np.allclose(numbers(ours)[:count], numbers(theirs)[:count], rtol=2e-3, atol=1e-3)
    if tested:
        return
    assert np.allclose(table(Path("text").read_text()), table(call["model_hex"]), rtol=1e-4)
    losses = [re.findall(r"(?:weighted example sum|average loss) = (\S+)", text)[:2] for text in (told, call["stderr"])]
    # where the last minibatch is full, VW counts it twice
    (count, loss), (their_count, their_loss) = ((float(a), float(b)) for a, b in losses)
    assert count * loss == pytest.approx(their_count * their_loss, rel=1e-5)


def test_testing_learns_nothing(case):
    case("topics", 1)
    assert np.allclose(table(Path("text").read_text()), table(RECORDED["topics"]["calls"][0]["model_hex"]), rtol=1e-4)


def test_audit_and_names(case, capsys):
    case("topics", 0)
    capsys.readouterr()
    Path("two.vw").write_text("|w a0:2 b0\n|title c2\n")
    assert run("-t -i tmp0.model -d two.vw --audit --quiet".split()) == 0
    _, words, _, title = capsys.readouterr().out.strip().split("\n")
    rows = table(Path("text").read_text())
    name, row, value, *weights = words.split("\t")[1].split(" ")[0].split(":")
    assert (name, value, len(weights)) == ("w^a0", "2", 3) and title.endswith("total of 1 features.")
    assert np.allclose(np.array(weights, float) + 0.1, rows[int(row), 1:], rtol=1e-4)
    assert run("-t -i tmp0.model -d two.vw --quiet --invert_hash names".split()) == 0
    names = [line.split(":")[0] for line in Path("names").read_text().split("Checksum: 0\n")[1].strip().split("\n")]
    assert sorted(names) == ["title^c2", "w^a0", "w^b0"]


def test_the_loss_is_a_mean_over_documents(case, capsys):
    Path("small.vw").write_text("|w a b\n|w a c\n")
    for minibatch in ("1", "2", "3"):
        assert run(["-d", "small.vw", "--lda", "2", "--minibatch", minibatch]) == 0
        assert "number of examples = 2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--lda_alpha 0.2", "--lda_alpha needs --lda"),
        ("--lda 2 --math-mode 3", "--math-mode: got '3', wanted one of 0, 1, 2"),
        ("--lda 2 -q ab", "--lda does not have it"),
        ("--lda 2 --l1 0.1", "--l1: --lda does not have it"),
        ("--lda 2 --ksvm", "got --ksvm and --lda, wanted one of them"),
        ("--lda 2 --metrics", "VW 9.11.9 crashes"),
    ],
)
def test_refused(words, message):
    with pytest.raises(UsageError, match=message):
        chain_of(parse(words.split()))


def test_options_without_effect_are_said():
    with pytest.warns(UserWarning, match=r"--learning_rate: got 3, and it is 1(.|\n)*"):
        [layer] = chain_of(parse("--lda 2 -l 3".split()))["chain"]
    assert layer["latent_dirichlet_allocation"]["learning_rate"] == 1
    with pytest.warns(UserWarning, match="--min_prediction: it has no effect"):
        chain_of(parse("--lda 2 --min_prediction 0".split()))
