"""Vowpal Wabbit's active learning over TCP: one line in, one line out.

    |features            →  PREDICTION TAG             no label is asked for
    |features            →  PREDICTION TAG IMPORTANCE  send the line again with its label and this importance
    LABEL IMPORTANCE |…  →  PREDICTION TAG             learned

Each line is in the store's log before the model sees it, and the model learns the log in its order: killed at any
moment, it recovers by reading the log again, and counts a line that it had no time to count. A tag is its line's
identity: the same line under the same tag is answered again, and neither learned nor counted again.
"""

import asyncio
import socket
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from hutch.active.lines import split_line, unlabelled
from hutch.active.loop import attach, example_of, labels_of, model_version, threshold_of
from hutch.core.net.lines import run_lines
from hutch.core.net.signals import Ready
from hutch.durable.entries import Round
from hutch.durable.records import Answer, Request, canonical_label, make_answer
from hutch.durable.store import Store

if TYPE_CHECKING:
    from hutch.chain import Chain

WORKER = "vw"
"""The name under which answers that come by this way are stored."""


class VWSession:
    """A running model that answers lines.

    Args:
        chain: its top layer is `active`.
        store: where lines, requests and answers go.
        model: version of the chain when it was loaded.

    Raises:
        UsageError: the chain has no active layer.
    """

    def __init__(self, chain: "Chain", store: Store, model: str) -> None:
        self.chain, self.store, self.model = chain, store, model
        self.layer = attach(chain, store)
        self.layer.simulation = False
        store.allow_labels(labels_of(chain))
        store.index_lines()
        self._trace = self.layer.trace(1)
        self._round = 0
        self._follow(None, store.uncounted_lines())

    def _follow(self, until: int | None, uncounted: Collection[int] = ()) -> tuple[float, float, float]:
        """Learn the log up to entry `until`; (prediction, importance asked or -1, probability) of its last example.

        Lines that are not counted yet are counted, and asked for, when they are learned.
        """
        progress, out = self.layer.progress, (0.0, -1.0, 0.0)
        for event in self.store.log(int(progress["learned"][0])):
            if until is not None and event.number > until:
                break
            line = example_of(event, self.store, self.layer.parameters.weighted)
            if line is not None:
                self.layer.state["trace_count"] = 0
                for batch in self.chain.batches([line]):
                    outputs, _ = self.chain.run_batch(batch)
                    chance = float(self._trace["probability"][0])
                    out = (float(outputs.predictions[-1]), float(outputs.queries[-1]), chance)
                if event.number in uncounted:
                    self._count(event.number, line, *out)
            progress["learned"] = event.number
        return out

    def _answer(self, line: str, label: str, tag: str) -> tuple[Answer | None, bool]:
        """The answer that a labelled line gives, and whether it was given before."""
        features = unlabelled(line)
        id = tag if tag and self.store.line_of(tag) else self.store.open_request_of(features)
        value = canonical_label(label)
        if id is None or value is None or value not in (self.store.labels_allowed or (value,)):
            return None, False
        before = self.store.label_of(id, WORKER)
        return (make_answer(id, WORKER, value), False) if before is None else (None, before == value)

    def reply(self, line: str) -> str:
        """What to send back for a line; the line is in the store when this returns."""
        words, tag, _ = split_line(line)
        label = words.split(" ")[0]
        answer, repeated = self._answer(line, label, tag) if label else (None, False)
        if repeated or (tag and answer is None and self.store.has_line(line, tag)):
            return self._reply_again(line, label, tag)
        number = self.store.line(line, answer, tag, counted=not label)
        prediction, query, chance = self._follow(number)
        importance = "" if label else self._count(number, line, prediction, query, chance)
        return f"{prediction:.6f} {tag}{importance}\n"

    def _count(self, number: int, line: str, prediction: float, query: float, chance: float) -> str:
        """Count an unlabelled line, and ask for it or not; what the reply ends with."""
        if not self._round:
            self._round = self.store.begin_round(Round("vw", 0, 0.0, threshold_of(self.chain)))
        if query <= 0:
            self.store.count_line(number, self._round, chance, None)
            return ""
        _, tag, _ = split_line(line)
        free = tag and self.store.line_of(tag) is None
        request = Request(
            tag if free else f"line {number}", unlabelled(line), prediction, chance, 1 / chance, self.model
        )
        self.store.count_line(number, self._round, chance, request)
        importance = query if self.layer.parameters.weighted else 1.0
        return f" {importance:.6f}"

    def _reply_again(self, line: str, label: str, tag: str) -> str:
        """What a client that lost our reply hears: the line was already learned and counted."""
        text = f"{float(self.chain.predict([unlabelled(line)])[-1]):.6f} {tag}"
        asked = None if label else self.store.request(tag)
        if asked is None or self.store.label_of(tag, WORKER) is not None:
            return text + "\n"
        importance = asked[0].importance if self.layer.parameters.weighted else 1.0
        return f"{text} {importance:.6f}\n"

    async def answer(self, lines: bytes) -> bytes:
        """What to send back for some lines; other clients have their turn after each."""
        found = []
        for line in lines.decode(errors="replace").split("\n")[:-1]:
            text = line.rstrip("\r")
            if text:
                found.append(self.reply(text))
                await asyncio.sleep(0)
        return "".join(found).encode(errors="replace")

    def save(self, path: str | Path) -> None:
        """Save the model with how far it has come, and note it in the log."""
        self.chain.save(path)
        self.store.learned({"model": model_version(path), "through": int(self.layer.progress["learned"][0])})


def serve(session: VWSession, listening: socket.socket, ready: Ready, token: str = "") -> None:
    """Serve until a signal says to stop; clients take turns line by line.

    Args:
        session: answers.
        listening: the socket.
        ready: says where.
        token: a client must send `token TOKEN` first; empty for no token.
    """
    asyncio.run(run_lines(session.answer, listening, ready, token=token))
