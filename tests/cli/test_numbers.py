"""Numbers off a grid, which `hutch crowd` takes for classes."""

import numpy as np
import pytest

ONLINE = ("--method", "online")


def labels(path, values):
    """A file of three labels per task."""
    rows = [f"w{n % 3}\tt{n // 3}\t{value}\n" for n, value in enumerate(values)]
    path.write_text("worker\ttask\tlabel\n" + "".join(rows))


@pytest.mark.parametrize("more", [(), ONLINE, (*ONLINE, "--stream", "--classes", ",".join(map(str, range(14))))])
def test_many_numbers_are_told_unless_an_option_says_what_they_are(hutch, tmp_path, monkeypatch, more):
    monkeypatch.chdir(tmp_path)
    labels(tmp_path / "n.tsv", [n / 2 for n in range(15)] if "--classes" not in more else range(14))
    told = "numbers, each taken as a class; --model numbers if they are measurements"
    assert ("n.tsv: 15 " + told in hutch("crowd", "n.tsv", *more).err) == ("--classes" not in more)
    assert told not in hutch("crowd", "n.tsv", *more, "--no-ordered").err


def test_a_stream_tells_of_many_numbers(hutch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labels(tmp_path / "n.tsv", [n / 2 for n in range(13)] * 3)
    assert "n.tsv: 13 numbers, each taken" in hutch("crowd", "n.tsv", *ONLINE, "--stream").err


@pytest.mark.parametrize("values", [range(12), [f"c{n}" for n in range(30)], [*range(20), "x"]])
def test_few_numbers_and_names_are_not(hutch, tmp_path, monkeypatch, values):
    monkeypatch.chdir(tmp_path)
    labels(tmp_path / "n.tsv", values)
    assert "taken as a class" not in hutch("crowd", "n.tsv").err


def test_rounded_numbers_are_closer_to_the_truth_than_means(hutch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    truth, bias, noise = random.normal(10, 3, 400), random.normal(0, 1, 5), np.array([0.3, 0.5, 1, 2, 3])
    said = truth[:, None] + bias + noise * random.standard_normal((400, 5))
    rounded = np.clip(np.round(said), 1, 20).astype(int)
    rows = [f"w{w}\tt{i}\t{rounded[i, w]}\n" for i in range(400) for w in range(5)]
    (tmp_path / "n.tsv").write_text("worker\ttask\tlabel\n" + "".join(rows))
    assert hutch("crowd", "n.tsv", "--ordered", "-p", "p.tsv").code == 0
    head, *lines = [line.split("\t") for line in (tmp_path / "p.tsv").read_text().splitlines()]
    mean = np.array([float(line[head.index("mean")]) for line in lines])
    error, of_means = (np.sqrt(np.mean((x - truth) ** 2)) for x in (mean, said.mean(axis=1)))
    assert error < 0.8 * of_means
