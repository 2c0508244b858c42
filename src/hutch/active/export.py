"""Answers in the formats of other programs: CSV, and the labels of `hutch crowd`."""

import csv
import json
from collections.abc import Mapping, Sequence
from io import StringIO

from hutch.active.documents import check_shown
from hutch.core.errors import UsageError, did_you_mean
from hutch.durable.store import Store

FORMATS = ("csv", "crowd")


def export(store: Store, form: str, names: Mapping[str, str], fields: Sequence[str] = ()) -> str:
    """All labels of a store.

    Args:
        store: its labels; skipped and unknown requests are omitted.
        form: one of `FORMATS`: a row per label with the request's fields; `worker task label`.
        names: text for each label; a label without one is written itself.
        fields: fields of documents to write; empty: all.

    Raises:
        UsageError: an unknown format, or a field that no document has.
    """
    if form not in FORMATS:
        raise UsageError(f"--format: got {form!r}; {did_you_mean(form, FORMATS)}")
    rows = store.labels("r.id, r.line, d.document, l.worker, l.label, l.time, r.probability, r.model")
    documents = [json.loads(row[2]) if row[2] else {"line": row[1]} for row in rows]
    columns = list(dict.fromkeys(name for document in documents for name in document))
    check_shown(fields, columns)
    out = StringIO()
    table = csv.writer(out, delimiter="\t" if form == "crowd" else ",", lineterminator="\n")
    if form == "crowd":
        table.writerow(["worker", "task", "label"])
        table.writerows([row[3], row[0], names.get(row[4], row[4])] for row in rows)
        return out.getvalue()
    columns = list(fields) or columns
    own = ["request", "worker", "label", "probability", "model", "time"]
    table.writerow([*own, *(f"document_{name}" if name in own else name for name in columns)])
    for row, document in zip(rows, documents, strict=True):
        known = [row[0], row[3], names.get(row[4], row[4]), f"{row[6]:.9g}", row[7], f"{row[5]:.3f}"]
        table.writerow([*known, *(document.get(name, "") for name in columns)])
    return out.getvalue()
