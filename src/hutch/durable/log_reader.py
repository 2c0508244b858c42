"""The entries of a write-ahead log, as they are read: in order, each with its checksum, chained to the one before."""

import base64
import hashlib
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hutch.core.errors import StoreError, at, counted, did_you_mean
from hutch.durable import seen
from hutch.durable.choices import DECISION, Choice, choice_of
from hutch.durable.store import Store

REFUSED = "refused"
"""The kind of an entry that retracts earlier ones, which its body lists as JSON."""
DROPPED = "dropped"
"""Why `Log.drop_behind` retracts them."""


@dataclass(slots=True)
class Entry:
    """An entry to learn.

    Attributes:
        model: number of the model in the store.
        kind: of the body, its content type.
        body: as sent.
        id: given by the client; empty for none.
        audit: number of its answer in the audit log, else 0.
        choice: of a decision whose cost has become known, its label.
        time: when it was written, seconds since 1970.
        receipt: of the predictions before it was learned, see `hutch.durable.receipts`; -1 if there is none.
    """

    model: int
    kind: str
    body: bytes
    id: str = ""
    audit: int = 0
    choice: Choice | None = None
    time: float = 0.0
    receipt: int = -1

    @property
    def digest(self) -> bytes:
        """A hash of the body and its kind."""
        return hashlib.sha256(self.kind.encode() + b"\0" + self.body).digest()

    @property
    def checksum(self) -> int:
        """CRC-32 of the content to learn."""
        choice = self.choice and (tuple(self.choice) if self.choice.metrics else tuple(self.choice)[:3])
        return zlib.crc32(self.body, zlib.crc32(f"{self.kind}\0{self.audit}\0{choice}".encode()))


def chained(chain: int, checksum: int) -> int:
    """The chain of checksums behind one more entry."""
    return zlib.crc32(b"%d" % checksum, chain & 0xFFFFFFFF)


class LogReader:
    """What is in a log.

    Args:
        store: whose file holds it.
    """

    def __init__(self, store: Store) -> None:
        self.store = store

    def chain_at(self, model: int, number: int) -> int:
        """The chain of checksums behind the last entry of a model up to a number."""
        query = "SELECT chain FROM serve_log WHERE model = ? AND number <= ? ORDER BY number DESC LIMIT 1"
        found = self.store.rows(query, [model, number])
        found = found or self.store.rows("SELECT kept_chain FROM serve_models WHERE model = ?", [model])
        return int(found[0][0]) if found else 0

    def waiting(self, model: int, after: int) -> int:
        """How many entries a model has after a number."""
        query = "SELECT count(*) FROM serve_log WHERE model = ? AND number > ?"
        return int(self.store.rows(query, [model, after])[0][0])

    def entries(self, model: int, after: int = 0) -> Iterator[tuple[int, Entry | None]]:
        """The entries of a model after number `after`, in order; None for a retracted or damaged one."""
        refused = self.refused(model)
        for number, entry, _ in self._read(model, after):
            skipped = any(first <= number <= last for _, first, last, _ in refused)
            yield number, None if skipped or entry is None or entry.kind == REFUSED else entry

    def lines(self, name: str | None = None) -> Iterator[dict[str, Any]]:
        """The entries of all models, or of those of a name, for people and other programs."""
        models = self.store.rows("SELECT model, name, kept FROM serve_models ORDER BY model")
        if name is not None and name not in (known := [each[1] for each in models]):
            raise StoreError(at(str(self.store.path), None, None, f"no model {name!r}; {did_you_mean(name, known)}"))
        for model, called, kept in models:
            refused = self.refused(model)
            for number, entry, follows in self._read(model, kept) if name in (None, called) else ():
                found: dict[str, Any] = {"number": number, "model": called, "damaged": entry is None or not follows}
                if entry is not None:
                    found |= {"time": entry.time, "kind": entry.kind}
                    found["refused"] = any(first <= number <= last for _, first, last, _ in refused)
                    try:
                        found["body"] = entry.body.decode()
                    except UnicodeDecodeError:
                        found["base64"] = base64.b64encode(entry.body).decode()
                    if entry.choice is not None:
                        parts = entry.choice._asdict()
                        metrics = parts.pop("metrics")
                        found |= parts | ({"metrics": json.loads(metrics)} if metrics else {})
                yield found

    def refused(self, model: int) -> list[tuple[int, int, int, bool]]:
        """Entries taken back: the entry that records it, the first and last of them, whether by `drop_behind`."""
        query = "SELECT number, body FROM serve_log WHERE model = ? AND kind = ?"
        found = ((number, json.loads(body)) for number, body in self.store.rows(query, [model, REFUSED]))
        return [(number, each["first"], each["last"], each["why"] == DROPPED) for number, each in found]

    def _read(self, model: int, after: int) -> Iterator[tuple[int, Entry | None, bool]]:
        """Number, entry, None if it is damaged, and whether it follows the one before."""
        chain = self.chain_at(model, after)
        query = (
            "SELECT number, kind, body, audit, time, checksum, chain, coalesce(receipt, -1) FROM serve_log"
            " LEFT JOIN serve_receipts USING (number) WHERE model = ? AND number > ? ORDER BY number LIMIT 256"
        )
        while rows := self.store.rows(query, [model, after]):
            for number, kind, body, audit, seconds, checksum, stored, receipt in rows:
                entry: Entry | None = None
                if [*map(type, (kind, body, checksum, stored))] != [str, bytes, int, int]:
                    stored = checksum = -1
                elif kind == DECISION:
                    entry = self._decided(model, body.decode(errors="replace"), seconds, receipt)
                elif kind == seen.METRICS:
                    parts = seen.parts_of(body)
                    entry = self._decided(model, parts[0], seconds, receipt, parts[1]) if parts else None
                else:
                    entry = Entry(model, kind, body, "", audit, None, seconds, receipt)
                follows, chain = stored == chained(chain, checksum), stored
                yield number, entry if entry and entry.checksum == checksum else None, follows
            after = rows[-1][0]

    def _decided(self, model: int, id: str, seconds: float, receipt: int, metrics: str = "") -> Entry | None:
        with self.store.transaction() as connection:
            found = choice_of(connection, model, id)
        if found is None:
            return None
        choice = found[2]._replace(cost=0.0, metrics=metrics) if metrics else found[2]  # the layer knows the cost
        return Entry(model, found[0], found[1], choice=choice, time=seconds, receipt=receipt)

    def damage(self, model: int, after: int) -> str:
        """The damage in the log after an entry; empty without any."""
        whole, damaged, broken, last = 0, [], [], after
        for last, entry, follows in self._read(model, after):
            if entry is None:
                damaged.append(last)
            elif follows:
                whole += 1
            else:
                broken.append(last)
        [(wanted,)] = self.store.rows("SELECT last FROM serve_models WHERE model = ?", [model])
        parts = []
        if damaged:
            parts.append(f"{counted(len(damaged), 'entry', 'entries')} cannot be read, the first is {damaged[0]}")
        if broken:
            parts.append(f"entries are missing before {broken[0]}")
        if last < wanted > after:
            parts.append(f"entries are missing behind {last}, up to {wanted}")
        text = f"its log {self.store.path} is damaged: {'; '.join(parts)}; {whole + len(broken)} can be learned"
        return text if parts else ""
