"""Spans in a sequence: class 1 is outside, 2 begins the first kind of span and 3 continues it, 4 and 5 the second.

Only classes that may follow the one before are chosen (BIO: begin, inside, outside). With `encoding: bilou` a line is
labelled within the search as a span of its own, the first, an inner or the last line of one.

Sources: L. Ratinov and D. Roth, "Design challenges and misconceptions in named entity recognition", CoNLL 2009; VW
9.11.9, `--search_task sequencespan`.
"""

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy import uint64

from hutch.core.chain.reduction import Context
from hutch.core.kernel.abi import kernel, record_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.parameters import Parameters, Within
from hutch.reductions.search.base import Search, SearchParameters
from hutch.reductions.search.record import (
    allow,
    ask,
    classes_of_lines,
    condition_on_range,
    put,
    search_of,
    set_oracle,
)

_0, _P, _A = np.float32(0), ord("p"), ord("a")
_1, _2, _3, _4 = uint64(1), uint64(2), uint64(3), uint64(4)

SPANS = np.dtype([("bilou", "u8"), ("sweeps", "u8")])
spans_of = record_of(SPANS)


class SearchSpansParameters(SearchParameters):
    """Parameters of `search_spans`.

    Attributes:
        encoding: of spans within the search; labels and predictions are always `bio`. With `bilou` the layer below
            needs 2 · classes - 1 classes.
        sweeps: times the block is gone through, each with a model of its own that sees the labels of the one before.
        models: number of models for which there is room in the table of weights; 0: as many as `sweeps`.
    """

    encoding: Literal["bio", "bilou"] = "bio"
    sweeps: Annotated[int, Within(ge=1, le=16)] = 1
    models: Annotated[int, Within(ge=0, le=1 << 10)] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.classes % 2 == 0:
            raise ValueError(f"classes: got {self.classes}, wanted an odd number: 1, and two for each kind of span")
        if 0 < self.models < self.sweeps:
            raise ValueError(f"models: got {self.models}, wanted at least {self.sweeps}, one for each sweep")


@helper
def _bilou(classes, i):
    """The label of a line by its class and that of the next."""
    y = uint64(classes[i])
    if y <= _1:
        return y
    follows = uint64(classes[i + _1]) if i + _1 < uint64(len(classes)) else uint64(0)
    if y % _2 == uint64(0):
        return (y // _2 - _1) * _4 + (_3 if follows == y + _1 else _2)
    return (y - _1) * _2 + (uint64(0) if follows == y else _1)


@helper
def _allow_bio(s, last, right):
    """Allow what may follow the last label; returns a right label that may."""
    s.allowed_count = uint64(0)
    allow(s, _1)
    for k in range(_2, s.actions, _2):
        allow(s, k)
    if last != _1:
        allow(s, last + _1 if last % _2 == uint64(0) else last)
    inside = right > _1 and right % _2 == _1
    return _1 if inside and last != right and last != right - _1 else right


@helper
def _allow_bilou(s, last, right):
    """The same for labels of the other encoding."""
    s.allowed_count = uint64(0)
    if last == _1 or (last + _2) % _4 == uint64(0) or (last + _2) % _4 == _3:
        allow(s, _1)
        for k in range(_2, s.actions, _4):
            allow(s, k)
            allow(s, k + _1)
        return _1 if right > _1 and (right + _2) % _4 >= _2 else right
    other = last + _2 if (last + _2) % _4 == _1 else last
    allow(s, last + _1)
    allow(s, other)
    return right if right == last + _1 or right == other else other


@kernel
def label_spans(layer, example, label, importance, offset):
    """Ask for the label of each line, among those that may follow the one before."""
    s = search_of(layer)
    own, classes = spans_of(s.own), classes_of_lines(example)
    for sweep in range(own.sweeps):
        last = _1
        for i in range(s.count):
            s.line, s.tag, s.learner, s.on_count = i, i + _1, sweep, uint64(0)
            if own.bilou == _1:
                right = _allow_bilou(s, last, _bilou(classes, i))
            else:
                right = _allow_bio(s, last, uint64(classes[i]))
            set_oracle(s, right)
            condition_on_range(s, i, s.history, _P)
            if sweep > uint64(0):
                condition_on_range(s, i + _1 + s.history, s.history + _1, _A)
            last = uint64(ask(layer, example, offset))
            put(s, example, i, last // _2 + _1 if own.bilou == _1 else last)
    return _0


class SearchSpans(Search):
    """Labels the lines of a block as spans."""

    name: ClassVar[str] = "search_spans"
    Parameters: ClassVar[type[Parameters]] = SearchSpansParameters
    task = label_spans

    def __init__(self, parameters: Any, context: Context) -> None:
        own = Record(SPANS, bilou=parameters.encoding == "bilou", sweeps=parameters.sweeps)
        super().__init__(parameters, context, own=own)

    @classmethod
    def actions(cls, parameters: Any) -> int:
        """Labels of the encoding."""
        count = int(parameters.classes)
        return 2 * count - 1 if parameters.encoding == "bilou" else count

    @classmethod
    def learners(cls, parameters: Any) -> int:
        """One for each sweep."""
        return int(parameters.models or parameters.sweeps)
