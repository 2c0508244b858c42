"""A server in this process, asked without a network."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from hutch import Chain
from hutch.durable.log import Log
from hutch.net.limits import Limits
from hutch.serve.app import Handlers, create_app
from hutch.serve.personalizer.calls import PERSONALIZER
from hutch.serve.served import Served

LINES = ["1 |f a b:0.5", "-1 |f b", "1 |f a c"] * 5


def _saved_model(path: Path, config: Any = None, lines: list[str] | None = None) -> Path:
    """A model file."""
    chain = Chain.from_config(config or {"weights": {"bits": 12}, "chain": [{"linear": {"loss": "logistic"}}]})
    chain.learn(LINES if lines is None else lines)
    chain.save(path)
    return path


@dataclass
class Service:
    """Served models, and a client."""

    models: dict[str, Served]
    log: Log
    client: httpx.AsyncClient
    handlers: Handlers

    @property
    def first(self) -> Served:
        return next(iter(self.models.values()))

    async def post(self, path: str, body: Any, kind: str = "text/plain", **headers: str) -> httpx.Response:
        """Send a body."""
        return await self.client.post(path, content=body, headers={"content-type": kind, **headers})


Use = Callable[[Service], Awaitable[None]]


def _in_service(
    paths: list[Path],
    use: Use,
    *,
    token: str = "",
    limits: Limits | None = None,
    host: str = "127.0.0.1",
    keep: int = 0,
    **options: Any,
) -> None:
    """Serve models while a coroutine uses them; nothing is saved at the end. Further options are those of `Log`."""

    async def main() -> None:
        log, models = Log(paths[0].with_suffix(".db"), **options), {}
        try:
            for path in paths:
                models[path.stem] = Served(path, log, path.stem, limits, keep)
            handlers = Handlers(models, log, limits, (PERSONALIZER,))
            log.start(asyncio.get_running_loop())
            app: Any = create_app(handlers, token=token, host=host)
            transport = httpx.ASGITransport(app=app)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                await use(Service(models, log, client, handlers))
        finally:
            await asyncio.gather(*(served.drain() for served in models.values()))
            await asyncio.to_thread(log.close)
            for served in models.values():
                served.close()

    asyncio.run(main())


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A small model."""
    return _saved_model(tmp_path / "model")


@pytest.fixture
def saved_model() -> Callable[..., Path]:
    """Makes a model file."""
    return _saved_model


@pytest.fixture
def in_service() -> Callable[..., None]:
    """Serves models while a coroutine uses them."""
    return _in_service
