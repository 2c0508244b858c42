"""Vowpal Wabbit's protocol over TCP: answers line by line, walls, turns."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import UsageError
from hutch.net.limits import Limits
from hutch.net.lines import REFUSAL, Answer, LineServer
from hutch.serve.vw import answer_lines
from tests.reliability.failing import failing


async def say(port: int, text: bytes) -> bytes:
    """Send a text, and read until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(text)
    writer.write_eof()
    found = await reader.read()
    writer.close()
    return found


def over_tcp(answer: Answer, use: Callable[[int], Awaitable[None]], **options: Any) -> None:
    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            server = LineServer(answer, **options)
            await server.start(listening)
            await use(listening.getsockname()[1])
            await server.stop()

    asyncio.run(main())


async def said(answer: Answer, lines: bytes) -> bytes:
    """The answer, which may have to be awaited."""
    found = answer(lines)
    return found if isinstance(found, bytes) else await found


async def echo(lines: bytes) -> bytes:
    return lines


@pytest.mark.parametrize(
    ("options", "sent", "wanted"),
    [
        ({}, b"a\nb\n", b"a\nb\n"),
        ({}, b"no line feed", b"no line feed\n"),
        ({}, b"", b""),
        ({}, b"x" * 100_000 + b"\ny\n", b"x" * 100_000 + b"\ny\n"),
        ({"limits": Limits(line=1000)}, b"a\n" + b"x" * 200_000, b"a\nerror: got a line beyond 1000 bytes\n"),
        ({}, b"POST /x HTTP/1.1\r\nHost: a\r\n\r\n1 |f a\n", REFUSAL),
        ({}, b"GET / HTTP/1.0\n", REFUSAL),
        ({}, b"a\nGET / HTTP/1.0\n", b"a\nGET / HTTP/1.0\n"),
        ({"token": "s"}, b"token s\na\n", b"a\n"),
        ({"token": "s", "blocks": True}, b"token s\na\nb\n\nc", b"a\nb\n\nc\n"),
        (
            {"blocks": True, "limits": Limits(line=1000)},
            b"x\n" * 2000,
            b"error: got a block of lines beyond 1000 bytes\n",
        ),
        ({"token": "s"}, b"a\n", b"error: wanted the line 'token TOKEN' first\n"),
        ({"token": "s"}, b"token t\na\n", b"error: wanted the line 'token TOKEN' first\n"),
    ],
)
def test_a_connection(options: dict[str, Any], sent: bytes, wanted: bytes) -> None:
    async def use(port: int) -> None:
        try:
            assert await say(port, sent) == wanted
        except ConnectionResetError:  # what it still sends may meet a closed socket
            assert wanted.startswith((b"error", b"a\nerror"))

    over_tcp(echo, use, **options)


@pytest.mark.parametrize("feed", [b"\n", b"\r\n"])
def test_a_block_is_answered_once_however_it_arrives(feed: bytes) -> None:
    sent = feed.join([b"shared |s a", b"|a x", b"|a y", b"", b"|b z", b"", b"", b"|c u", b"|c v", b""])
    seen: list[bytes] = []

    def answer(lines: bytes) -> bytes:
        seen.append(lines)
        return b"."

    async def use(port: int) -> None:
        for size in (1, 3, 10, len(sent)):
            seen.clear()
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for start in range(0, len(sent), size):
                writer.write(sent[start : start + size])
                await writer.drain()
                await asyncio.sleep(0.002)
            writer.write_eof()
            await reader.read()
            writer.close()
            assert b"".join(seen) == sent
            assert all(piece.endswith(feed * 2) for piece in seen[:-1])

    over_tcp(answer, use, blocks=True)


def test_a_connection_beyond_the_limit_is_closed() -> None:
    async def use(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"a\n")
        assert await reader.readline() == b"a\n"
        other, unheard = await asyncio.open_connection("127.0.0.1", port)
        assert await asyncio.wait_for(other.read(), 10) == b""  # closed, though nothing was sent
        unheard.close()
        writer.write_eof()
        assert await reader.read() == b""
        writer.close()
        assert await say(port, b"b\n") == b"b\n"

    over_tcp(echo, use, limits=Limits(connections=1))


def test_a_client_that_says_nothing_gives_its_place_back() -> None:
    async def use(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert b"error: got no line in 0.05 s" in await asyncio.wait_for(reader.read(), 20)
        assert await say(port, b"token s\na\n") == b"a\n"
        writer.close()

    over_tcp(echo, use, token="s", limits=Limits(connections=1, header_seconds=0.05))
    over_tcp(echo, lambda port: silent(port), limits=Limits(silent_seconds=0.05))


async def silent(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"a\n")
    assert await asyncio.wait_for(reader.read(), 20) == b"a\nerror: got no line in 0.05 s\n"
    writer.close()


def test_clients_take_turns() -> None:
    order: list[bytes] = []

    async def slow(lines: bytes) -> bytes:
        order.append(lines[:1])
        await asyncio.sleep(0.001)
        return lines

    async def use(port: int) -> None:
        many = asyncio.create_task(say(port, b"m" * 60_000 + b"\n" + (b"m" * 60_000 + b"\n") * 50))
        await asyncio.sleep(0.01)
        assert await say(port, b"few\n") == b"few\n"
        before = order.index(b"f")
        await many
        assert before < len(order) - 10

    over_tcp(slow, use)


def test_a_served_model(model: Path, in_service: Any) -> None:
    twin = Chain.load(model)
    one = [f"{1 - 2 * (k % 2)} 't{k}|f a{k % 7}:{k % 5 + 1}" for k in range(700)]

    async def use(service: Any) -> None:
        answer = answer_lines(service.first)
        found = await said(answer, "".join(line + "\n" for line in one).encode())
        lines = found.decode().splitlines()
        wanted = twin.learn(one)
        assert [line.split(" ")[1] for line in lines] == [f"t{k}" for k in range(700)]
        np.testing.assert_allclose([float(line.split(" ")[0]) for line in lines], wanted, atol=1e-6)
        before = service.first.position
        mixed = await said(answer, b"|f a1\n1 |f a1\n\n1 |f a:1y b\n'u|f a1\n")
        first, second, wrong, last = mixed.split(b"\n")[:4]
        assert float(first) == float(second)
        assert wrong.startswith(b"error: <line>:1:9: bad feature value") and last.endswith(b" u")
        assert float(last.split()[0]) > float(first)
        assert service.first.position == before + 1
        twin.learn("1 |f a1")
        np.testing.assert_array_equal(service.first.chain.weights, twin.weights)

    in_service([model], use)


def test_decisions(tmp_path: Path, saved_model: Any, in_service: Any) -> None:
    layers = ["explore_squarecb", "contextual_bandit", "cost_sensitive_with_features", "linear"]
    config = {"weights": {"bits": 10}, "chain": layers}
    log = [f"shared |s u{k % 3}\n{k % 2}:{k % 4}:0.5 |a x\n|a y{k % 5}\n|a z" for k in range(40)]
    path, twin = tmp_path / "policy", Chain.from_config(config)
    twin.save(path)

    async def use(service: Any) -> None:
        answer = answer_lines(service.first)
        for k, block in enumerate(log):
            ask = "'t|a x\n|a w\n\n"
            found = await said(answer, (block + "\n\n" + ask).encode())
            first, second, rest = found.split(b"\n\n")
            assert rest == b"" and second.endswith(b" t")
            for text, wanted in ((first, twin.learn(block)), (second, twin.predict(ask.strip()))):
                pairs = dict(pair.split(":") for pair in text.decode().split(" ")[0].split(","))
                np.testing.assert_allclose([float(pairs[str(a)]) for a in range(len(wanted))], wanted, atol=1e-6)
                assert float(next(iter(pairs.values()))) == max(map(float, pairs.values()))
            assert service.first.position == k + 1
        np.testing.assert_array_equal(service.first.chain.weights, twin.weights)
        bad = await said(answer, b"0:1:7 |a x\n|a y\n\n|a x\n\n\n\n")
        wrong, right, rest = bad.split(b"\n\n")
        assert wrong.startswith(b"error: <block>:1:") and b"probability" in wrong and right == b"0:1" and rest == b""
        assert service.first.position == 40

    in_service([path], use)


def _no_memory(*given: Any) -> bool:
    raise MemoryError


def test_whichever_allocation_of_a_line_fails_an_error_says_so(model: Path, in_service: Any) -> None:
    """Of several lines each is tried alone; one that is answered by an error was not learned."""

    async def use(service: Any) -> None:
        answer, missing = answer_lines(service.first), b"error: no memory is left for this line\n"
        wanted, examples = await said(answer, b"|f a1\n"), service.first.chain.statistics.examples
        for nth in range(1, 100):
            with failing(nth, memory=True) as allocations:
                two = await said(answer, b"|f a1\n|f a1\n")
            assert two == wanted * 2
            if not allocations.failed:
                break
        assert 1 < nth < 99
        with failing(1, memory=True):
            assert await said(answer, b"|f a1\n") == wanted  # alone it needs none
        with failing(1, memory=True), patch.object(type(service.first.chain.one), "can_learn", _no_memory):
            assert await said(answer, b"1 |f a1\n") == missing
        assert service.first.chain.statistics.examples == examples
        await said(answer, b"1 |f a1\n")
        assert service.first.chain.statistics.examples == examples + 1

    in_service([model], use)


def test_a_connection_without_memory_is_closed_and_others_go_on() -> None:
    async def use(port: int) -> None:
        assert await say(port, b"a\n") == b""
        assert await say(port, b"b\n") == b"b\n"

    async def answer(lines: bytes) -> bytes:
        if lines == b"a\n":
            raise MemoryError
        return lines

    over_tcp(answer, use, limits=Limits(connections=1))


def test_a_model_that_asks_for_labels_has_its_own_server(tmp_path: Path, saved_model: Any, in_service: Any) -> None:
    path = saved_model(tmp_path / "active", {"chain": [{"active": {"budget": 0.5}}, "linear"]})

    async def use(service: Any) -> None:
        with pytest.raises(UsageError, match="wanted HTTP: /v1/labels"):
            answer_lines(service.first)

    in_service([path], use)
