"""Records whose values no chain can learn from are refused with their number, whether they come in a batch or alone."""

import tracemalloc
from typing import Any

import pytest

from hutch.core.data import one_record
from hutch.core.data.one_record import RecordFiller
from hutch.core.data.sources import record_batches
from hutch.core.errors import DataError
from hutch.core.text.parser import ParserOptions

HUGE = 10**400  # an integer beyond all floats
CHOICE = {"class": 1, "cost": 0.5, "probability": 0.5}
DECISION = {"actions": [{"a": "b"}, {"a": "c"}], "chosen": 1, "cost": 0.5, "probability": 0.5}
REFUSED: list[tuple[str, dict[str, Any]]] = [
    *(("simple", {"label": label, "w": "a"}) for label in (HUGE, 1e300, -1e39, "x", [1])),
    *(("simple", {"label": 1, "w": {"a": value}}) for value in (HUGE, 1e300, [1], {"b": 1})),
    *(("simple", {"label": 1, "w": "a", "importance": weight}) for weight in (HUGE, 1e39, -1, "x")),
    *(("simple", {"label": 1, "w": "a", "base": base}) for base in (HUGE, 1e39, "x")),
    *(("simple", {"label": 1, "w": names}) for names in ([["b"]], ["a", {"b": 1}], [("a", 1)], b"a")),
    *(("multiclass", {"label": label, "w": "a"}) for label in (HUGE, 1.5, -1, 1 << 25)),
    *(("cost_sensitive", {"label": {name: 1.0}, "w": "a"}) for name in ("x", "-1", "1.5", 1.5, None, 1 << 40)),
    ("cost_sensitive", {"label": {"9" * 5000: 1.0}, "w": "a"}),
    *(("cost_sensitive", {"label": {1: cost}, "w": "a"}) for cost in ("x", HUGE, 1e39, float("nan"), [])),
    *(("logged_class", {"label": {**CHOICE, "class": name}, "w": "a"}) for name in (1.5, HUGE, float("nan"), -1, None)),
    *(("logged_class", {"label": {**CHOICE, "cost": cost}, "w": "a"}) for cost in (HUGE, 1e39, "1", None)),
    *(("logged_class", {"label": {**CHOICE, "probability": share}, "w": "a"}) for share in (0, 2, 1e-60, HUGE)),
    *(("logged_action", {**DECISION, "chosen": number}) for number in (2, -1, HUGE, 0.5)),
    *(("logged_action", {**DECISION, "cost": cost}) for cost in (HUGE, 1e39, "1")),
    *(("logged_action", {**DECISION, "probability": share}) for share in (0, 1e-60, HUGE)),
    *(("action_costs", {"actions": DECISION["actions"], "costs": costs}) for costs in (5, [1], [1, HUGE], [1, 1e39])),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "record"), REFUSED, ids=lambda given: repr(given)[:60])
def test_refused(kind: Any, record: dict[str, Any]) -> None:
    options = ParserOptions(label=kind)
    with pytest.raises(DataError, match="<records>:1: "):
        list(record_batches([record], options))
    if "actions" not in record:
        assert not RecordFiller(options).fill(record)  # leaves it to the batch, which says why


def test_the_least_costly_class_is_the_label() -> None:
    records = [{"label": {"2": 3.0, "1": 5.0, "3": 3.0}}, {"label": {"1": None}}, {"label": {"3": 0.0, "1": 1.0}}]
    [batch] = record_batches(records, ParserOptions(label="cost_sensitive"))
    assert batch.labels[[0, 2]].tolist() == [2, 3]
    assert batch.cost_classes.tolist() == [2, 1, 3, 1, 3, 1]


@pytest.mark.parametrize(
    "record",
    [lambda k: {f"space {k}": "a"}, lambda k: {"s": {f"a {k}": f"{k}" + "w" * 10_000}}, lambda k: {"s": f"{k}" * 1000}],
    ids=["namespaces", "words", "names"],
)
@pytest.mark.slow
def test_ever_new_names_take_no_more_memory(record: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_record, "_KEPT", 1 << 20)
    filler = RecordFiller(ParserOptions())
    tracemalloc.start()
    for k in range(30_000 if "s" not in record(0) else 3_000):
        assert filler.fill(record(k))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 11e6  # all of them: more than 12 MB
    assert filler.fill({"s": "a"}) and filler.arrays["row_ptr"][1] == 2
