"""Bodies of Personalizer's requests as decisions in the form of its logs, dsjson.

The features of the context stand in the namespace `FromUrl`, an action's id in `i`, its features in `j`, and an object
among them is a namespace of its own: so a log that Personalizer mirrored trains the same weights.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hutch.core.errors import DataError, at, did_you_mean, shortened
from hutch.core.strict_json import dumps
from hutch.durable.records import check_name
from hutch.serve.bodies import SOURCE, parse_json

LONGEST = 256
"""Characters of an id."""
_LARGEST = 3.4028234663852886e38
"""Of the numbers that features can have, those of float32."""
_KEYS = ("actions", "contextFeatures", "excludedActions", "eventId", "deferActivation")


@dataclass(frozen=True, slots=True)
class Actions:
    """The actions of a request.

    Attributes:
        ids: of all actions, in their order.
        context: features that all share.
        each: the features of each action.
    """

    ids: list[str]
    context: list[Any]
    each: list[dict[str, Any]]

    def decision(self, among: Sequence[int], further: Mapping[str, Any] | None = None) -> bytes:
        """The decision among actions as a line of dsjson.

        Args:
            among: their places.
            further: features that they share, by namespace.
        """
        features = {"FromUrl": self.context, **(further or {}), "_multi": [self.each[k] for k in among]}
        return dumps({"a": list(range(1, len(among) + 1)), "c": features}, ensure_ascii=False).encode()


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
    found = checked_object(parse_json(body), "", _KEYS)
    actions = actions_of(found)
    listed = checked_list(found.get("excludedActions") or [], "excludedActions")
    excluded = {checked_name(each, "excludedActions") for each in listed}
    kept = [k for k, id in enumerate(actions.ids) if id not in excluded]
    if not kept:
        raise wrong("excludedActions", "got all of the actions, wanted at least one that may be chosen")
    id, deferred = event_of(found)
    return RankRequest(id, actions.ids, kept, deferred, actions.decision(kept))


def actions_of(found: Mapping[str, Any]) -> Actions:
    """The context and the actions of a request.

    Raises:
        DataError: what cannot be used, with its place.
    """
    context = features_of(found.get("contextFeatures") or [], "contextFeatures")
    actions = checked_list(found.get("actions"), "actions")
    if not actions:
        raise wrong("actions", "got none, wanted one or more")
    ids, multi = [], []
    for k, each in enumerate(actions):
        where = f"actions[{k}]"
        action = checked_object(each, where, ("id", "features"))
        ids.append(checked_name(action.get("id"), f"{where}.id"))
        if ids[-1] in ids[:-1]:
            raise wrong(f"{where}.id", f"got {shortened(ids[-1])!r} again, wanted an id of its own for each action")
        features = features_of(action.get("features") or [], f"{where}.features")
        multi.append({"_tag": ids[-1], "i": {"constant": 1, "id": ids[-1]}, "j": features})
    return Actions(ids, context, multi)


def event_of(found: Mapping[str, Any]) -> tuple[str, bool]:
    """The id of the event, empty if it has none, and whether its activation is deferred.

    Raises:
        DataError: they are something else.
    """
    deferred = found.get("deferActivation") or False
    if not isinstance(deferred, bool):
        raise wrong("deferActivation", f"got {dumps(deferred)[:40]}, wanted true or false")
    given = found.get("eventId")
    return "" if given is None or given == "" else checked_name(given, "eventId"), deferred


def reward_value(body: bytes) -> float:
    """Read the body of a reward request.

    Raises:
        DataError: it is not `{"value": …}` with a number from -1 to 1.

    >>> reward_value(b'{"value": 0.5}')
    0.5
    """
    return value_of(checked_object(parse_json(body), "", ("value",)), "")


def value_of(found: Mapping[str, Any], where: str) -> float:
    """The reward of an object.

    Args:
        found: the object.
        where: its place and a dot, or empty.

    Raises:
        DataError: it is no number from -1 to 1.
    """
    value = found.get("value")
    if not isinstance(value, int | float) or isinstance(value, bool) or not -1 <= value <= 1:
        raise wrong(f"{where}value", f"got {dumps(value)[:40]}, wanted a number from -1 to 1")
    return float(value)


def wrong(where: str, text: str) -> DataError:
    """What cannot be used at a place of the body."""
    return DataError(at(SOURCE, None, None, f"{where}: {text}" if where else text))


def checked_object(found: Any, where: str, keys: tuple[str, ...]) -> dict[str, Any]:
    """An object without other keys than these."""
    if not isinstance(found, dict):
        raise wrong(where, f"got {dumps(found)[:40]}, wanted an object with {' and '.join(keys)}")
    for key in found:
        if key not in keys:
            raise wrong(where, f"unknown key {key[:40]!r}; {did_you_mean(key[:40], keys)}")
    return found


def checked_list(found: Any, where: str) -> list[Any]:
    """A list."""
    if not isinstance(found, list):
        raise wrong(where, f"got {dumps(found)[:40]}, wanted a list")
    return found


def checked_name(found: Any, where: str) -> str:
    """An id."""
    if not isinstance(found, str) or not found:
        raise wrong(where, f"got {dumps(found)[:40]}, wanted an id")
    return check_name(found, f"{SOURCE}: {where}", LONGEST)


def features_of(found: Any, where: str) -> list[Any]:
    """A list of objects with features, without the names that begin with an underscore."""
    features = []
    for k, each in enumerate(checked_list(found, where)):
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
    if isinstance(found, int | float) and not -_LARGEST <= found <= _LARGEST:
        raise wrong(where, f"got {found!r:.40}, wanted a number below 3.4e38")
    return found
