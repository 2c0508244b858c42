"""Vowpal Wabbit's protocol for a served model: a line with a label is learned, one without is predicted.

Each line is answered by `PREDICTION TAG`, an empty one by nothing; an invalid one by `error: ` and its place,
without any effect. A decision is a block of lines that an empty one ends, and is answered by
`ACTION:VALUE,ACTION:VALUE` with the best action first, and an empty line.
"""

import re
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch, joined
from hutch.core.errors import HutchError, UsageError
from hutch.core.run.decisions import decision_line, decision_lines, tail
from hutch.core.run.predictions import PredictionText, number_line
from hutch.core.text.parser import TextParser
from hutch.net.lines import Answer
from hutch.serve.bodies import SMALL, TEXT, has_label
from hutch.serve.served import Served

_FEED = b"\n"
_EMPTY = re.compile(rb"\n\r?\n")


def takes_blocks(served: Served) -> bool:
    """Whether an example is a block of lines, a decision over actions with features."""
    return served.chain.takes.of_actions


def answer_lines(served: Served) -> Answer:
    """The function that answers lines for a model, or whole blocks if it `takes_blocks`.

    Raises:
        UsageError: its top layer asks for labels; or it learns from other groups of lines.
    """
    if served.asks:
        raise UsageError("--vw-port: the top layer is 'active', wanted HTTP: /v1/labels")
    if takes_blocks(served):
        return _Blocks(served).answer
    if served.chain.whole_groups or served.chain.takes.of_decisions:
        raise UsageError("--vw-port: the chain learns from groups of lines, wanted HTTP, a group in each body")
    return _Lines(served).answer


class _Blocks:
    def __init__(self, served: Served) -> None:
        self._served = served
        self._parser = TextParser(replace(served.chain.parser, strict=True), "<block>")

    async def answer(self, lines: bytes) -> bytes:
        blocks = [block for block in _EMPTY.split(lines) if block.strip()]
        return b"".join([await self._answered(block.strip(b"\r\n") + _FEED) for block in blocks])

    async def _answered(self, block: bytes) -> bytes:
        try:
            self._parser.start("<block>")
            batch = joined(self._parser.parse(block))  # the next text overwrites it
            if not has_label(batch).any():
                return decision_lines(batch, self._served.chain.run_apart(batch, False))
            answered = await self._served.learn(TEXT, block, batches=[batch])
        except (HutchError, MemoryError) as error:
            return f"error: {str(error) or 'no memory is left for this block'}\n\n".encode(errors="replace")
        assert answered.ranked is not None
        return decision_line(answered.ranked.tolist(), answered.predictions.tolist(), tail(batch, 0))


class _Lines:
    def __init__(self, served: Served) -> None:
        self._served = served
        self._parser = TextParser(replace(served.chain.parser, strict=True), "<line>")
        self._text = PredictionText()

    def answer(self, lines: bytes) -> bytes | Awaitable[bytes]:
        if lines.find(_FEED) < len(lines) - 1 or len(lines) > SMALL:
            return self._answer(lines)
        one = self._served.chain.one
        with suppress(HutchError, MemoryError):  # they are found again
            if one.can_learn(lines):
                return self._taught(lines, one.tag)
            outputs = one.run(lines, False)
            if outputs is not None and not one.labeled:
                return number_line(outputs.predictions.item(0), one.tag)
        return self._answer(lines)

    async def _taught(self, line: bytes, tag: bytes) -> bytes:
        """Learn a line that `can_learn` has just accepted."""
        try:
            answered = await self._served.learn_one(TEXT, line)
        except (HutchError, MemoryError) as error:
            return await self._refused(line, error)
        return number_line(answered.predictions.item(0), tag)

    async def _answer(self, lines: bytes) -> bytes:
        if lines.startswith((_FEED, b"\r")) or b"\n\n" in lines or b"\n\r" in lines:
            lines = b"".join(line + _FEED for line in lines.split(_FEED) if line.strip())
            if not lines:
                return b""
        try:
            self._parser.start("<line>")
            batch = self._parser.parse(lines)
            labeled = has_label(batch)
            if not labeled.any():
                return self._written(batch, self._served.chain.run_apart(batch, False).predictions)
            if labeled.all():
                batch = joined(batch)  # the next text overwrites it
                answered = await self._served.learn(TEXT, lines, batches=[batch] if len(batch) > 1 else None)
        except (HutchError, MemoryError) as error:
            return await self._refused(lines, error)
        return self._written(batch, answered.predictions) if labeled.all() else await self._in_turn(lines, labeled)

    def _written(self, batch: Batch, predictions: NDArray[Any]) -> bytes:
        return bytes(self._text.lines(predictions, batch.tag_ptr, batch.tags))

    async def _in_turn(self, lines: bytes, labeled: NDArray[Any]) -> bytes:
        """Process runs of lines of one kind, so that lines to predict never become a part of the model."""
        each = lines.split(_FEED)[:-1]
        ends = [*(np.flatnonzero(np.diff(labeled)) + 1).tolist(), len(each)]
        found, start = [], 0
        for end in ends:
            found.append(await self._answer(_FEED.join(each[start:end]) + _FEED))
            start = end
        return b"".join(found)

    async def _refused(self, lines: bytes, error: Exception) -> bytes:
        if lines.find(_FEED) < len(lines) - 1:
            return b"".join([await self._answer(line + _FEED) for line in lines.split(_FEED)[:-1]])
        return f"error: {str(error) or 'no memory is left for this line'}\n".encode(errors="replace")
