"""An application asked without a server: who may ask, what a request may hold, what is answered and counted."""

import asyncio
import json
from typing import Any

import pytest

from hutch.core.errors import DataError, HutchError
from hutch.net.application import JSON, Application, Asked, Field, Refused, Reply, Route
from hutch.net.limits import Limits


def echo(asked: Asked) -> Any:
    return {"query": dict(asked.query), "kind": asked.kind, "body": asked.body.decode()}


def refuse(asked: Asked) -> Any:
    raise DataError("no")


FIELDS = (Field("scores", "Whether scores are wanted.", "boolean"), Field("model", "Its name."))
ROUTES = (
    Route("GET", "/", lambda asked: Reply(b"page", "text/html")),
    Route("GET", "/echo", echo, fields=FIELDS),
    Route("POST", "/echo", echo, fields=FIELDS, bodies={"text/plain": {}}),
    Route("POST", "/refuse", refuse, bodies={"text/plain": {}}),
)
TEXT = ("content-type", "text/plain")


def ask(
    method: str, target: str, *headers: tuple[str, str], body: list[bytes] | None = None, **options: Any
) -> tuple[int, dict[str, str], Any]:
    """Status, headers and content of an answer."""
    path, _, query = target.partition("?")
    sent: list[Any] = []
    messages = [{"type": "http.request", "body": piece, "more_body": True} for piece in body or []]
    waiting = iter([*messages, {"type": "http.request", "body": b""}])

    async def receive() -> Any:
        return next(waiting)

    async def send(message: Any) -> None:
        sent.append(message)

    given = [("host", "here"), *headers] if "host" not in dict(headers) else [*headers]
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in given],
    }
    asyncio.run(Application(ROUTES, {HutchError: 422}, **options)(scope, receive, send))
    head, content = sent
    found = {name.decode(): value.decode() for name, value in head["headers"]}
    assert int(found["content-length"]) == len(content["body"])
    is_json = found["content-type"] == JSON
    return head["status"], found, json.loads(content["body"]) if is_json else content["body"]


@pytest.mark.parametrize(
    ("target", "status", "found"),
    [
        ("/echo?scores=true&model=a", 200, {"scores": "true", "model": "a"}),
        ("/echo?model=", 200, {"model": ""}),
        ("/echo?scores=", 400, "scores: got '', wanted true or false"),
        ("/echo?model=a&model=b", 400, "got the query parameter 'model' twice"),
        ("/echo?modle=a", 400, "got the unknown query parameter 'modle'; did you mean 'model'?"),
        ("/echo?model=%ff", 400, "the query of the address is malformed"),
        ("/nothing", 404, "there is nothing at this address; valid: /, /echo, /refuse"),
    ],
)
def test_the_query(target: str, status: int, found: Any) -> None:
    answered, _, content = ask("GET", target)
    assert (answered, content.get("query", content.get("error"))) == (status, found)


@pytest.mark.parametrize(
    "name", ["host", "content-type", "content-length", "authorization", "idempotency-key", "origin"]
)
def test_headers_that_decide_come_once(name: str) -> None:
    assert ask("GET", "/echo", ("host", "here"), ("accept", "a"), ("accept", "b"))[0] == 200
    status, _, content = ask("GET", "/echo", ("host", "here"), (name, "a"), (name.title(), "a"))
    assert (status, content["error"]) == (400, f"got the header {name!r} twice")


@pytest.mark.parametrize(
    ("host", "good"),
    [("localhost:80", True), ("[::1]", True), ("[::1]:8000", True), ("[::2]:8000", False), ("x", False)],
)
def test_names_of_this_machine(host: str, good: bool) -> None:
    assert ask("GET", "/echo", ("host", host), hosts=("localhost", "::1"))[0] == (200 if good else 400)


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ("Bearer right", 200),
        ("bearer  right ", 200),
        ("right", 401),
        ("Basic right", 401),
        ("Bearer wrong", 401),
        ("", 401),
    ],
)
def test_a_token_and_its_scheme(given: str, status: int) -> None:
    options: dict[str, Any] = {"token": "right", "public": ("/",)}
    found, headers, _ = ask("GET", "/echo", ("authorization", given), **options)
    assert (found, headers.get("www-authenticate")) == (status, None if status == 200 else "Bearer")
    assert ask("GET", "/", **options)[0] == 200


def test_methods() -> None:
    assert ask("HEAD", "/echo")[0] == 200
    status, _, content = ask("PUT", "/echo")
    assert (status, content["error"]) == (405, "got 'PUT', wanted GET or POST")


@pytest.mark.parametrize(
    ("target", "status", "location"),
    [
        ("/key/", 200, None),
        ("/key", 307, "/key/"),
        ("/echo", 404, None),
        ("/key/echo", 200, None),
        ("/keyecho", 404, None),
    ],
)
def test_a_secret_is_the_first_part_of_every_address(target: str, status: int, location: str | None) -> None:
    found, headers, _ = ask("GET", target, secret="key")
    assert (found, headers.get("location")) == (status, location)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([TEXT], 200),
        ([("content-type", 'Text/Plain; charset="UTF-8"')], 200),
        ([("content-type", "text/plain; charset=utf-16")], 415),
        ([("content-type", "text/html")], 415),
        ([], 415),
        ([TEXT, ("content-encoding", "Identity")], 200),
        ([TEXT, ("content-encoding", "gzip")], 415),
        ([TEXT, ("content-length", "5")], 200),
        ([TEXT, ("content-length", "8")], 200),
        ([TEXT, ("content-length", "9")], 413),
        ([TEXT, ("content-length", "-1")], 400),
    ],
)
def test_bodies(headers: list[tuple[str, str]], status: int) -> None:
    found, answered, content = ask("POST", "/echo", *headers, body=[b"he", b"llo"], limits=Limits(body=8))
    assert found == status and answered.get("connection") == ("close" if status == 413 else None)
    assert status != 200 or (content["kind"], content["body"]) == ("text/plain", "hello")


@pytest.mark.parametrize(("size", "status"), [(8, 200), (9, 413)])
def test_a_body_is_read_no_further_than_its_limit(size: int, status: int) -> None:
    found, headers, _ = ask("POST", "/echo", TEXT, body=[b"x"] * size, limits=Limits(body=8))
    assert (found, headers.get("connection")) == (status, None if status == 200 else "close")


def test_what_is_counted() -> None:
    seen: list[tuple[str, str, int]] = []
    count = lambda *each: seen.append(each[:3])  # noqa: E731
    for method, path in (("GET", "/echo"), ("PUT", "/echo"), ("GET", "/x"), ("POST", "/refuse")):
        ask(method, path, TEXT, count=count)
    assert seen == [("GET", "/echo", 200), ("other", "/echo", 405), ("other", "other", 404), ("POST", "/refuse", 422)]


@pytest.mark.parametrize("headers", [[("origin", "http://there")], [("sec-fetch-site", "same-site")]])
def test_pages_of_others_may_not_ask_unless_they_know_the_secret(headers: list[tuple[str, str]]) -> None:
    status, answered, _ = ask("GET", "/echo", *headers)
    assert (status, answered["connection"]) == (403, "close")
    assert ask("GET", "/key/echo", *headers, secret="key")[0] == 200
    assert ask("GET", "/echo", ("origin", "http://here"))[0] == 200


def test_an_error_of_a_handler_has_its_status() -> None:
    status, _, content = ask("POST", "/refuse", TEXT, body=[b"x"])
    assert (status, content) == (422, {"error": "no"})
    with pytest.raises(Refused):
        Asked({}, {}, JSON, b"[1]").json("an object")
