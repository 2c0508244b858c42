"""Options for features made of names, other names of namespaces, limits and masks: what is refused, what is kept."""

import re

import pytest

from hutch import Chain
from hutch.core.errors import UsageError
from hutch.vw.command_line import words_of
from hutch.vw.main import run
from hutch.vw.parse import parse
from hutch.vw.translate import chain_of

TEXT = "".join(f"{1 - 2 * (k % 2)} |a word{k % 5} x:{k} |b y{k % 3}\n" for k in range(40))


def chain(line):
    return chain_of(parse(line.split()))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--affix 8a", "--affix: got '8a', wanted + or -, a length from 1 to 7"),
        ("--affix +2ab", "--affix: got '+2ab'"),
        ("--affix " + ",".join(["+1a"] * 17), "--affix: got 17 for a, wanted at most 16"),
        ("--dictionary w:none.txt", "--dictionary: got 'w:none.txt', wanted a file in . or in --dictionary_path"),
        ("--dictionary_path .", "--dictionary_path needs --dictionary"),
        ("--redefine ab", "--redefine: got 'ab', wanted N:=S"),
        ("--redefine ab:=c", "--redefine: got 'ab:=c', wanted N:=S"),
        ("--spelling a --json", "--spelling: got it with --json, wanted text"),
        ("--affix 2a --csv", "--affix: got it with --csv, wanted text"),
        ("--feature_limit a:3", "--feature_limit: got 'a:3', wanted a3; VW reads it as a limit of 0"),
        ("--feature_limit 0", "--feature_limit: got '0', wanted at least 1; --ignore leaves a namespace out"),
        ("--feature_limit 3 --feature_limit a2", "--feature_limit: got a limit for all namespaces and one for some"),
    ],
)
def test_refused(line, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=re.escape(message)):
        chain(line)


def test_the_last_affix_of_a_namespace_is_made_first():
    found = chain("--affix +2a,-3,+1a,4")["input"]["affixes"]
    assert found == [{"namespace": "a", "prefix": 1}, {"namespace": "a", "prefix": 2}, {"prefix": 4}, {"suffix": 3}]


def test_namespaces_are_renamed_in_the_order_of_the_options():
    renamed = chain("--redefine := --redefine y:=: --redefine x:=arma")["input"]["renamed"]
    assert set(renamed["x"]) == {"a", "r", "m"} and {"b", "z", "0"} < set(renamed["y"]) and "y" not in renamed["y"]


def test_the_command_line_of_a_chain(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words").write_text("word1 good\n")
    line = "--affix +2a,-3a,1 --spelling a _ --dictionary a:words words --redefine x:=yz --feature_limit a3 b4"
    config = Chain.from_config(chain(line)).config
    again = Chain.from_config(chain(" ".join(words_of(config)).replace("  :words", " words"))).config
    assert again.input == config.input and again.chain == config.chain


def test_a_model_goes_on_with_its_features(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").write_text(TEXT)
    (tmp_path / "words").write_text("word1 good:2 one\nword2 two\n")
    line = "--affix +5a,-1b --spelling b --dictionary a:words -q ab --quiet"
    run(["-d", "data", *line.split(), "-f", "model"])
    run(["-d", "data", "-i", "model", "-p", "continued", "--quiet"])
    (tmp_path / "twice").write_text(TEXT * 2)
    run(["-d", "twice", *line.split(), "-p", "whole"])
    assert (tmp_path / "continued").read_text() == "".join((tmp_path / "whole").read_text().splitlines(True)[40:])


def test_a_mask_of_other_weights_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").write_text(TEXT)
    run("-d data -f all --quiet".split())
    run("-d data -f some --ignore b --quiet".split())
    with pytest.raises(UsageError, match="--feature_mask: got some, whose weights of 0 are not those of all"):
        run("-d data -i all --feature_mask some --quiet".split())
    run("-d data --feature_mask some -f masked --quiet".split())
    some, masked = Chain.load("some").weights[:, 0], Chain.load("masked").weights[:, 0]
    assert ((some == 0) == (masked == 0)).all() and (some != masked).any()
    with pytest.raises(UsageError, match="learned without one_against_all, which the options ask for"):
        run("-d data --oaa 3 --feature_mask some --quiet".split())


def test_names_of_limited_features_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").write_text(TEXT)
    with pytest.raises(UsageError, match="--audit and --invert_hash: got --feature_limit"):
        run("-d data --feature_limit 1 --audit --quiet".split())


def test_vws_lines_about_dictionaries(tmp_path, monkeypatch, capsys):
    """As VW 9.11.9 prints them for this file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").write_text(TEXT)
    (tmp_path / "d1").write_text("hello f:1 g:2\nfoo |z q\nx y:3 w\nhello no:1\nbar p p 12:4 |u y | k\n")
    run("-d data --dictionary a:d1 --dictionary d1".split())
    told = [line for line in capsys.readouterr().err.splitlines() if "dictionary" in line]
    assert told == [
        "scanned dictionary 'd1' from './d1', hash=cd5b23e73046bf95",
        "dictionary d1 contains 3 items",
        "scanned dictionary 'd1' from './d1', hash=cd5b23e73046bf95",
    ]
