"""Sentences and next commands: shares, names, words that are quoted for a shell."""

import shlex

import pytest

from hutch.shell import sentences
from hutch.shell.sentences import Verdict, names, next_command, percent, remember, typed_command


@pytest.fixture(autouse=True)
def _forgets():
    yield
    remember([])


@pytest.mark.parametrize(
    ("share", "wanted"),
    [
        ((0.871, 0.85, 0.89), "87 % (85 to 89 %)"),
        ((0.5, 0.2, 0.9), "50 % (20 to 90 %)"),
        ((0.9971, 0.9952, 0.998), "99.7 % (99.5 to 99.8 %)"),
        ((0.501, 0.495, 0.507), "50.1 % (49.5 to 50.7 %)"),
        ((1.0, 0.93, 1.0), "100 % (93 to 100 %)"),
    ],
)
def test_a_share_has_digits_that_show_its_interval(share, wanted):
    assert percent(*share) == wanted


def test_lists_of_names_are_cut():
    assert names([]) == ""
    assert names([""]) == "(no name)"
    assert names(["a", "b"]) == "a and b"
    assert names(["a", "b", "c", "d"]) == "a, b, c and 1 more"
    assert names([str(n) for n in range(1204)]) == "0, 1, 2 and 1,201 more"


def test_the_next_command_is_what_was_typed_and_more():
    typed = ["hutch", "crowd", "it's mine; rm.tsv", "--gold=a b.tsv", "--json", "--quiet"]
    remember(typed)
    assert shlex.split(next_command("--next", "50")) == [*typed[:4], "--next", "50"]
    assert shlex.split(next_command(without=["--gold=a b.tsv"])) == typed[:3]
    assert shlex.split(typed_command()) == typed


def test_a_quoted_command_stays_on_one_line():
    remember(["hutch", "crowd", "my -p labels.tsv"])
    *_, line = Verdict(("It is.",), next_command("--next", "50")).lines(30)
    assert shlex.split(line.removeprefix("Next: ")) == ["hutch", "crowd", "my -p labels.tsv", "--next", "50"]


def test_without_a_command_there_is_no_next_one():
    assert next_command("--next", "50") == ""
    assert Verdict(("All is well.",)).as_json() == {"verdict": ["All is well."], "next_command": None}


def test_lines_fit_and_keep_numbers_whole():
    said = Verdict(("It is right on 87 % (85 to 89 %) of all that was asked.",), "hutch crowd labels.tsv --next 50")
    for columns in range(30, 80):
        lines = said.lines(columns)
        text, command = " ".join(lines).split(" Next: ")
        assert text.strip() == str(said)
        assert shlex.split(command.replace("\\ ", "")) == said.command.split()
        assert not any(line.startswith(("%", "to ", "89")) for line in lines)
        assert all(len(line) <= columns for line in lines)
    assert Verdict.of_json(said.as_json()) == said
    assert Verdict.of_json({}).lines() == []
    assert sentences.MOST == 3
