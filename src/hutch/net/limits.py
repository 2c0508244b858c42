"""Limits on requests to a server."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on requests of a client.

    Attributes:
        body: bytes of a request's body.
        examples: of a request: lines, records or rows.
        headers: bytes of a request's headers.
        waiting: requests of one connection that wait for their answers.
        line: bytes of a line of Vowpal Wabbit's protocol.
        header_seconds: until the headers of a request have arrived.
        body_seconds: until the body of a request has arrived.
        unread_seconds: until a client reads on an answer that fills its connection.
        idle_seconds: a connection without a request is closed after so long.
        silent_seconds: the same, of Vowpal Wabbit's protocol once it has sent its token.
        connections: open at a time; more are answered 503.
        stop_seconds: for requests under way when the server is to stop.
        importance: of an example to learn.
        value: of its features, labels and costs, without their sign.
    """

    body: int = 16 << 20
    examples: int = 250_000
    headers: int = 1 << 16
    waiting: int = 1000
    line: int = 1 << 20
    header_seconds: float = 10.0
    body_seconds: float = 30.0
    unread_seconds: float = 30.0
    idle_seconds: float = 75.0
    silent_seconds: float = 3600.0
    connections: int = 1000
    stop_seconds: float = 10.0
    importance: float = 1e6
    value: float = 1e12
