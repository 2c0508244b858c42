"""`hutch label`."""

import json

import pytest

from hutch.label.simulate import simulated


def write_votes(path, world, judge, names=("no", "yes", "maybe")):
    votes = world.votes[judge]
    rows = zip(votes.label[:, 0].tolist(), votes.probability[:, 0].tolist(), strict=True)
    lines = [f"t{item}\t{names[label]}\t{p:.4f}" for item, (label, p) in enumerate(rows)]
    path.write_text("\n".join(["task\tlabel\tprobability", *lines]) + "\n")


def write_world(folder, items=300, classes=2):
    world = simulated(items, [0.8, 0.93], classes, seed=3)
    names = "no yes maybe".split()
    for judge, name in enumerate(("small", "large")):
        write_votes(folder / f"{name}.tsv", world, judge)
    truth = "\n".join(f"ann\tt{item}\t{names[k]}" for item, k in enumerate(world.truth.tolist()))
    (folder / "people.tsv").write_text(truth + "\n")
    (folder / "who.yaml").write_text(
        "small: {kind: judge, price: 0.001, votes: small.tsv}\n"
        "large: {kind: judge, price: 0.02, votes: large.tsv}\n"
        "people: {kind: person, price: 0.50, votes: people.tsv}\n"
    )
    return world, names


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_simulate(hutch):
    done = hutch("label", "simulate", "--items", 500, "--runs", 3, "--target", "accuracy=0.9", "--json")
    found = json.loads(done.out)
    assert done.code == 0 and found["hutch"]["runs"] == 3 and found["hutch"]["held"] == 1
    assert found["hutch"]["bill"] < found["people"]["bill"] == 500
    table = hutch("label", "simulate", "--items", 500, "--runs", 1)
    assert [line.split("  ")[0] for line in table.out.splitlines()[1:]][:2] == ["hutch", "random"]


def test_simulate_files(hutch, here):
    write_world(here, classes=3)
    done = hutch("label", "simulate", "--who", "who.yaml", "--target", "accuracy=0.9", "--runs", 2, "--json")
    found = json.loads(done.out)
    assert found["people"]["bill"] == 150 and found["hutch"]["share"] < 0.7


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("people: {kind: person, price: x, store: true}\n", "who.yaml:1:31: people.price: got 'x', wanted a number"),
        ("people: {kind: person, store: true, prise: 1}\n", "who.yaml:1:37: people.prise: unknown key; did you mean"),
        ("people: {kind: person, price: 1}\n", "who.yaml:1:9: people: got none, wanted one of votes, command, store"),
        ("small: {kind: judge, price: 1, votes: a}\n", "who.yaml:1:1: got 0 kinds of people, wanted one"),
        ("a: {kind: judge, price: 1, store: true}\n", "who.yaml:1:4: a: store: got true for a judge"),
        ("[]\n", "who.yaml:1:1: wanted kinds of annotators"),
    ],
)  # fmt: skip
def test_mistakes_in_who_have_places(hutch, here, text, wanted):
    (here / "who.yaml").write_text(text)
    done = hutch("label", "simulate", "--who", "who.yaml")
    assert done.code == 2 and wanted in done.err


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["--target", "recall=0.9"], "--target: got 'recall=0.9', wanted accuracy=P"),
        (["--target", "accuracy=95"], "--target: got 'accuracy=95'"),
        (["--errors", "calibratd"], "--errors: got 'calibratd'; did you mean 'calibrated'?"),
        (["--accuracy", "0.4,0.9"], "--accuracy: got [0.4, 0.9], wanted numbers above 0.5"),
        (["--price", "1,2"], "--price: got 2 prices, wanted 3"),
        (["--confidence", "1"], "--confidence: got 1, wanted a number between 0 and 1"),
    ],
)
def test_mistakes_in_options(hutch, arguments, wanted):
    done = hutch("label", "simulate", "--items", 50, *arguments)
    assert done.code == 2 and wanted in done.err


@pytest.mark.parametrize(
    ("file", "text", "wanted"),
    [
        ("small.tsv", "task\tlabel\tprobability\nt1\tyes\t1.5\n", "small.tsv:2:8: probability: got '1.5', wanted"),
        ("small.tsv", "gpt\tt1\tYes\n", "label: got 'yes' and 'Yes'; wanted one spelling"),
        ("small.tsv", "gpt\tx1\tyes\n", "small.tsv: got no item that is to be labelled, such as 'x1'"),
        ("small.tsv", None, "small.tsv: no such file"),
    ],
)
def test_votes_that_cannot_be(hutch, here, file, text, wanted):
    write_world(here)
    (here / file).write_text(text) if text is not None else (here / file).unlink()
    done = hutch("label", "simulate", "--who", "who.yaml")
    assert done.code == 1 and wanted in done.err
