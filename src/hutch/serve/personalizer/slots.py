"""Personalizer's requests with several slots: a decision for each slot, one after the other, all stored at once.

A slot's decision is among the actions that no slot before it has, and that leave one for each slot behind it. Its
features stand in the namespace `slot`, with the slot's id among them. So a slot has a reward, a default and a
probability of its own, and the same chain learns from single decisions.
"""

import json
import sqlite3
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hutch.core.errors import did_you_mean, shortened
from hutch.durable.choices import Contradiction, Decided, Reward, UnknownDecision, answers_of, check_deferred
from hutch.serve.bodies import DSJSON, SOURCE, parse_json
from hutch.serve.decisions import Caller, activate, decide, reward_first, store
from hutch.serve.personalizer.requests import (
    Actions,
    actions_of,
    checked_list,
    checked_name,
    checked_object,
    event_of,
    features_of,
    value_of,
    wrong,
)
from hutch.serve.served import Served

_KEYS = ("actions", "slots", "contextFeatures", "eventId", "deferActivation")
_SLOT = ("id", "baselineAction", "features", "excludedActions")


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot of a request.

    Attributes:
        id: of the slot.
        allowed: places of the actions that it may have.
        baseline: place of the action that the caller would have chosen.
        features: of the slot.
    """

    id: str
    allowed: frozenset[int]
    baseline: int
    features: list[Any] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SlotsRequest:
    """A request for decisions.

    Attributes:
        id: of the event; empty: one is to be made.
        actions: of all slots.
        slots: in their order.
        deferred: the event is inactive until it is activated.
    """

    id: str
    actions: Actions
    slots: list[Slot]
    deferred: bool

    def decision(self, k: int, among: Sequence[int]) -> bytes:
        """The decision of slot k among actions, as a line of dsjson."""
        slot = [{"id": self.slots[k].id}, *self.slots[k].features]
        return self.actions.decision(among, {"slot": slot})


def slots_request(body: bytes) -> SlotsRequest:
    """Read the body of a rank request with slots.

    Raises:
        DataError: what cannot be used, with its place.
    """
    found = checked_object(parse_json(body), "", _KEYS)
    actions = actions_of(found)
    places = {id: k for k, id in enumerate(actions.ids)}
    slots: list[Slot] = []
    for k, each in enumerate(checked_list(found.get("slots"), "slots")):
        where = f"slots[{k}]"
        given = checked_object(each, where, _SLOT)
        id, baseline = checked_name(given.get("id"), f"{where}.id"), given.get("baselineAction")
        if id in (slot.id for slot in slots):
            raise wrong(f"{where}.id", f"got {shortened(id)!r} again, wanted an id of its own for each slot")
        excluded = checked_list(given.get("excludedActions") or [], f"{where}.excludedActions")
        allowed = frozenset(places.values()) - {places.get(str(name), -1) for name in excluded}
        if not isinstance(baseline, str) or baseline not in places:
            got = json.dumps(baseline)[:40]
            raise wrong(f"{where}.baselineAction", f"got {got}; {did_you_mean(str(baseline)[:40], places)}")
        if places[baseline] not in allowed or any(slot.baseline == places[baseline] for slot in slots):
            taken = "an excluded action" if places[baseline] not in allowed else "that of another slot"
            raise wrong(
                f"{where}.baselineAction", f"got {baseline!r}, {taken}, wanted one that the slot may have alone"
            )
        features = features_of(given.get("features") or [], f"{where}.features")
        slots.append(Slot(id, allowed, places[baseline], features))
    if not slots:
        raise wrong("slots", "got none, wanted one or more")
    id, deferred = event_of(found)
    return SlotsRequest(id, actions, slots, deferred)


def possible(slots: Sequence[Slot], used: frozenset[int]) -> list[int]:
    """The actions that the first slot may have so that each slot behind it can have one of its own.

    Args:
        slots: that have no action yet.
        used: actions that others have.

    >>> one, other = Slot("one", frozenset({0, 1}), 0), Slot("other", frozenset({1}), 1)
    >>> possible([one, other], frozenset()), possible([other], frozenset({1}))
    ([0], [])
    """
    first, *rest = slots
    return [action for action in sorted(first.allowed - used) if _fits(rest, used | {action})]


def _fits(slots: Sequence[Slot], used: frozenset[int]) -> bool:
    """Whether each slot can have an action of its own: augmenting paths in a bipartite graph."""
    owner: dict[int, int] = {}

    def find(k: int, tried: set[int]) -> bool:
        for action in slots[k].allowed - used - tried:
            tried.add(action)
            if action not in owner or find(owner[action], tried):
                owner[action] = k
                return True
        return False

    return all(find(k, set()) for k in range(len(slots)))


def name_of(event: str, slot: str) -> str:
    """The id of the decision of a slot."""
    return json.dumps([event, slot], ensure_ascii=False)


def _beginning_of(event: str) -> str:
    return json.dumps([event], ensure_ascii=False)[:-1] + ", "


async def rank_slots(served: Served, wanted: SlotsRequest, share: float | None = None) -> dict[str, Any]:
    """Draw an action for each slot; the same event gets the same ones.

    Args:
        served: the model.
        wanted: the request.
        share: of events in which it draws as an apprentice; None: in all.

    Raises:
        Contradiction: the event had another body before, or was deferred and is not now, or the reverse.
        DataError: what the chain cannot use.
    """
    event = wanted.id or uuid.uuid4().hex
    names = [name_of(event, slot.id) for slot in wanted.slots]
    while True:
        known = await _known(served, event) if wanted.id else {}
        if known and set(known) != set(names):
            raise Contradiction(f"eventId: got {event!r} with other slots than before, wanted a new id")
        chosen, made = _draw(served, wanted, names, known, share)

        def keep(connection: sqlite3.Connection, made: list[Decided] = made) -> bool:
            if made and answers_of(connection, served.key, _beginning_of(event)):
                return False  # the same event came twice at once
            for each in made:
                store(connection, served, each)
            return True

        if await served.log.commits.done(keep):
            break
    return {
        "slots": [
            {"id": slot.id, "rewardActionId": wanted.actions.ids[action]}
            for slot, action in zip(wanted.slots, chosen, strict=True)
        ],
        "eventId": event,
    }


def _draw(
    served: Served,
    wanted: SlotsRequest,
    names: list[str],
    known: dict[str, tuple[bytes, dict[str, Any]]],
    share: float | None,
) -> tuple[list[int], list[Decided]]:
    """The action of each slot, and the decisions that are new."""
    used: frozenset[int] = frozenset()
    chosen, made = [], []
    for k, name in enumerate(names):
        among = possible(wanted.slots[k:], used)  # never empty: the baselines are one way
        body = wanted.decision(k, among)
        if name in known:
            before, answer = known[name]
            if before != body:
                raise Contradiction(f"eventId: got {wanted.id!r} with another body than before, wanted a new id")
            check_deferred(answer, wanted.deferred, wanted.id, "eventId")
        else:
            theirs = wanted.slots[k].baseline
            is_left = share is not None and theirs in among  # a slot before may have drawn it
            caller = Caller(among.index(theirs), share or 0.0) if is_left else None
            made.append(replace(decide(served, DSJSON, body, name, caller), deferred=wanted.deferred))
            answer = made[-1].answer
        chosen.append(among[answer["action"]])
        used |= {chosen[-1]}
    return chosen, made


async def _known(served: Served, event: str) -> dict[str, tuple[bytes, dict[str, Any]]]:
    """Body and answer of the decisions of an event, by name."""
    found: dict[str, tuple[bytes, dict[str, Any]]] = await served.log.commits.done(
        lambda connection: answers_of(connection, served.key, _beginning_of(event))
    )
    return found


async def _slots_of(served: Served, event: str) -> list[str]:
    """Names of the slots of an event.

    Raises:
        UnknownDecision: there is no such event.
    """
    found = [json.loads(name)[1] for name in await _known(served, event)]
    if not found:
        raise UnknownDecision(
            f"eventId: there is no event {shortened(event)!r} with slots of the model {served.name!r}"
        )
    return found


async def reward_slots(served: Served, event: str, body: bytes) -> None:
    """Accept the rewards of slots, all or none; of each slot the first counts.

    Raises:
        DataError: a malformed body, or a slot that the event does not have.
        UnknownDecision: there is no such event.
    """
    found = checked_object(parse_json(body), "", ("reward",))
    slots, told = await _slots_of(served, event), []
    for k, each in enumerate(checked_list(found.get("reward"), "reward")):
        where = f"reward[{k}]"
        given = checked_object(each, where, ("slotId", "value"))
        slot = checked_name(given.get("slotId"), f"{where}.slotId")
        if slot not in slots:
            raise wrong(f"{where}.slotId", f"got {shortened(slot)!r}; {did_you_mean(slot[:100], slots)}")
        told.append(Reward(name_of(event, slot), -value_of(given, f"{where}."), (SOURCE, None, None), "reward"))
    if not told:
        raise wrong("reward", "got none, wanted one or more")
    await reward_first(served, told)


async def activate_slots(served: Served, event: str) -> None:
    """Activate all slots of an event.

    Raises:
        UnknownDecision: there is no such event.
    """
    await activate(served, [name_of(event, slot) for slot in await _slots_of(served, event)])
