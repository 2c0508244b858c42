"""The decisions of served models as lines of dsjson, which `hutch evaluate` and `hutch train` read."""

import json
from collections.abc import Iterator
from typing import Any

from hutch.core.errors import StoreError, at, did_you_mean
from hutch.core.strict_json import dumps
from hutch.durable.checksums import sound
from hutch.durable.store import Store
from hutch.serve.bodies import DSJSON

_PAGE = 256


def decision_lines(store: Store, name: str | None = None) -> Iterator[str | None]:
    """The learned decisions of one model in the order in which they were made; None for one in another form.

    Args:
        store: with the log.
        name: of the model; None: the only one.

    Raises:
        StoreError: no such model, or several without a name; or a decision is damaged.
    """
    models: dict[str, int] = {called: model for model, called in store.rows("SELECT model, name FROM serve_models")}
    if name is None and len(models) != 1:
        raise StoreError(at(str(store.path), None, None, f"has the models {', '.join(models)}: wanted --model NAME"))
    if name is not None and name not in models:
        raise StoreError(at(str(store.path), None, None, f"no model {name!r}; {did_you_mean(name, models)}"))
    model, after = models[name] if name is not None else next(iter(models.values())), (-1.0, -1)
    query = (
        "SELECT time, rowid, id, kind, body, cost, answer FROM serve_decisions"
        " WHERE model = ? AND (time, rowid) > (?, ?)"
        f" AND number IS NOT NULL AND {sound('serve_decisions')} ORDER BY time, rowid LIMIT {_PAGE}"
    )
    while rows := store.rows(query, [model, *after]):
        for _, _, id, kind, body, cost, answer in rows:
            yield _line(id, body, cost, json.loads(answer)) if kind == DSJSON else None
        after = rows[-1][0], rows[-1][1]


def _line(id: str, body: bytes, cost: float, answer: dict[str, Any]) -> str:
    """A decision with its label, its actions from 1 and the chosen one first, as in Vowpal Wabbit's own log."""
    order: list[int] = answer["ranked"]
    order.insert(0, order.pop(order.index(answer["action"])))
    shares = [answer["probabilities"][action] for action in order]
    label = {
        "_label_cost": cost,
        "_label_probability": shares[0],
        "_label_Action": order[0] + 1,
        "_labelIndex": order[0],
    }
    ranked = {"EventId": id, "a": [action + 1 for action in order], "p": shares}
    return dumps({**label, **ranked, "c": json.loads(body)["c"]}, ensure_ascii=False)
