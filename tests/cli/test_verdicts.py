"""Every analysis ends in a verdict, with the same sentences in its text and in --json, and a command that runs."""

import json
import shlex

import numpy as np
import pytest


def told(hutch, *words, quiet=True):
    """The verdict of a command, which its text shows, too."""
    more = ["--quiet"] if quiet else []
    found, text = hutch(*words, *more, "--json"), hutch(*words, *more)
    assert found.code == 0 == text.code, found.err
    verdict = json.loads(found.out)
    assert isinstance(verdict["verdict"], list) and len(verdict["verdict"]) <= 3
    assert " ".join(verdict["verdict"]) in " ".join(text.out.split())
    assert (" Next: " in " ".join(text.out.split())) == bool(verdict["next_command"])
    return verdict


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def follow(hutch, verdict):
    """Run the next command."""
    result = hutch(*shlex.split(verdict["next_command"])[1:])
    assert result.code == 0, result.err


def test_pairs(hutch, here):
    random, players = np.random.default_rng(0), ["a", "b", "c"]
    rows = ["worker,left,right,winner\n"]
    for n in range(400):
        one, other = random.choice(3, 2, replace=False).tolist()
        wins = random.random() < 1 / (1 + np.exp(2.0 * (one - other)))
        rows.append(f"w{n % 5},{players[one]},{players[other]},{'left' if wins else 'right'}\n")
    (here / "votes.csv").write_text("".join(rows))
    found = told(hutch, "crowd", "votes.csv", "--pairs")
    assert found["verdict"] == ["a is the strongest of 3 players, by 400 votes, surely ahead of all others."]
    follow(hutch, found)


def test_several_labels(hutch, here):
    random, rows = np.random.default_rng(0), ["worker,task,label\n"]
    for task in range(120):
        true = random.random(2) < (0.7, 0.2)
        for worker in random.permutation(8)[:5].tolist():
            said = [name for name, yes in zip("xy", true ^ (random.random(2) < 0.08), strict=True) if yes]
            rows.append(f"w{worker},t{task},{'|'.join(said) or 'none'}\n")
    (here / "sets.csv").write_text("".join(rows))
    found = told(hutch, "crowd", "sets.csv", "--multi-label")
    assert "is answered worst: Hutch's yes or no is right on an estimated" in found["verdict"][0]
    follow(hutch, found)


def test_several_questions(hutch, here):
    random, rows = np.random.default_rng(0), ["worker,task,question,answer\n"]
    for task in range(100):
        for question in ("safe", "fluent", "true", "kind"):
            true = random.random() < 0.5
            for worker in random.permutation(6)[:4].tolist():
                rows.append(f"w{worker},t{task},{question},{'no yes'.split()[int(true ^ (random.random() < 0.1))]}\n")
    (here / "forms.csv").write_text("".join(rows))
    found = told(hutch, "crowd", "forms.csv")
    assert len(found["verdict"]) == 3 and found["verdict"][2].startswith("--json has a verdict for each of the other 2")
    assert all(row["verdict"] for row in found["each"])
    follow(hutch, found)


def test_numbers(hutch, here):
    random = np.random.default_rng(0)
    rows = [f"w{w}\tt{t}\t{t + random.normal(0, 2):.2f}\n" for t in range(80) for w in random.permutation(9)[:4]]
    (here / "numbers.tsv").write_text("".join(rows))
    found = told(hutch, "crowd", "numbers.tsv", "--model", "numbers")
    assert found["verdict"][0].startswith("Half of 80 tasks are known to within")
    follow(hutch, found)


def crowd(path, tasks=150):
    random, rows = np.random.default_rng(0), ["worker,task,label\n"]
    for task in range(tasks):
        true = random.integers(3)
        for worker in random.permutation(9)[:5].tolist():
            guess = worker == 8 or random.random() > 0.85
            rows.append(f"w{worker},t{task},{'abc'[random.integers(3) if guess else true]}\n")
    path.write_text("".join(rows))


def test_streams(hutch, here):
    crowd(here / "labels.csv")
    found = told(hutch, "crowd", "labels.csv", "--stream", "--method", "online")
    assert found["verdict"][0].startswith("Majority voting is right on an estimated")
    assert found["verdict"][1].startswith("Worker w8 answers hardly better than chance")
    assert found["next_command"].endswith("-p answers.tsv")
    follow(hutch, found)
    assert (here / "answers.tsv").read_text().count("\n") == 151


@pytest.mark.parametrize("model", ["dawid_skene", "one_coin"])
def test_streams_of_a_model_that_is_too_sure(hutch, here, model):
    crowd(here / "labels.csv")
    found = told(hutch, "crowd", "labels.csv", "--stream", "--method", "online", "--model", model)
    assert found["verdict"][0].startswith("Cannot tell how many labels are right, because the probabilities of the")
    assert found["next_command"].endswith("--gold gold.tsv")


@pytest.mark.slow
def test_shards_with_gold(hutch, here):
    crowd(here / "labels.csv")
    random = np.random.default_rng(0)
    gold = []
    for task in range(150):  # the random numbers of `crowd`
        gold.append(f"t{task}\t{'abc'[random.integers(3)]}\n")
        for worker in random.permutation(9)[:5].tolist():
            if worker == 8 or random.random() > 0.85:
                random.integers(3)
    (here / "gold.tsv").write_text("".join(gold[:60]))
    one = told(hutch, "crowd", "labels.csv", "--gold", "gold.tsv")
    found = told(hutch, "crowd", "labels.csv", "--gold", "gold.tsv", "--shards", "2")
    assert found["verdict"] == one["verdict"]
    assert found["verdict"][0].startswith("On the 60 tasks whose class is known, Hutch is right on")
    follow(hutch, found)


def test_streams_of_several_labels_and_of_numbers(hutch, here):
    random = np.random.default_rng(0)
    sets, numbers = ["worker,task,label\n"], []
    for task in range(120):
        true = random.random(2) < (0.7, 0.2)
        for worker in random.permutation(8)[:5].tolist():
            said = [name for name, yes in zip("xy", true ^ (random.random(2) < 0.08), strict=True) if yes]
            sets.append(f"w{worker},t{task},{'|'.join(said) or 'none'}\n")
            numbers.append(f"w{worker}\tt{task}\t{task + random.normal(0, 2):.2f}\n")
    (here / "sets.csv").write_text("".join(sets))
    (here / "numbers.tsv").write_text("".join(numbers))
    stream = ("--stream", "--method", "online")
    found = told(hutch, "crowd", "sets.csv", "--multi-label", "--model", "two_level", "--classes", "x,y,none", *stream)
    assert "is answered worst: Hutch's yes or no is right on an estimated" in found["verdict"][0]
    follow(hutch, found)
    found = told(hutch, "crowd", "numbers.tsv", "--model", "numbers", *stream)
    assert found["verdict"][0].startswith("Half of 120 tasks are known to within")
    follow(hutch, found)


@pytest.mark.parametrize(("signal", "wanted"), [(True, "was better than"), (False, "was no better than")])
def test_training_is_compared_with_a_constant(hutch, here, signal, wanted):
    random, lines = np.random.default_rng(0), []
    for _ in range(600):
        a, noise = random.integers(20), random.integers(20)
        label = a < 10 if signal else random.random() < 0.5
        lines.append(f"{1 if label else -1} | a{a} b{noise}\n")
    (here / "data.vw").write_text("".join(lines))
    out = hutch("train", "data.vw", "--loss_function", "logistic").err
    assert f"On these examples the model {wanted} always predicting" in out
    found = json.loads(hutch("train", "data.vw", "--loss_function", "logistic", "--quiet", "--json").out)
    assert found["verdict"][0] in out
    twice = ("train", "data.vw", "--loss_function", "logistic", "--passes", "2", "--quiet", "--json")
    assert json.loads(hutch(*twice).out)["verdict"] == []
    assert "always predicting" not in hutch("vw", "data.vw", "--loss_function", "logistic").err
