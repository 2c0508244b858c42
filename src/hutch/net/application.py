"""HTTP applications from a table of routes: access checks, limits on requests, and errors as answers.

A handler gets an `Asked` and returns a value for JSON, or a `Reply`; it is independent of ASGI. Parameters that its
route does not name are refused, so that a misspelt one is never ignored silently.
"""

import asyncio
import inspect
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl

from hutch.core.errors import HutchError, did_you_mean
from hutch.core.strict_json import dumps, loads
from hutch.net.limits import Limits
from hutch.net.paths import Paths

JSON = "application/json"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Names of this machine."""
_ONCE = ("host", "content-type", "content-encoding", "content-length", "authorization", "idempotency-key", "origin")
_UTF8 = ("utf-8", "utf8", "us-ascii")
_UNREAD = (401, 403, 408, 413)
_DISCARDED = 1 << 27
"""Bytes of a body that is too large which are read, so that its client is not cut off before it reads the answer."""

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class Refused(Exception):
    """A request that is answered with an error.

    Attributes:
        status: of the answer.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True, slots=True)
class Asked:
    """A request whose form is right.

    Attributes:
        query: the parameters of its address.
        headers: by name in lower case.
        kind: content type of the body; empty without one.
        body: as sent.
        parts: of its path, by their names in the route's.
    """

    query: Mapping[str, str]
    headers: Mapping[str, str]
    kind: str = ""
    body: bytes = b""
    parts: Mapping[str, str] = field(default_factory=dict)

    def json(self, wanted: str) -> dict[str, Any]:
        """The body as an object.

        Args:
            wanted: description of it, for the message.

        Raises:
            Refused: it is not one.
        """
        try:
            found = loads(self.body or b"{}", "<body>")
        except HutchError:
            found = None
        if not isinstance(found, dict):
            raise Refused(400, f"got no JSON object, wanted {wanted}")
        return found


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer.

    Attributes:
        content: a value for JSON; bytes are sent as they are.
        kind: its content type.
        status: 200 and so on.
        headers: in addition to those of the application.
    """

    content: Any
    kind: str = JSON
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter of requests.

    Attributes:
        name: as clients write it.
        text: its meaning.
        kind: `string`, or `boolean`: `true` or `false`.
        where: `query`, `header` or `path`.
        longest: characters of a string.
    """

    name: str
    text: str
    kind: str = "string"
    where: str = "query"
    longest: int = 200


@dataclass(frozen=True, slots=True)
class Route:
    """One kind of request.

    Attributes:
        method, path: of HTTP; `{name}` stands for any part of a path, which the handler gets.
        answer: the handler: a coroutine function, or a function that is called in a thread.
        summary: its effect, one sentence.
        fields: its parameters; all others are refused.
        bodies: by content type, the OpenAPI description of the body; empty: it takes none.
        gives: by content type, the OpenAPI description of the answer.
        errors: its possible errors, in addition to those that all routes share.
        status: of an answer that is no `Reply`; with 204 it has no content.
    """

    method: str
    path: str
    answer: Callable[[Asked], Any]
    summary: str = ""
    fields: Sequence[Field] = ()
    bodies: Mapping[str, Any] = field(default_factory=dict)
    gives: Mapping[str, Any] = field(default_factory=lambda: {JSON: {"schema": {"type": "object"}}})
    errors: Sequence[int] = ()
    status: int = 200


@dataclass(frozen=True, slots=True)
class Dialect:
    """How addresses that another service's clients use differ from the rest.

    Attributes:
        within: a part of the path of all these addresses.
        key: the header in which its clients send the token, in lower case.
        error: by path, status and message of an error the status and the content that these clients understand.
    """

    within: str
    key: str
    error: Callable[[str, int, str], tuple[int, Any]]


class Application:
    """An application of ASGI.

    On a loopback address without a token the danger is the browser of the user at the machine: a foreign page may
    send requests there. So requests under foreign names of this machine, and from pages of other origins, are refused,
    unless the address has a secret.

    Args:
        routes: the requests that it answers.
        statuses: of errors, the first class that fits.
        limits: on bodies.
        secret: the first part of every address; every other address is 404. Empty: none.
        token: clients must send `Authorization: Bearer TOKEN`; empty: no check.
        public: paths that need no token.
        hosts: names under which clients may address it; empty: any.
        headers: of every answer.
        count: called with method, path of the route, status and seconds of each request.
        dialects: of some addresses.
    """

    def __init__(
        self,
        routes: Sequence[Route],
        statuses: Mapping[type[HutchError], int],
        *,
        limits: Limits | None = None,
        secret: str = "",
        token: str = "",
        public: Collection[str] = (),
        hosts: Collection[str] = (),
        headers: Mapping[str, str] | None = None,
        count: Callable[[str, str, int, float], None] | None = None,
        dialects: Sequence[Dialect] = (),
    ) -> None:
        self.routes: dict[str, dict[str, Route]] = {}
        for route in routes:
            self.routes.setdefault(route.path, {})[route.method] = route
        self._paths, self._dialects = Paths(self.routes), dialects
        self._prefix = f"/{secret}" if secret else ""
        self._statuses, self._limits, self._count = statuses, limits or Limits(), count
        self._token, self._public, self._hosts = token.encode(), public, frozenset(hosts)
        self._headers = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        begun, status = time.perf_counter(), 500
        path, parts = self._paths.place_of(scope, self._prefix)
        try:
            reply = await self._reply(scope, path, parts, receive)
            status = reply.status
            await self._send(reply, send)
        finally:
            if self._count is not None:
                known = path in self.routes
                method = scope["method"] if known and scope["method"] in self.routes[path] else "other"
                self._count(method, path if known else "other", status, time.perf_counter() - begun)

    def _dialect(self, path: str) -> Dialect | None:
        return next((each for each in self._dialects if each.within in path), None)

    async def _reply(self, scope: Message, path: str, parts: Mapping[str, str], receive: Receive) -> Reply:
        reply = await self._reply_or_error(scope, path, parts, receive)
        dialect = self._dialect(path)
        if reply.status < 400 or dialect is None:
            return reply
        status, content = dialect.error(path, reply.status, reply.content["error"])
        return replace(reply, status=status, content=content)

    async def _reply_or_error(self, scope: Message, path: str, parts: Mapping[str, str], receive: Receive) -> Reply:
        try:
            headers = _headers(scope["headers"])
            self._check_who_asks(path, headers)
            if self._prefix and scope["path"] == self._prefix:  # relative links would lead elsewhere
                return Reply(b"", "text/plain", 307, {"Location": f"{self._prefix}/"})
            route = self.route_of(scope, path)
            asked = await self._asked(route, scope, headers, parts, receive)
            if inspect.iscoroutinefunction(route.answer):
                found = await route.answer(asked)
            else:
                found = await asyncio.to_thread(route.answer, asked)
            return found if isinstance(found, Reply) else Reply(_content(route, found), status=route.status)
        except Refused as error:
            return _error(error.status, str(error))
        except HutchError as error:
            status = next(status for kind, status in self._statuses.items() if isinstance(error, kind))
            return _error(status, str(error))
        except MemoryError as error:
            return _error(503, f"no memory is left for this request; ask again later, or for less. {error}".rstrip())

    async def _send(self, reply: Reply, send: Send) -> None:
        body = reply.content if isinstance(reply.content, bytes) else dumps(reply.content).encode()
        head = [(b"content-type", reply.kind.encode()), (b"content-length", str(len(body)).encode()), *self._headers]
        head += [(name.lower().encode(), value.encode()) for name, value in reply.headers.items()]
        await send({"type": "http.response.start", "status": reply.status, "headers": head})
        await send({"type": "http.response.body", "body": body})

    def _check_who_asks(self, path: str, headers: Mapping[str, str]) -> None:
        host = headers.get("host", "")
        name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        if self._hosts and name.lower() not in self._hosts:
            raise Refused(400, f"host: got {name[:100]!r}, wanted one of {', '.join(sorted(self._hosts))}")
        if not self._prefix:
            origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
            if (origin is not None and origin.partition("//")[2] != host) or site not in ("none", "same-origin"):
                raise Refused(403, "got a request of a page of another origin")
        if self._token and path not in self._public:
            scheme, _, given = headers.get("authorization", "").partition(" ")
            dialect = self._dialect(path)
            if dialect is not None and dialect.key in headers:
                scheme, given = "bearer", headers[dialect.key]
            right = secrets.compare_digest(given.strip().encode("latin-1"), self._token)
            if scheme.lower() != "bearer" or not right:
                key = f", or '{dialect.key}: TOKEN'" if dialect is not None else ""
                raise Refused(401, f"wanted the header 'Authorization: Bearer TOKEN'{key}")

    def route_of(self, scope: Mapping[str, Any], path: str) -> Route:
        """The route of a request.

        Raises:
            Refused: there is none.
        """
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        if path not in self.routes:
            dialect = self._dialect(path)
            known = [each for each in self.routes if (each.startswith(dialect.within) if dialect else "{" not in each)]
            raise Refused(404, f"there is nothing at this address; valid: {', '.join(sorted(known))}")
        if method not in self.routes[path]:
            raise Refused(405, f"got {method[:20]!r}, wanted {' or '.join(self.routes[path])}")
        return self.routes[path][method]

    async def _asked(
        self, route: Route, scope: Message, headers: Mapping[str, str], parts: Mapping[str, str], receive: Receive
    ) -> Asked:
        query = _query(route, scope["query_string"])
        if not route.bodies:
            return Asked(query, headers, parts=parts)
        kind = _kind(route, headers)
        return Asked(query, headers, kind, await _body(receive, headers, self._limits), parts)


def _content(route: Route, found: Any) -> bytes:
    return b"" if route.status == 204 else dumps(found).encode()


def _error(status: int, text: str) -> Reply:
    """An error; where the rest of the request may be on its way, the connection is closed."""
    extra = {"Connection": "close"} if status in _UNREAD else {}
    if status == 401:
        extra["WWW-Authenticate"] = "Bearer"
    return Reply({"error": text}, status=status, headers=extra)


def _headers(given: Collection[tuple[bytes, bytes]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for raw, value in given:
        name = raw.decode("latin-1").lower()
        if name in found and name in _ONCE:
            raise Refused(400, f"got the header {name!r} twice")
        found[name] = value.decode("latin-1")
    return found


def _query(route: Route, text: bytes) -> dict[str, str]:
    known = {each.name: each for each in route.fields if each.where == "query"}
    found: dict[str, str] = {}
    try:
        pairs = parse_qsl(text.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError:  # not UTF-8 is one
        raise Refused(400, "the query of the address is malformed") from None
    for name, value in pairs:
        if name not in known:
            hint = did_you_mean(name[:100], known) if known else "wanted none"
            raise Refused(400, f"got the unknown query parameter {name[:100]!r}; {hint}")
        if name in found:
            raise Refused(400, f"got the query parameter {name!r} twice")
        if known[name].kind == "boolean" and value not in ("true", "false"):
            raise Refused(400, f"{name}: got {value[:100]!r}, wanted true or false")
        found[name] = value
    return found


def _kind(route: Route, headers: Mapping[str, str]) -> str:
    """The content type of a body that can be read."""
    given, *parameters = (part.strip() for part in headers.get("content-type", "").split(";"))
    if given.lower() not in route.bodies:
        raise Refused(415, f"content-type: got {given[:100]!r}, wanted {' or '.join(route.bodies)}")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip().strip('"').lower() not in _UTF8:
            raise Refused(415, f"content-type: got charset {value[:100]!r}, wanted utf-8")
    encoding = headers.get("content-encoding", "identity")
    if encoding.strip().lower() != "identity":
        raise Refused(415, f"content-encoding: got {encoding[:100]!r}, wanted none")
    return given.lower()


async def _body(receive: Receive, headers: Mapping[str, str], limits: Limits) -> bytes:
    """The body, which is read no further than the limits allow."""
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit() and len(length) < 18):
        raise Refused(400, "content-length: wanted a number")
    if int(length) > limits.body:
        await _discard(receive, headers, limits)
        raise Refused(413, f"got a body of {length} bytes, wanted at most {limits.body}")
    pieces, total, more = [], 0, True
    try:
        async with asyncio.timeout(limits.body_seconds):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Refused(400, "the client has gone")
                pieces.append(message.get("body", b""))
                total, more = total + len(pieces[-1]), message.get("more_body", False)
                if total > limits.body:
                    break
    except TimeoutError:
        raise Refused(408, f"got no whole body in {limits.body_seconds:g} s") from None
    if total > limits.body:
        pieces.clear()
        if more:
            await _discard(receive, headers, limits)
        raise Refused(413, f"got a body beyond {limits.body} bytes")
    return b"".join(pieces)


async def _discard(receive: Receive, headers: Mapping[str, str], limits: Limits) -> None:
    """Read what a client still sends, within limits: many look for an answer only when they have sent all.

    A client that asks before it sends (`Expect: 100-continue`) is answered at once.
    """
    total, more = 0, "expect" not in headers
    with suppress(TimeoutError):
        async with asyncio.timeout(limits.body_seconds):
            while more and total < _DISCARDED:
                message = await receive()
                total += len(message.get("body", b""))
                more = message["type"] == "http.request" and message.get("more_body", False)
