"""Decisions over HTTP: an action is drawn and stored with its probability, and learned when its cost is known."""

import asyncio
import json
import math
import sqlite3
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch, ends_of_groups, shared_rows
from hutch.core.chain.capabilities import WeighsMetrics
from hutch.core.chain.engine import Outputs
from hutch.core.chain.reduction import Labels, Predictions
from hutch.core.errors import DataError, at, did_you_mean, shortened
from hutch.core.kernel.abi import UNLABELED
from hutch.durable.choices import (
    Decided,
    Reward,
    UnknownDecision,
    add_cost,
    add_decision,
    came_late,
    choice_of,
    drawn,
    has_cost,
    note_entry,
    overdue,
    unknown,
)
from hutch.durable.deferred import activate as end_waiting
from hutch.durable.deferred import defer, hold
from hutch.durable.log_reader import Entry
from hutch.durable.loops import Beside, Loop, count, count_reward, put_beside, said_of
from hutch.durable.records import check_name
from hutch.durable.seen import entry_of, lacking, note_seen, seen_of, text_of
from hutch.serve.bodies import SOURCE, batches_of, parse_json
from hutch.serve.served import Served

_KEYS = ("id", "cost", "reward")
_WANTED = "an object with the id of a decision, and its cost or reward"


_AT_A_TIME = 1000
"""Decisions without a reward that are learned in one transaction."""


@dataclass(frozen=True, slots=True)
class _Rewarded:
    taught: list[tuple[int, Entry]]
    position: int = 0
    late: int = 0
    held: int = 0
    repeated: int = 0
    better: Loop | None = None


class Caller(NamedTuple):
    """The choice of a caller whose apprentice a model is.

    Attributes:
        action: place of the action among those of the decision.
        share: of such decisions in which the model draws instead.
    """

    action: int
    share: float


async def rank(
    served: Served,
    kind: str,
    body: bytes,
    id: str = "",
    *,
    deferred: bool = False,
    caller: Caller | None = None,
    called: str = "id",
) -> dict[str, Any]:
    """Draw an action of a decision, and store it with its probability.

    Args:
        served: the model.
        kind: of the body.
        body: one decision without a label; where the chain takes classes, one example.
        id: under which the client will report its cost; empty: one is made. The same id gets the same answer.
        deferred: nothing is learned of it until it is activated.
        caller: the model is its apprentice; None: the model draws.
        called: the name of the id in the client's interface, for messages.

    Raises:
        DataError: the first place that cannot be used, or a chain that learns no decisions.
        Contradiction: the id belongs to another decision, or to one that is deferred while this is not, or the reverse.
    """
    decided = replace(decide(served, kind, body, id or uuid.uuid4().hex, caller), deferred=deferred)
    answer: dict[str, Any] = await served.log.commits.done(
        lambda connection: store(connection, served, decided, called)
    )
    return answer


def store(connection: sqlite3.Connection, served: Served, decided: Decided, called: str = "id") -> dict[str, Any]:
    """Store a decision within a transaction; returns the answer to the client, as `rank` does."""
    told = add_decision(connection, served.key, decided, served.log.now(), called)
    if decided.deferred and "repeated" not in told:
        defer(connection, served.key, decided.id)
    if decided.beside is not None and "repeated" not in told:
        put_beside(connection, served.key, decided.id, decided.beside)
    if "repeated" not in told:
        count(connection, served.key, 1)
    return told


def decide(served: Served, kind: str, body: bytes, id: str, caller: Caller | None = None) -> Decided:
    """Draw an action of a decision.

    Raises:
        DataError: as of `rank`.
    """
    _require_choices(served)
    [batch, *more] = batches_of(served.chain, kind, body)
    if more or len(ends_of_groups(batch)) != 1:
        raise DataError(at(SOURCE, None, None, "got several decisions, wanted one"))
    if (batch.costs != UNLABELED).any():
        raise DataError(at(SOURCE, None, None, "got a label, wanted none: its cost comes as a reward"))
    outputs = served.chain.run_apart(batch, False)
    return _decide(served, id, kind, body, _values(served, batch, outputs), outputs.ranked, caller)


async def activate(served: Served, ids: Sequence[str], called: str = "id") -> None:
    """Let deferred decisions be learned, with the cost that came meanwhile, or comes, or with the default.

    One that is not deferred stays as it is, and so does one whose reward is overdue.

    Args:
        served: the model that decided.
        ids: of the decisions.
        called: the name of an id in the client's interface, for messages.

    Raises:
        UnknownDecision: there is none of an id.
    """

    def accept(connection: sqlite3.Connection) -> _Rewarded:
        since = -math.inf if served.default is None else served.log.now() - served.default.seconds
        held = []
        for id in ids:
            if choice_of(connection, served.key, id) is None:
                raise UnknownDecision(f"{called}: there is no decision {shortened(id)!r} of the model {served.name!r}")
            cost = end_waiting(connection, served.key, id, since)
            held += [] if cost is None else [Reward(id, cost, (SOURCE, None, None))]
        return _accept(served, held, connection)

    await _learn(served, accept)


async def reward_first(served: Served, told: Sequence[Reward]) -> None:
    """Accept the costs of decisions, and learn them; one that comes after another does not count.

    Raises:
        UnknownDecision: there is none of this id.
    """
    _require_choices(served)

    def accept(connection: sqlite3.Connection) -> _Rewarded:
        taught: list[tuple[int, Entry]] = []
        better = None
        for each in told:  # one after the other: of two costs of one decision the first counts
            if not has_cost(connection, served.key, each.id):
                done = _accept(served, [each], connection)
                taught, better = taught + done.taught, done.better or better
        return _Rewarded(taught, better=better)

    await _learn(served, accept)


def _require_choices(served: Served) -> None:
    """See that the chain learns from actions that were chosen."""
    chain = served.chain
    if chain.takes not in (Labels.LOGGED_ACTION, Labels.LOGGED_CLASS):
        raise DataError(f"the model {served.name!r} takes labels {chain.takes.value!r}, wanted a chain of decisions")


def _values(served: Served, batch: Batch, outputs: Outputs) -> NDArray[np.float32]:
    """Score or probability of each action."""
    of_classes = served.chain.takes is Labels.LOGGED_CLASS
    return np.asarray(outputs.scores[0] if of_classes else outputs.predictions[~shared_rows(batch)])


def _decide(
    served: Served,
    id: str,
    kind: str,
    body: bytes,
    values: NDArray[np.float32],
    ranked: NDArray[np.uint32],
    caller: Caller | None = None,
) -> Decided:
    """Draw an action; the draw depends on the log and the id alone."""
    explores = served.chain.predicts is Predictions.ACTION_PROBABILITIES
    first = 1 if served.chain.takes is Labels.LOGGED_CLASS else 0
    order = ranked[-len(values) :].tolist()
    seed, beside = f"{served.log.store.identity}\0{served.name}\0{id}", None
    if explores:
        place, shares = drawn(values, seed)
    else:  # the chain does not explore
        place, shares = order[0], (np.arange(len(values)) == order[0]).astype(np.float32)
    if caller is not None:
        own, theirs = shares, (np.arange(len(values)) == caller.action).astype(np.float32)
        place, shares = drawn(caller.share * own + (1 - caller.share) * theirs, seed)
        weight = float(own[place] - theirs[place]) / float(shares[place]) if caller.share else None
        beside = Beside(weight, float(theirs[place] / shares[place]), float(own[caller.action]))
    probability = float(shares[place])
    answer = {
        "model": served.name,
        "position": served.position,
        "id": id,
        "action": first + place,
        "probability": probability,
        "ranked": [first + k for k in order],
        "probabilities": shares.tolist(),
    }
    return Decided(id, kind, body, first + place, probability, answer, beside)


async def reward(served: Served, body: bytes) -> dict[str, Any]:
    """Accept the cost of one decision or of several, all or none; the model learns them before this returns.

    Args:
        served: the model that decided.
        body: JSON, `{"id": …, "cost": …}` or a list of these; `reward` is the same as the negative cost. Where the
            model learns metrics, it is an object with these by name: all, or some now and others later.

    Raises:
        DataError: a malformed reward, an unknown decision, or one that has another cost.
    """
    _require_choices(served)
    found = parse_json(body)
    listed = found if isinstance(found, list) else [found]
    rewards = [_read(one, place, served.limits.value, served.weigher) for place, one in enumerate(listed, 1)]
    if not rewards:
        raise DataError(at(SOURCE, None, None, f"got no reward, wanted {_WANTED}"))

    done = await _learn(served, partial(_accept, served, rewards))
    position = done.position or served.position  # where all came late
    answer = {"model": served.name, "position": position, "new": len(done.taught), "repeated": done.repeated}
    answer |= {"held": done.held} if done.held else {}
    return answer | ({"late": done.late} if served.default is not None else {})


async def learn_defaults(served: Served) -> int:
    """Learn the decisions that have waited too long for their rewards, each once; returns their number."""
    if served.default is None or served.failure:
        return 0
    before, count = served.log.now() - served.default.seconds, 0
    while True:
        done = await _learn(served, partial(_accept_overdue, served, before))
        count += len(done.taught)
        if len(done.taught) < _AT_A_TIME:
            served.defaulted_until = before
            return count


async def _learn(served: Served, accept: Callable[[sqlite3.Connection], _Rewarded]) -> _Rewarded:
    """Store costs, then learn them."""
    learned: list[asyncio.Future[Any]] = []

    def learn(outcome: _Rewarded) -> None:
        for number, entry in outcome.taught:
            learned.append(asyncio.get_running_loop().create_future())
            served.enqueue(number, entry, None, learned[-1])

    done: _Rewarded = await served.log.commits.done(accept, learn)
    if done.better is not None:
        print(f"{served.name}: {said_of(done.better)}", file=sys.stderr, flush=True)
    for outcome in await asyncio.gather(*learned, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome
    return done


def _accept_overdue(served: Served, before: float, connection: sqlite3.Connection) -> _Rewarded:
    """Store the default cost of decisions made until then that have none, or the metrics that did not come."""
    assert served.default is not None
    span, (_, cost, metrics) = (served.defaulted_until, before), served.default
    place = (SOURCE, None, None)
    if metrics is None:
        ids = overdue(connection, served.key, *span, _AT_A_TIME)
        return _accept(served, [Reward(id, cost, place) for id in ids], connection)
    late = []
    for id in lacking(connection, served.key, *span, metrics, _AT_A_TIME):
        known = seen_of(connection, served.key, id)
        seen = {name: value for name, value in metrics.items() if name not in known}
        late.append(Reward(id, 0.0, place, "reward", seen=seen))
    return _accept(served, late, connection)


def _accept(served: Served, rewards: list[Reward], connection: sqlite3.Connection) -> _Rewarded:
    """Store costs, and write the resulting entries into the log."""
    taught: list[tuple[int, Entry]] = []
    last, late, held, repeated, better = 0, 0, 0, 0, None
    for one in rewards:
        if hold(connection, served.key, one):
            held += 1
            continue
        if one.seen is not None:
            place, seen, came = _accept_seen(served, one, one.seen, connection)
            taught += [] if seen is None else [(place, seen)]
            late, repeated = late + came, repeated + (seen is None and not came)
            last = max(last, place)
            continue
        if served.default is not None and came_late(connection, served.key, one, served.default):
            late += 1
            continue
        number = add_cost(connection, served.key, one, served.name)
        if number is None:
            found = choice_of(connection, served.key, one.id)
            assert found is not None
            entry = Entry(served.key, found[0], found[1], choice=found[2])
            number = served.log.write(connection, entry, one.id)
            note_entry(connection, served.key, one.id, number)
            taught.append((number, entry))
            loop = count_reward(connection, served.key, one.id, -one.cost)
            better = loop if loop is not None and loop.better == loop.events else better
            count(connection, served.key, 0, 1, -one.cost)
        else:
            repeated += 1
        last = max(last, number)
    return _Rewarded(taught, last, late, held, repeated, better)


def _accept_seen(
    served: Served, one: Reward, told: Mapping[str, float], connection: sqlite3.Connection
) -> tuple[int, Entry | None, bool]:
    """Store metrics of a decision that are new, and write an entry that teaches them.

    Returns:
        The place of the last entry that teaches some of them; the new entry, if any is new; whether one came after its
        default was learned.

    Raises:
        UnknownDecision: there is none of this id.
        DataError: a metric had another value before.
    """
    found, weigher = choice_of(connection, served.key, one.id), served.weigher
    if found is None or weigher is None:
        raise unknown(connection, served.key, one, served.name)
    known, late = seen_of(connection, served.key, one.id), False
    defaults = (served.default and served.default.metrics) or {}
    for name, value in told.items():
        if known.get(name, value) != value and known[name] == defaults.get(name):
            late = True  # the time does not tell, see `came_late`
        elif known.get(name, value) != value:
            text = f"{name}: got {value!r} for decision {one.id!r}, but it was {known[name]!r} before"
            raise DataError(at(*one.place, text))
    new = {name: value for name, value in told.items() if name not in known}
    if not new:
        return entry_of(connection, served.key, one.id, told), None, late
    worth = sum(weigher.metrics[name] * value for name, value in new.items())
    choice = found[2]._replace(cost=0.0, metrics=text_of(new))  # the layer knows the cost
    entry = Entry(served.key, found[0], found[1], choice=choice)
    number = served.log.write(connection, entry, one.id)
    first = note_seen(connection, served.key, one.id, new, -worth, number)
    count(connection, served.key, 0, int(first), worth)
    return number, entry, late


def _read_seen(found: Any, weigher: WeighsMetrics, place: int, most: float) -> dict[str, float]:
    """Metrics by name, each a number."""

    def wrong(text: str) -> DataError:
        return DataError(at(SOURCE, place, None, f"reward: {text}"))

    names = ", ".join(weigher.metrics)
    if not isinstance(found, dict) or not found:
        raise wrong(f"got {json.dumps(found)[:40]}, wanted an object with some of the model's metrics: {names}")
    for name, value in found.items():
        if name not in weigher.metrics:
            raise wrong(f"got {name[:40]!r}; {did_you_mean(name[:40], weigher.metrics)}")
        if type(value) not in (int, float) or not abs(value) <= most:
            raise wrong(f"{name}: got {json.dumps(value)[:40]}, wanted a number up to {most:g}")
    worth = sum(weigher.metrics[name] * float(value) for name, value in found.items())
    if not abs(worth) < float(UNLABELED):
        raise wrong(f"got metrics worth {worth:g}, wanted less than 3.4e38")
    return {name: float(value) for name, value in found.items()}


def _read(found: Any, place: int, most: float, weigher: WeighsMetrics | None) -> Reward:
    def wrong(text: str) -> DataError:
        return DataError(at(SOURCE, place, None, text))

    if not isinstance(found, dict):
        raise wrong(f"got {json.dumps(found)[:40]}, wanted {_WANTED}")
    for key in found:
        if key not in _KEYS:
            raise wrong(f"unknown key {key!r}, wanted one of {', '.join(_KEYS)}")
    if not isinstance(found.get("id"), str):
        raise wrong(f"id: got {json.dumps(found.get('id'))[:40]}, wanted the id of a decision")
    given = [key for key in ("cost", "reward") if key in found]
    if len(given) != 1:
        raise wrong(f"got {' and '.join(given) or 'neither cost nor reward'}, wanted one of cost and reward")
    value, id = found[given[0]], check_name(found["id"], "id")
    if weigher is not None:
        if given == ["cost"]:
            raise wrong(f"got a cost, wanted a reward with some of the model's metrics: {', '.join(weigher.metrics)}")
        return Reward(id, 0.0, (SOURCE, place, None), "reward", seen=_read_seen(value, weigher, place, most))
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not abs(value) <= most:
        raise wrong(f"{given[0]}: got {json.dumps(value)[:40]}, wanted a number up to {most:g}")
    cost = float(value) if given == ["cost"] else -float(value)
    return Reward(id, cost, (SOURCE, place, None), "cost" if given == ["cost"] else "reward")
