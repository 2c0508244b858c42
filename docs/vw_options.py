"""The tables at the end of coming-from-vw.md, made from the option table of `hutch vw`."""

from collections.abc import Iterator

from hutch.vw.absent import ABSENT
from hutch.vw.table import OPTIONS

BEGIN = "## Reductions\n"
"""What they begin with; the page above is written by hand."""


def tables() -> str:
    """The tables in Markdown."""
    lines = [BEGIN, "| VW | YAML |", "|---|---|", *_reductions(), "", "## Option by option", ""]
    lines += ["| option | | remark |", "|---|---|---|"]
    for option in OPTIONS:
        if option.supported:
            names = f"`--{option.name}`" + (f" `-{option.short}`" if option.short else "")
            lines.append(_row(names, option.verdict, option.note))
    advice: dict[str, list[str]] = {}
    for name, instead in ABSENT.items():
        advice.setdefault(instead, []).append(f"`--{name}`")
    lines += [_row(" ".join(names), "not supported", instead) for instead, names in advice.items()]
    return "\n".join(lines) + "\n"


def _reductions() -> Iterator[str]:
    """Each layer with the options that bring it and set its parameters."""
    layers: dict[str, list[str]] = {}
    for option in OPTIONS:
        if option.layer:
            layers.setdefault(option.layer, []).append(f"`--{option.name}`")
    layers["action_probabilities"] = ["`--csoaa_ldf --probabilities`"]
    yield from (f"| {' '.join(names)} | `{layer}` |" for layer, names in layers.items())


def _row(names: str, verdict: str, remark: str) -> str:
    return f"| {names} | {verdict} | {remark.replace('|', chr(92) + '|')} |"
