"""The summary that `hutch crowd` prints."""

import sys
from collections.abc import Mapping
from typing import Any

from hutch.core.strict_json import dumps
from hutch.crowd.cli.options import CrowdOptions
from hutch.crowd.data.unsure import taken_as
from hutch.shell.sentences import Verdict

_SHOWN = (
    "read_as", "model", "method", "questions", "tasks", "workers", "reference", "labels", "classes",
    "iterations", "objective", "duplicates",
    "contradictions", "left_out", "unsure", "ties", "effective_labels", "krippendorff_alpha", "krippendorff_ordinal",
    "krippendorff_interval", "gold", "split_tasks", "mean", "deviation", "noise", "bias", "level_deviation", "wild",
    "open_tasks", "closed_tasks", "reopened_tasks", "corrected_labels", "late_gold", "new_classes",
)  # fmt: skip
_IF_ANY = (
    "duplicates", "contradictions", "left_out", "ties", "gold",
    "closed_tasks", "reopened_tasks", "corrected_labels", "late_gold", "new_classes",
)  # fmt: skip
"""What a text leaves out where there is none."""
_OF_STREAMS = ("iterations", "objective")
"""What a text leaves out in batch, where nothing is decided by it; `--json` has all."""
_EACH = ("label", "share", "question", "tasks", "workers", "labels", "classes", "krippendorff_alpha")
"""Columns of the table of labels, or of questions."""


def show(summary: dict[str, Any], options: CrowdOptions, aside: bool) -> None:
    """Print the summary.

    Args:
        summary: its lines by name.
        options: whether it is one JSON object.
        aside: other output goes to standard output; print it on standard error.
    """
    text = dumps(summary) if options.json else "\n".join(lines_of(summary))
    print(text, file=sys.stderr if aside else sys.stdout, flush=True)  # before what else is said on standard error


def lines_of(summary: Mapping[str, Any]) -> list[str]:
    """The summary for people."""
    whole = dict(summary)
    if "unsure" in whole:
        whole["unsure"] = taken_as(**whole["unsure"])
    batch = summary.get("method") == "batch"
    lines = [
        named(name, whole[name])
        for name in _SHOWN
        if name in whole and not (name in _IF_ANY and not whole[name]) and not (name in _OF_STREAMS and batch)
    ]
    lines += [named(name, value) for name, value in summary.get("score", {}).items()]
    if "panel" in summary:
        from hutch.crowd.mixed.worth import sentences  # not at the top: few runs have a panel

        lines += [named("panel", sentence) for sentence in sentences(summary["panel"])]
    for group in summary.get("copies", ()):
        lines.append(f"{'copies' if group['one_voice'] else 'copies or experts':<20} {', '.join(group['workers'])}")
    for number, row in enumerate(summary.get("each", ())):
        columns = {key: row[key] for key in _EACH if key in row}
        columns |= row.get("score", {})
        lines += [] if number else ["", "\t".join(columns).replace("_", " ")]
        lines.append("\t".join(map(shown, columns.values())))
    titles = {"next": "label next", "unsettled": "more labels will not settle"}
    for name, title in titles.items():
        if name not in summary:
            continue
        nobody = "; who is available has labelled every task" if name == "next" and summary.get("tasks") else ""
        lines += ["", f"{title}:" if summary[name] else f"{title}: none{nobody}"]
        if summary[name]:
            ask = "\task" if "worker" in summary[name][0] else ""
            ask += "\tprice\tgain per price" if "price" in summary[name][0] else ""
            lines.append(f"task\tconfidence\tratings\tgain\tlabels needed{ask}")
        for row in summary[name]:
            needed = "many" if row["labels_needed"] is None else f"{row['labels_needed']:.1f}"
            cells = f"{row['task']}\t{row['confidence']:.3f}\t{row['ratings']}\t{row['gain']:.4f}\t{needed}"
            cells += f"\t{row['worker'] or 'nobody'}" if "worker" in row else ""
            lines.append(cells + (f"\t{row['price']:g}\t{row['gain'] / row['price']:.4g}" if "price" in row else ""))
    return [*lines, *Verdict.of_json(summary).lines()]


def named(name: str, value: Any, unknown: str = "undefined") -> str:
    """A line of a summary: a name and its value; `unknown` stands for None."""
    return f"{name.replace('_', ' '):<20} {shown(value, unknown)}"


def shown(value: Any, unknown: str = "undefined") -> str:
    """A value for people."""
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return unknown if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)
