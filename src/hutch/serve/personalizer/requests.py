"""Bodies of Personalizer's requests as decisions in the form of its logs, dsjson.

The features of the context stand in the namespace `FromUrl`, an action's id in `i`, its features in `j`, and an object
among them is a namespace of its own: so a log that Personalizer mirrored trains the same weights.
"""

from dataclasses import dataclass
from typing import Any

from hutch.core.errors import DataError, at, did_you_mean, shortened
from hutch.core.strict_json import dumps
from hutch.durable.records import check_name
from hutch.serve.bodies import SOURCE, parse_json

LONGEST = 256
"""Characters of an id."""
_KEYS = ("actions", "contextFeatures", "excludedActions", "eventId", "deferActivation")


@dataclass(frozen=True, slots=True)
class RankRequest:
    """A request for a decision.

    Attributes:
        id: of the event; empty: one is to be made.
        ids: of all actions, in their order.
        kept: the places of those that are not excluded.
        deferred: the event is inactive until it is activated.
        decision: the features, and the actions that are not excluded, as a line of dsjson.
    """

    id: str
    ids: list[str]
    kept: list[int]
    deferred: bool
    decision: bytes


def rank_request(body: bytes) -> RankRequest:
    """Read the body of a rank request.

    Raises:
        DataError: what cannot be used, with its place.

    >>> found = rank_request(b'{"actions": [{"id": "a", "features": []}, {"id": "b", "features": [{"x": 1}]}]}')
    >>> found.ids, found.kept
    (['a', 'b'], [0, 1])
    """
    found = _object(parse_json(body), "", _KEYS)
    context = _features(found.get("contextFeatures") or [], "contextFeatures")
    actions = _list(found.get("actions"), "actions")
    if not actions:
        raise wrong("actions", "got none, wanted one or more")
    ids, multi = [], []
    for k, each in enumerate(actions):
        where = f"actions[{k}]"
        action = _object(each, where, ("id", "features"))
        ids.append(_name(action.get("id"), f"{where}.id"))
        if ids[-1] in ids[:-1]:
            raise wrong(f"{where}.id", f"got {shortened(ids[-1])!r} again, wanted an id of its own for each action")
        features = _features(action.get("features") or [], f"{where}.features")
        multi.append({"_tag": ids[-1], "i": {"constant": 1, "id": ids[-1]}, "j": features})
    excluded = {_name(each, "excludedActions") for each in _list(found.get("excludedActions") or [], "excludedActions")}
    kept = [k for k, id in enumerate(ids) if id not in excluded]
    if not kept:
        raise wrong("excludedActions", "got all of the actions, wanted at least one that may be chosen")
    deferred = found.get("deferActivation") or False
    if not isinstance(deferred, bool):
        raise wrong("deferActivation", f"got {dumps(deferred)[:40]}, wanted true or false")
    given = found.get("eventId")
    id = "" if given is None or given == "" else _name(given, "eventId")
    return RankRequest(id, ids, kept, deferred, _decision(context, [multi[k] for k in kept]))


def _decision(context: list[Any], actions: list[Any]) -> bytes:
    features = {"FromUrl": context, "_multi": actions}
    return dumps({"a": list(range(1, len(actions) + 1)), "c": features}, ensure_ascii=False).encode()


def reward_value(body: bytes) -> float:
    """Read the body of a reward request.

    Raises:
        DataError: it is not `{"value": …}` with a number from -1 to 1.

    >>> reward_value(b'{"value": 0.5}')
    0.5
    """
    return _value(_object(parse_json(body), "", ("value",)), "")


def _value(found: dict[str, Any], where: str) -> float:
    value = found.get("value")
    if not isinstance(value, int | float) or isinstance(value, bool) or not -1 <= value <= 1:
        raise wrong(f"{where}value", f"got {dumps(value)[:40]}, wanted a number from -1 to 1")
    return float(value)


def wrong(where: str, text: str) -> DataError:
    """What cannot be used at a place of the body."""
    return DataError(at(SOURCE, None, None, f"{where}: {text}" if where else text))


def _object(found: Any, where: str, keys: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise wrong(where, f"got {dumps(found)[:40]}, wanted an object with {' and '.join(keys)}")
    for key in found:
        if key not in keys:
            raise wrong(where, f"unknown key {key[:40]!r}; {did_you_mean(key[:40], keys)}")
    return found


def _list(found: Any, where: str) -> list[Any]:
    if not isinstance(found, list):
        raise wrong(where, f"got {dumps(found)[:40]}, wanted a list")
    return found


def _name(found: Any, where: str) -> str:
    if not isinstance(found, str) or not found:
        raise wrong(where, f"got {dumps(found)[:40]}, wanted an id")
    return check_name(found, f"{SOURCE}: {where}", LONGEST)


def _features(found: Any, where: str) -> list[Any]:
    """A list of objects with features, without the names that begin with an underscore."""
    features = []
    for k, each in enumerate(_list(found, where)):
        if not isinstance(each, dict):
            raise wrong(f"{where}[{k}]", f"got {dumps(each)[:40]}, wanted an object with features")
        try:
            features.append(_cleaned(each, f"{where}[{k}]"))
        except RecursionError:
            raise wrong(f"{where}[{k}]", "got objects within objects without end") from None
    return features


def _cleaned(found: Any, where: str) -> Any:
    if isinstance(found, dict):
        return {key: _cleaned(each, f"{where}.{key}") for key, each in found.items() if not key.startswith("_")}
    if isinstance(found, list):
        for each in found:
            if not isinstance(each, dict | int | float) or isinstance(each, bool):
                raise wrong(where, f"got {dumps(each)[:40]} in a list, wanted numbers or objects")
        return [_cleaned(each, where) for each in found]
    return found
