"""Command lines that are read without Typer: Typer reads them in the same way, and all others are left to it."""

import contextlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hutch.cli.shell.app import as_command
from hutch.cli.shell.declared import Command, Group, Option, Parameter, parameters_of
from hutch.cli.shell.parse import understood
from hutch.cli.table import COMMANDS, load


def commands() -> Iterator[tuple[str, Command]]:
    """Every command but `hutch vw`, whose words VW reads."""
    for name in COMMANDS:
        target = load(name)
        if isinstance(target, Group):
            yield from ((f"{name} {each}", command) for each, command in target.commands.items())
        elif name != "vw":
            yield name, target


ALL = dict(commands())
PARAMETERS = {name: parameters_of(command) for name, command in ALL.items()}
VALUES: dict[Any, tuple[str, ...]] = {
    int: ("2", "300", "1", "25"),
    float: ("0.75", "1", "1e0", "0.5", "1."),
    str: ("a.vw", "-", "é b", "x=1", "-1=no", "--quiet", "a,b"),
    Path: ("model", "a/b.db", "-"),
}
STRANGE = st.sampled_from((
    "", "--", "-", "---", "-x", "-1", "-l", "0", "+3", "007", "1_000", " 5", "5 ", "0x10", "٣", "1e400", "nan", "inf",
    "-0", "1.5", ".5", "99999", "123456789012345678901234567890", "true", "\udc80", "a\tb", "a\nb", "=", "-=", "--=",
    "--json=1", "--js", "--help", "-h", "--no-ordered", "--ordered=no", "-tq", "-pf", "-n=3", "-n3", "~", "@file",
    "\N{NO-BREAK SPACE}",
))  # fmt: skip


@cache
def as_typer_reads(name: str) -> Callable[[list[str]], dict[str, Any] | None]:
    """What Typer makes of words for a command: its arguments, or None if it refuses them."""
    seen: list[dict[str, Any]] = []

    def record(**arguments: Any) -> None:
        seen.append(arguments)

    record.parameters = PARAMETERS[name]  # type: ignore[attr-defined]
    command = as_command(record, name)

    def read(words: list[str]) -> dict[str, Any] | None:
        seen.clear()
        with contextlib.redirect_stdout(None), contextlib.suppress(Exception):
            command.main(list(words), prog_name=name, standalone_mode=False)
        return seen[0] if seen else None

    return read


def forms(parameter: Parameter, value: st.SearchStrategy[str]) -> st.SearchStrategy[list[str]]:
    """A parameter with a value, in each of its forms."""
    if not parameter.names:
        return value.map(lambda text: [text])
    names = [each for name in parameter.names for each in name.split("/")]
    if parameter.value_type is bool:
        return st.sampled_from(names).map(lambda name: [name])

    def joined(name: str, text: str, together: bool) -> list[str]:
        if not together:
            return [name, text]
        return [f"{name}={text}" if name.startswith("--") else name + text]

    return st.builds(joined, st.sampled_from(names), value, st.booleans())


def right(parameter: Parameter) -> st.SearchStrategy[list[str]]:
    """A parameter with a value that it takes."""
    kind = parameter.value_type.__args__[0] if parameter.is_many else parameter.value_type
    fits = [text for text in VALUES.get(kind, ("",)) if parameter.names or not text.startswith("--")]
    if isinstance(parameter.said, Option) and kind in (int, float):
        low, high = parameter.said.min, parameter.said.max
        fits = [text for text in fits if (low is None or float(text) >= low) and (high is None or float(text) <= high)]
    return forms(parameter, st.sampled_from([text for text in fits if parameter.names or not text.startswith("-1")]))


@st.composite
def right_words(draw: st.DrawFn, name: str) -> list[str]:
    """A command line with nothing wrong in it."""
    parameters = PARAMETERS[name]
    wanted = [each for each in parameters if each.default is ...]
    others = [each for each in parameters if each.default is not ... and (each.names or each.is_many)]
    more = draw(st.lists(st.sampled_from(others), max_size=4)) if others else []
    pieces = [draw(right(each)) for each in draw(st.permutations([*wanted, *more]))]
    return [word for piece in pieces for word in piece]


@st.composite
def any_words(draw: st.DrawFn, name: str) -> list[str]:
    """A command line that may be wrong anywhere."""
    words = draw(right_words(name))
    for parameter in draw(st.lists(st.sampled_from([*PARAMETERS[name], None]), min_size=1, max_size=3)):
        at = draw(st.integers(0, len(words)))
        words[at:at] = draw(forms(parameter, STRANGE) if parameter else STRANGE.map(lambda word: [word]))
    if draw(st.booleans()) and words:
        del words[draw(st.integers(0, len(words) - 1))]
    return words


NAMES = st.sampled_from(sorted(ALL))


@settings(max_examples=150, deadline=None)
@given(NAMES.flatmap(lambda name: st.tuples(st.just(name), right_words(name))))
def test_what_is_right_is_read_without_typer_and_as_typer_reads_it(line: tuple[str, list[str]]) -> None:
    name, words = line
    found = understood(ALL[name], words)
    assert found is not None and found[0] is ALL[name]
    assert found[1] == as_typer_reads(name)(words)
    assert list(map(type, found[1].values())) == list(map(type, (as_typer_reads(name)(words) or {}).values()))


@settings(max_examples=300, deadline=None)
@given(NAMES.flatmap(lambda name: st.tuples(st.just(name), any_words(name))))
def test_what_is_strange_is_left_to_typer_or_read_as_typer_reads_it(line: tuple[str, list[str]]) -> None:
    name, words = line
    found = understood(ALL[name], words)
    assert found is None or found[1] == as_typer_reads(name)(words)


@pytest.mark.parametrize(
    ("name", "words", "found"),
    [
        ("serve", ["model", "--port", "65535"], {"port": 65535}),
        ("serve", ["model", "--port", "65536"], None),
        ("serve", ["model", "--port", "-1"], None),
        ("evaluate", ["log.vw", "-C", "chain.yaml", "--confidence", "1"], None),
        ("predict", ["-i", "model", "--", "--json", "-"], {"data": ["--json", "-"], "json": False}),
        ("predict", ["-i", "model", "---", "data.vw"], None),
    ],
)
def test_ranges_and_what_stands_behind_two_dashes(name: str, words: list[str], found: dict[str, Any] | None) -> None:
    read = understood(ALL[name], words)
    assert (None if read is None else read[1].items() >= (found or {}).items()) is (None if found is None else True)
    assert (as_typer_reads(name)(words) is None) is (found is None)


def test_a_value_in_the_environment_is_left_to_typer(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["--store", "labels.db"]
    for wanted in (True, False):
        assert (understood(ALL["active serve"], words) is not None) is wanted
        monkeypatch.setenv("HUTCH_TOKEN", "a secret")
    assert (as_typer_reads("active serve")(words) or {})["token"] == "a secret"
    assert understood(ALL["active serve"], [*words, "--token", "mine"]) is not None


def test_groups_choose_by_the_first_word() -> None:
    group = load("plugins")
    assert understood(group, []) == (group.commands["list"], {"as_json": False})
    assert understood(group, ["list", "--json"]) == (group.commands["list"], {"as_json": True})
    assert understood(group, ["--json"]) is None and understood(group, ["nothing"]) is None
    assert understood(load("active"), []) is None


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_a_group_has_the_same_default_in_typer(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    with contextlib.suppress(SystemExit):
        as_command(load("plugins"), "plugins")(words, prog_name="plugins")
    assert capfd.readouterr().out.startswith("" if words else "hutch.")
