"""Vowpal Wabbit itself as an oracle of weights by name and of `--audit`, where it is installed."""

import re
import subprocess
import sys

import pytest

from hutch.vw.main import run

pytest.importorskip("vowpalwabbit", reason="the peer is not installed: pip install vowpalwabbit==9.11.9")

EXAMPLES = """\
1 |x a b c |y d e:2 |z 3 4 f^g | u v
-1 |x b a:0.5 a |abc m n |axc o
1 |y d e f |x b a
"""
DECISIONS = """\
shared |u p q
0:1:0.5 |a c d e
|a d c |b g h

shared |u q
|a c e
1:0.5:0.25 |a d c |b h g

"""

LOGGED = """\
1:1:0.5 |u ann |v b:2 c
2:0:0.25 't|u bob |v c
1:0:0.5 |u ann |v d c
|u ann |v b
"""
CLASSES = """\
1 |u ann |v b:2 c
2 't|u bob |v c
1 |u ann |v d c
|u ann |v b
"""


def both(tmp_path, monkeypatch, words):
    """Runs of both, and what they print, theirs first."""
    monkeypatch.chdir(tmp_path)
    command = [sys.executable, "-m", "vowpalwabbit", *words, "--quiet", "--invert_hash", "theirs"]
    theirs = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert run([*words, "--quiet", "--invert_hash", "ours"]) == 0
    return theirs


def weights(path):
    """The weights of a readable model, by name."""
    return sorted(re.findall(r"^\S+:\d+:-?\d.*$", path.read_text(), re.MULTILINE))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("--ngram 2", EXAMPLES),
        ("--ngram 3 --skips 1", EXAMPLES),
        ("--ngram x3 --ngram y2 --skips y1 -q xy", EXAMPLES),
        ("--ngram 2 -q aa --ignore z", EXAMPLES),
        ("--cb_explore_adf --ngram 2 -q ua", DECISIONS),
    ],
)
def test_same_names(arguments, text, tmp_path, monkeypatch, capfd):
    (tmp_path / "data").write_text(text)
    theirs = both(tmp_path, monkeypatch, ["-d", "data", "--audit", *arguments.split()])
    assert weights(tmp_path / "ours") == weights(tmp_path / "theirs")
    features = {line for line in theirs.splitlines() if line.startswith("\t")}
    assert features == {line for line in capfd.readouterr().out.splitlines() if line.startswith("\t")}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("--cb 3 -q uv", LOGGED),
        ("--cb 2 --cb_type dr", LOGGED),
        ("--cb_explore 2 -q :: --l2 0.01", LOGGED),
        ("--cb_explore 2 --bag 2", LOGGED),
        ("--cb_explore 2 --cover 2", LOGGED),
        ("--cb 2 -t", LOGGED),
        ("--cbify 3 --epsilon 0.3 -q uv", CLASSES),
        ("--cbify 2 --ngram 2", CLASSES),
        ("--cb_explore_adf --epsilon 0.2 -q ua", DECISIONS),
    ],
)
def test_same_scores_and_names_of_actions(arguments, text, tmp_path, monkeypatch, capfd):
    """VW prints an action again for each of its sub-models, and when it is learned."""
    (tmp_path / "data").write_text(text)
    theirs = both(tmp_path, monkeypatch, ["-d", "data", "--audit", *arguments.split()]).splitlines()
    ours = capfd.readouterr().out.splitlines()
    printed = iter(zip(theirs[::2], theirs[1::2], strict=True))
    assert ours and all(pair in printed for pair in zip(ours[::2], ours[1::2], strict=True))
    assert weights(tmp_path / "ours") == weights(tmp_path / "theirs")


@pytest.mark.parametrize("arguments", ["--l1 0.05", "--l1 0.05 --l2 0.1", "--l2 0.1 -q xy"])
def test_same_truncated_weights(arguments, tmp_path, monkeypatch):
    (tmp_path / "data").write_text(EXAMPLES)
    both(tmp_path, monkeypatch, ["-d", "data", "--predict_only_model", *arguments.split()])
    assert weights(tmp_path / "ours") == weights(tmp_path / "theirs")
