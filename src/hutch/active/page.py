"""The page on which people answer label requests: one file, no outside resource, by default only on this machine.

Several people may use it at once; a request that someone looks at is leased, so no one else sees it for a while. An
answer is on disk before the page hears that it was accepted.
"""

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from hutch.active.whom import AUDITS, Whom
from hutch.core.errors import DataError, HutchError
from hutch.durable.records import Request, check_worker, make_answer
from hutch.durable.store import Store
from hutch.durable.undo import answers_of, retract
from hutch.net.application import JSON, Application, Asked, Field, Refused, Reply, Route
from hutch.net.limits import Limits
from hutch.net.web import require_web

HOST = "127.0.0.1"
LIMITS = Limits(body=1 << 16)
LEASE_SECONDS = 300.0
UNDO = 10
"""Answers in a row that a worker can take back."""


@cache
def page() -> str:
    """The page's HTML."""
    return Path(__file__).with_name("page.html").read_text(encoding="utf-8")


@cache
def security_headers() -> dict[str, str]:
    """Headers that allow the page its own script and style, requests to its own server, and nothing else."""

    def hash_of(tag: str) -> str:
        found = re.search(f"<{tag}>(.*?)</{tag}>", page(), re.DOTALL)
        assert found is not None
        return "'sha256-" + base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode() + "'"

    policy = (
        f"default-src 'none'; script-src {hash_of('script')}; style-src {hash_of('style')}; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return {
        "Content-Security-Policy": policy,
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }


def shown(line: str) -> str:
    """The features of a line as a worker sees them, without label and tag."""
    bar = line.find("|")
    return line[bar:] if bar >= 0 else line


@dataclass(frozen=True)
class Look:
    """The texts and fields of the page.

    Attributes:
        names: the texts that workers read instead of labels (`{"1": "spam"}`), in the order of the keys; labels without
            a name come after them.
        instructions: text above the requests.
        show: fields of documents that are shown; empty: all.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    instructions: str = ""
    show: Sequence[str] = ()


class _Page:
    def __init__(self, store: Store, look: Look, lease_seconds: float, audits: float) -> None:
        self.store, self.look, self.lease_seconds, self.whom = store, look, lease_seconds, Whom(store, audits)
        self.undone: Counter[str] = Counter()  # answers of a worker that were taken back and not given again

    def item(self, asked: Request) -> dict[str, Any]:
        """The fields of a request's document as a worker sees them, else the features of its line."""
        document = self.store.document(asked.id)
        if document is None:
            return {"id": asked.id, "text": shown(asked.line)}
        names = [name for name in self.look.show if name in document] or list(document)
        fields = [[name, "" if document[name] is None else str(document[name])] for name in names]
        return {"id": asked.id, "fields": fields}

    def home(self, asked: Asked) -> Reply:
        """GET /."""
        return Reply(page().encode(), "text/html; charset=utf-8")

    def next(self, asked: Asked) -> Any:
        """GET /next: a request for a worker, and the progress of the labelling."""
        try:
            worker = check_worker(asked.query.get("worker", ""))
        except DataError as error:
            raise Refused(400, str(error)) from None
        request = self.store.lease(worker, self.lease_seconds, self.whom.requests_for(worker))
        counts = self.store.counts()
        allowed, names = self.store.labels_allowed, self.look.names
        ordered = dict.fromkeys([*(label for label in names if label in allowed), *allowed])
        return {
            "request": self.item(request) if request else None,
            "labels": [{"value": label, "name": names.get(label, label)} for label in ordered],
            "progress": {"requests": counts.requests, "open": counts.open},
            "instructions": self.look.instructions,
            "given": min(len(answers_of(self.store, worker, UNDO)), UNDO - self.undone[worker]),
        }

    def answer(self, asked: Asked) -> Any:
        """POST /answer."""
        found = self._found(asked, "id", "worker", "label")
        place = ("", None, None)
        answer = make_answer(str(found["id"]), check_worker(found["worker"]), found["label"], place=place)
        accepted = self.store.answer([answer])
        self.undone[answer.worker] = max(self.undone[answer.worker] - accepted.new, 0)
        return {"new": accepted.new, "repeated": accepted.repeated}

    def undo(self, asked: Asked) -> Any:
        """POST /undo: take back the last answer of a worker, who sees its request again."""
        worker = check_worker(self._found(asked, "worker")["worker"])
        given = answers_of(self.store, worker, 1)
        if not given or self.undone[worker] >= UNDO:
            raise DataError("nothing to take back" if not given else f"only the last {UNDO} answers are taken back")
        retract(self.store, given[0].id, self.lease_seconds)
        self.undone[worker] += 1
        return {"request": given[0].request, "label": given[0].label}

    @staticmethod
    def _found(asked: Asked, *keys: str) -> dict[str, Any]:
        wanted = "an object with " + ", ".join(keys).replace(", label", " and label")
        found = asked.json(wanted)
        if found.keys() != set(keys) or not isinstance(found.get("id", ""), str | int):
            raise Refused(400, f"got no answer, wanted {wanted}")
        return found


def create_app(
    store: Store,
    token: str,
    *,
    lease_seconds: float = LEASE_SECONDS,
    look: Look | None = None,
    host: str = HOST,
    audits: float = AUDITS,
) -> Application:
    """The page as an application; without the token in the address everything is 404.

    Args:
        store: holds the requests.
        token: secret part of the address.
        lease_seconds: how long a request that someone is reading is withheld from others.
        look: of the page.
        host: the address that the page is served on; beyond this machine it may be called by any name.
        audits: work for people whose answers have little value, see `Whom`.

    Raises:
        UsageError: packages that a server needs are not installed.
    """
    require_web("the page")
    handlers = _Page(store, look or Look(), lease_seconds, audits)
    body: dict[str, Any] = {JSON: {}}
    return Application(
        [
            Route("GET", "/", handlers.home),
            Route("GET", "/next", handlers.next, fields=(Field("worker", "who is to answer"),)),
            Route("POST", "/answer", handlers.answer, bodies=body),
            Route("POST", "/undo", handlers.undo, bodies=body),
        ],
        {DataError: 409, HutchError: 503},
        limits=LIMITS,
        secret=token,
        # a foreign page must not reach this server under a name that resolves to this machine
        hosts=(HOST, "localhost") if host == HOST else (),
        headers=security_headers(),
    )
