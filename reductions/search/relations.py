"""Entities and the relations between them: a block has a line for each entity, then one for each pair of entities.

Classes 1 to 4 are those of entities (other, person, organisation, place), 5 to 10 those of relations (lives in, based
in, located in, works for, kills, none). The tag of a relation, `R_0_2`, names its entities by their lines, from 0 on.
With `constraints` only relations are chosen that fit the classes of both entities. A choice may be put off where the
order has `skip`: class 11 is chosen then, and the line is gone back to.

Source: VW 9.11.9, `--search_task entity_relation` with `--search_order` 0, 1 and 2.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy import int64, uint32, uint64

from hutch.core.batch import Batch
from hutch.core.chain.reduction import Context
from hutch.core.errors import counted
from hutch.core.kernel.abi import int64s_at, kernel, record_of, uint32s_at
from hutch.core.kernel.decision import decision_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.raw_bytes import byte_at
from hutch.core.kernel.record import Record
from hutch.core.learner.memory import Buffer, reserve
from hutch.core.parameters import ExampleValue, Within
from hutch.reductions.search.base import Search, SearchParameters
from hutch.reductions.search.record import (
    allow,
    ask,
    classes_of_lines,
    condition_on,
    declare,
    put,
    search_of,
    set_oracle,
)

_0, _A = np.float32(0), ord("a")
_NONE, _SKIP = uint64(10), uint64(11)
_FIRST, _SECOND = (2, 3, 4, 2, 2), (4, 4, 4, 3, 2)
"""Classes of the two entities of each relation but the last."""

RELATIONS = np.dtype(
    [
        ("tags", "u8"),  # address of the batch's tags
        ("tag_ptr", "u8"),  # address of int64[rows + 1]
        ("rows", "u8"),
        ("found", "u8"),  # BUFFER of int64[count]: the classes chosen, 0 before
        ("bad", "i8"),  # relations whose tags name no entities
        ("order", "u8"),  # of the choices, one of ORDERS
        ("skips", "u8"),  # 1: choices may be put off
        ("constraints", "u8"),
        ("relation_cost", "f4"),
        ("entity_cost", "f4"),
        ("none_cost", "f4"),
        ("skip_cost", "f4"),
    ]
)
relations_of = record_of(RELATIONS)
ORDERS = ("entities_first", "mixed", "skip")
_MIXED, _SKIPS = uint64(1), uint64(2)


class SearchRelationsParameters(SearchParameters):
    """Parameters of `search_relations`.

    Attributes:
        classes: number of classes, those of entities and relations.
        order: of the choices: all entities first; each entity and then the relations to those before it; or all
            again and again until each is made, since class 11 puts a choice off.
        constraints: choose only relations that fit the classes of both entities.
        relation_cost: of a wrong relation.
        entity_cost: of a wrong entity.
        none_cost: of a relation where there is none.
        skip_cost: of a choice that is put off.
    """

    classes: Annotated[int, Within(ge=10, le=1 << 16), ExampleValue(10)]
    order: Literal["entities_first", "mixed", "skip"] = "entities_first"
    constraints: bool = False
    relation_cost: float = 1.0
    entity_cost: float = 1.0
    none_cost: float = 0.5
    skip_cost: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order == "skip" and self.classes < _SKIP:
            raise ValueError(f"classes: got {self.classes}, wanted at least 11: one of them puts a choice off")


@helper
def _number(at, stop):
    """The number at a place of a tag, and where the next one begins."""
    found = uint64(0)
    while at < stop and byte_at(at) != 95:
        digit = uint64(byte_at(at))
        if uint64(48) <= digit <= uint64(57) and found < uint64(1 << 32):
            found = found * uint64(10) + digit - uint64(48)
        at += uint64(1)
    return found, at + uint64(1)


@helper
def _entities(own, row, count):
    """The lines of a relation's two entities, and whether its tag names some."""
    ends = int64s_at(own.tag_ptr, own.rows + uint64(1))
    at, stop = own.tags + uint64(ends[row]), own.tags + uint64(ends[row + uint64(1)])
    first, at = _number(at + uint64(2), stop)
    second, at = _number(at, stop)
    return first, second, at <= stop + uint64(1) and first < count and second < count and first != second


@helper
def _take(layer, example, offset, right, cost):
    """Ask for the class of a line, which costs so much if it is wrong; it may be put off, if choices may."""
    s = search_of(layer)
    own = relations_of(s.own)
    if own.skips == uint64(1):
        allow(s, _SKIP)
        uint32s_at(s.oracles, s.room)[1] = uint32(_SKIP)
        s.oracle_count = uint64(2)
    action = max(int64(ask(layer, example, offset)), int64(1))  # classes below may begin at 0
    if own.skips == uint64(1) and uint64(action) == _SKIP:
        declare(s, own.skip_cost)
    else:
        declare(s, _0 if uint64(action) == right else cost)
    return action


@helper
def _choose_entity(layer, example, offset, i, right):
    s = search_of(layer)
    own = relations_of(s.own)
    s.line = s.tag = i
    s.learner, s.allowed_count, s.on_count = own.skips, uint64(0), uint64(0)
    for k in range(1, 5):
        allow(s, k)
    set_oracle(s, right)
    return _take(layer, example, offset, right, own.entity_cost)


@helper
def _choose_relation(layer, example, offset, i, right, found):
    s = search_of(layer)
    own = relations_of(s.own)
    first, second, good = _entities(own, decision_of(example).row + i, s.count)
    a, b = (found[first], found[second]) if good else (int64(0), int64(0))
    own.bad += 0 if good or s.phase != uint64(0) else 1
    s.line, s.tag, s.learner = i, i, uint64(1) + own.skips
    s.allowed_count = s.on_count = uint64(0)
    if own.skips == uint64(1):
        condition_on(s, first, _A)
        condition_on(s, second, _A + 1)
    for k in range(5):
        if own.constraints == uint64(0) or a == 0 or b == 0 or (_FIRST[k] == a and _SECOND[k] == b):
            allow(s, k + 5)
    allow(s, _NONE)
    set_oracle(s, right)
    return _take(layer, example, offset, right, own.none_cost if right == _NONE else own.relation_cost)


@helper
def _choose_with_skips(layer, example, offset, entities, found, classes):
    """Go through all lines until each has a class; where nothing is chosen the whole time, the next may not skip."""
    s = search_of(layer)
    own = relations_of(s.own)
    own.skips, chosen, before, i = uint64(1), uint64(0), uint64(0), uint64(0)
    must = False
    while chosen < s.count:
        if found[i] == 0:
            own.skips = uint64(0) if must else uint64(1)
            right = uint64(classes[i])
            if i < entities:
                action = _choose_entity(layer, example, offset, i, right)
            else:
                action = _choose_relation(layer, example, offset, i, right, found)
            must = False
            if own.skips == uint64(0) or uint64(action) != _SKIP:
                found[i] = action
                chosen += uint64(1)
        i += uint64(1)
        if i == s.count:
            must, before, i = chosen == before, chosen, uint64(0)
    own.skips = uint64(0)


@kernel
def label_relations(layer, example, label, importance, offset):
    """Ask for the class of each entity and of each relation."""
    s = search_of(layer)
    own, classes = relations_of(s.own), classes_of_lines(example)
    address = reserve(own.found, uint64(8) * s.count)
    if address == uint64(0):
        return _0
    found = int64s_at(address, s.count)
    for i in range(s.count):
        found[i] = 0
    entities = uint64(math.sqrt(np.float64(s.count * uint64(8) + uint64(1))) - 1.0) // uint64(2)
    if own.order == _SKIPS:
        _choose_with_skips(layer, example, offset, entities, found, classes)
    elif own.order != _MIXED:
        for i in range(s.count):
            if i < entities:
                found[i] = _choose_entity(layer, example, offset, i, uint64(classes[i]))
            else:
                found[i] = _choose_relation(layer, example, offset, i, uint64(classes[i]), found)
    else:
        for i in range(entities):
            found[i] = _choose_entity(layer, example, offset, i, uint64(classes[i]))
            for j in range(i):
                k = entities + (uint64(2) * entities - j - uint64(1)) * j // uint64(2) + i - j - uint64(1)
                found[k] = _choose_relation(layer, example, offset, k, uint64(classes[k]), found)
                if i + uint64(1) < entities:  # VW chooses it here already, and again in its turn
                    right = uint64(classes[i + uint64(1)])
                    found[i + uint64(1)] = _choose_entity(layer, example, offset, i + uint64(1), right)
    for i in range(s.count):
        put(s, example, i, found[i])
    return _0


class SearchRelations(Search):
    """Labels entities and the relations between them."""

    name: ClassVar[str] = "search_relations"
    Parameters: ClassVar[type[SearchRelationsParameters]] = SearchRelationsParameters
    conditioned = hamming = False
    known_failures: ClassVar[Mapping[str, str]] = {
        **Search.known_failures,
        "magnitudes": "the rate of a feature of 1e-20 from which little is learned is beyond float32",
    }
    task = label_relations

    def __init__(self, parameters: Any, context: Context) -> None:
        names = ("constraints", "relation_cost", "entity_cost", "none_cost", "skip_cost")
        given = {name: getattr(parameters, name) for name in names}
        self._own = Record(RELATIONS, found=Buffer(), order=ORDERS.index(parameters.order), **given)
        super().__init__(parameters, context, own=self._own)

    @classmethod
    def learners(cls, parameters: Any) -> int:
        """One for entities, one for relations; one more where choices may be put off."""
        return 3 if parameters.order == "skip" else 2

    def begin_batch(self, batch: Batch, learn: bool) -> None:
        """Let the task see the tags."""
        super().begin_batch(batch, learn)
        tags, ends = np.ascontiguousarray(batch.tags), np.ascontiguousarray(batch.tag_ptr)
        self._own.set(tags=tags, tag_ptr=ends, rows=len(batch))

    def doubts(self) -> str | None:
        """Warning about tags."""
        bad = int(self._own["bad"][0])
        if not bad:
            return super().doubts()
        return f"{counted(bad, 'relation')} whose tags name no two entities of the block, wanted tags such as R_0_2"
