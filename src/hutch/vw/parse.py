"""Reads Vowpal Wabbit's command line by the table of its options."""

import argparse
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NoReturn

from hutch.core.errors import UsageError, at, did_you_mean
from hutch.shell.help_text import entries, noted, paragraph, width
from hutch.vw.options.absent import ABSENT
from hutch.vw.options.option import Option
from hutch.vw.options.table import GROUPS, OPTIONS


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


_TYPES: dict[str, Any] = {"int": int, "float": float, "text": str, "texts": str, "words": str}
_FIRST_COUNTS = ("learning_rate", "power_t")
"""Of options given twice VW takes the first value of these, and refuses all others unless the values agree."""


class _Once(argparse.Action):
    """Keeps the value of an option that has only one.

    Raises:
        UsageError: it is given twice, with different values.
    """

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: Any = None) -> None:
        before = getattr(namespace, self.dest)
        if before is None:
            setattr(namespace, self.dest, values)
        elif values != before and self.dest not in _FIRST_COUNTS:
            raise UsageError(f"--{self.dest}: got {before} and {values}, wanted one value")


def _reader(option: Option) -> Any:
    def read(text: str) -> Any:
        try:
            value = _TYPES[option.kind](text)
        except ValueError:
            wanted = "a whole number" if option.kind == "int" else "a number"
            raise UsageError(f"--{option.name}: got {text!r}, wanted {wanted}") from None
        if option.choices and text not in option.choices:
            raise UsageError(f"--{option.name}: got {text!r}, wanted one of {', '.join(option.choices)}")
        if option.least is not None and not value >= option.least:
            raise UsageError(f"--{option.name}: got {text}, wanted at least {option.least:g}")
        return value

    return read


@cache
def _parser() -> _Parser:
    width = partial(argparse.HelpFormatter, width=80)  # not the terminal's: it would be asked at every option
    parser = _Parser(prog="hutch vw", add_help=False, allow_abbrev=False, formatter_class=width)
    for option in OPTIONS:
        if not option.supported:
            continue
        names = [f"--{option.name}", *([f"-{option.short}"] if option.short else [])]
        if option.kind == "flag":
            parser.add_argument(*names, action="store_true")
        elif option.kind == "texts":
            parser.add_argument(*names, action="append", default=[], type=_reader(option))
        elif option.kind == "words":
            parser.add_argument(*names, action="extend", nargs="+", default=[], type=_reader(option))
        else:
            parser.add_argument(*names, action=_Once, type=_reader(option), dest=option.name)
    parser.add_argument("files", nargs="*")
    return parser


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read a VW command line.

    Returns:
        Values by option name, None, False or an empty list where not given; `files` holds bare words.

    Raises:
        UsageError: an option that is unknown, not supported or given twice, or a value of the wrong kind.

    >>> options = parse(["-q", "ab", "cd", "-l", "0.1", "train.vw"])
    >>> options.quadratic, options.learning_rate, options.files
    (['ab', 'cd'], 0.1, ['train.vw'])
    >>> parse(["--automl", "3"])
    Traceback (most recent call last):
    ...
    hutch.core.errors.UsageError: --automl is not supported: compare chains on one log with `hutch evaluate`
    """
    words: list[str] = []
    for word in _with_file(arguments):
        if words and re.match(r"-[.\d]", word) and re.fullmatch(r"--\w+", words[-1]):
            words[-1] += f"={word}"  # argparse takes -1e3 and -1:2 for options
        else:
            words.append(word)
    found, unknown = _parser().parse_known_args(words)
    refuse([word for word in unknown if re.match("-+[^-.0-9]", word)] or unknown)
    found.cb_explore_adf |= found.experimental_igl  # which VW adds, too
    return found


def _with_file(arguments: Sequence[str]) -> Iterator[str]:
    """The words, and in place of `--args FILE` those of the file.

    Raises:
        UsageError: it cannot be read, or holds several command lines.
    """
    words = iter(arguments)
    for word in words:
        if word != "--args" and not word.startswith("--args="):
            yield word
            continue
        path = word.partition("=")[2] or next(words, "")
        try:
            lines = Path(path).read_text().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text"
            raise UsageError(f"--args: got {path!r}, which cannot be read: {reason}") from None
        written = [number for number, line in enumerate(lines, 1) if line.strip()]
        if len(written) > 1:
            wanted = "wanted one: run each by itself"
            raise UsageError(at(path, written[1], None, f"got another command line, {wanted}"))
        for number in written:
            try:
                yield from shlex.split(lines[number - 1])
            except ValueError as error:
                raise UsageError(at(path, number, None, str(error))) from None


def refuse(words: Sequence[str]) -> None:
    """Refuse options that are not supported, listing all of them by name.

    Raises:
        UsageError: there are any; the message names the alternatives.
    """
    if words:
        raise UsageError("\n".join(_refusals(dict.fromkeys(words))))


def _refusals(words: Iterable[str]) -> Iterator[str]:
    """Messages for the words; options with the same alternative share one."""
    absent: dict[str, list[str]] = {}
    unknown = []
    for word in words:
        name = word.lstrip("-").partition("=")[0]
        if name in ABSENT:
            absent.setdefault(ABSENT[name], []).append(f"--{name}")
        else:
            unknown.append(word)
    for instead, names in absent.items():
        yield f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} not supported: {instead}"
    valid = [f"--{option.name}" for option in OPTIONS if option.supported]
    for word in unknown:
        nearest = did_you_mean(word, valid)
        hint = nearest if nearest.startswith("did") else "see `hutch vw --help` for the available options"
        yield f"unknown option {word!r}; {hint}"


_COLUMN = 32


def help_text() -> str:
    """The text of `hutch vw --help`."""
    columns = width()
    lines = ["Usage: hutch vw [--to-yaml] ARGS...", "", "  Run a Vowpal Wabbit command line.", ""]
    example = "Example: hutch vw -d train.vw --loss_function logistic -q ab -f model"
    lines += [*paragraph(example, columns), "", "Options:"]
    own = [
        ("--to-yaml", "Print the chain that the options stand for; read no data."),
        ("-h, --help", "Show this message and exit."),
    ]
    lines += entries(own, columns, _COLUMN)
    for heading, group in GROUPS.items():
        lines += [
            "",
            f"{heading}:",
            *entries(((_named(option), _described(option)) for option in group), columns, _COLUMN),
        ]
    return "\n".join(lines)


def _named(option: Option) -> str:
    short = f"-{option.short}, " if option.short else ""
    more = "..." if option.kind == "words" and not option.metavar.endswith("...") else ""
    return f"{short}--{option.name} {option.metavar}".rstrip() + more


def _described(option: Option) -> str:
    text = option.help if option.help[:1].isupper() else f"With --{' or --'.join(option.needs)}: {option.help}"
    return noted(text, [] if option.default is None else [f"default: {option.default}"])
