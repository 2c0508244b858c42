"""The page that tells VW's users what they find again, made from the option table."""

from hutch.cli.vw_absent import ABSENT
from hutch.cli.vw_table import OPTIONS

_HEAD = """\
# Coming from Vowpal Wabbit

Paste your command line behind `hutch vw` and go on working: the same text format, hashing, updates in float32 and in
VW's order, the same progress table. Against VW 9.11.9 (the wheel on PyPI) predictions agree to the character and
weights to the bit for the learner, all losses, interactions, passes with holdout, and the reductions below.

    hutch vw -d train.vw --loss_function logistic -q ab --passes 5 -f model
    hutch vw -d test.vw -t -i model -p predictions
    hutch vw --to-yaml --oaa 5 -q ab            # the chain that the options stand for, to go on with `hutch train -C`

An option that Hutch does not have is refused by name, with what to use instead; nothing is ignored silently.

## What is different on purpose

* Malformed lines are reported with file, line and column. Where VW trains on them, Hutch does the same;
  `--strict_parse` stops instead.
* A model file holds the whole chain, its loss included, and every array: training on A, saving, loading and training
  on B gives exactly the weights of training on A and B. VW forgets the loss, and resumes several sub-models inexactly.
* Passes read the data again; there is no cache that could be stale.
* In YAML, namespaces go by their full names. `hutch vw` goes by first letter, as VW does
  (`input: {namespaces: letter}`).

## Reductions

| VW | YAML |
|---|---|
| `--oaa` | `one_against_all` |
| `--ect` | `error_correcting_tournament` |
| `--csoaa` | `cost_sensitive_one_against_all` |
| `--ngram --skips` | `ngrams` |
| `--redefine` | `merge_namespaces` |
| `--lrq` | `low_rank_quadratic` |
| `--link` | `link` |
| `--binary` | `binary` |
| `--active` | `active` with `rule: vw` and `simulation: false` |
| `--active --simulation` | `active` with `rule: vw` |

## Option by option
"""


def page() -> str:
    """The page in Markdown."""
    lines = [_HEAD, "| option | | remark |", "|---|---|---|"]
    for option in OPTIONS:
        if option.there:
            names = f"`--{option.name}`" + (f" `-{option.short}`" if option.short else "")
            lines.append(_row(names, option.verdict, option.note))
    advice: dict[str, list[str]] = {}
    for name, instead in ABSENT.items():
        advice.setdefault(instead, []).append(f"`--{name}`")
    lines += [_row(" ".join(names), "not there", instead) for instead, names in advice.items()]
    return "\n".join(lines) + "\n"


def _row(names: str, verdict: str, remark: str) -> str:
    return f"| {names} | {verdict} | {remark.replace('|', chr(92) + '|')} |"
