"""The tables at the end of coming-from-vw.md, made from the option table of `hutch vw`."""

import textwrap
from collections.abc import Iterator

from hutch.vw.options.absent import ABSENT
from hutch.vw.options.option import Option
from hutch.vw.options.table import OPTIONS

BEGIN = "### Every refused option\n"
"""The heading of the first table; the page above it is written by hand."""


def tables() -> str:
    """The tables in Markdown."""
    lines = [BEGIN, "The message of `hutch vw` says what to use instead:", ""]
    lines += _wrapped([f"`--{name}`" for name in ABSENT])
    lines += ["", "## Reductions", "", "| VW | YAML |", "|---|---|", *_reductions()]
    supported = [option for option in OPTIONS if option.supported]
    lines += ["", "## Options", "", "The same as in VW:", ""]
    lines += _wrapped([_names(option) for option in supported if option.verdict == "same"])
    lines += ["", "Different:", "", "| options | difference |", "|---|---|"]
    different = [option for option in supported if option.verdict != "same"]
    notes = dict.fromkeys(option.note for option in different)
    lines += [_row(", ".join(_names(each) for each in different if each.note == note), note) for note in notes]
    return "\n".join(lines) + "\n"


def _names(option: Option) -> str:
    return f"`--{option.name}`" + (f" `-{option.short}`" if option.short else "")


def _wrapped(names: list[str]) -> list[str]:
    """The names with commas between them, in lines of one width."""
    return textwrap.wrap(", ".join(names) + ".", 130, break_on_hyphens=False, break_long_words=False)


def _reductions() -> Iterator[str]:
    """Each layer with the options that bring it and set its parameters."""
    layers: dict[str, list[str]] = {}
    for option in OPTIONS:
        if option.layer:
            layers.setdefault(option.layer, []).append(f"`--{option.name}`")
    layers["action_probabilities"] = ["`--csoaa_ldf --probabilities`"]
    yield from (f"| {' '.join(names)} | `{layer}` |" for layer, names in layers.items())


def _row(names: str, remark: str) -> str:
    return f"| {names} | {remark.replace('|', chr(92) + '|')} |"
