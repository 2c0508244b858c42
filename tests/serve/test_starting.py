"""While a log is replayed the port is open, progress is told and kept, and a signal is obeyed."""

import asyncio
import os
import signal
import socket
import time
from pathlib import Path

import httpx
import pytest

from hutch.core.errors import StoreError
from hutch.durable.log import Log
from hutch.net.limits import Limits
from hutch.serve import starting
from hutch.serve.served import Served
from hutch.serve.starting import Starting, Stopped, loaded
from tests.serve.test_service import LINES, fresh, same, serve, taught  # noqa: F401


def test_probes_are_answered_while_models_are_loaded() -> None:
    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            address = "http://{}:{}".format(*listening.getsockname())

            def load(progress: Starting) -> str:
                progress.begin(2_000)
                for _ in range(1_500):
                    progress.step(lambda: None)
                replies = {path: httpx.get(f"{address}{path}", timeout=60) for path in ("/healthz", "/readyz")}
                replies["post"] = httpx.post(
                    f"{address}/v1/learn", content=b"1 |f", headers={"authorization": "Bearer t"}
                )
                replies["stranger"] = httpx.post(f"{address}/v1/learn", content=b"1 |f")
                assert [each.status_code for each in replies.values()] == [200, 503, 503, 401]
                assert replies["/readyz"].json() == {
                    "status": "not ready",
                    "problems": ["starting: replayed 1,500 of 2,000 entries"],
                }
                return "loaded"

            assert await loaded(load, listening, Limits(), "t") == "loaded"
            assert listening.fileno() >= 0  # still open, for the server

    asyncio.run(main())


@pytest.mark.parametrize("late", [False, True])
def test_an_error_of_loading_is_the_callers(late: bool) -> None:
    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening:

            def load(progress: Starting) -> None:
                time.sleep(2 * starting._PATIENCE * late)
                raise StoreError("damaged")

            with pytest.raises(StoreError, match="damaged"):
                await loaded(load, listening, Limits(), "")

    asyncio.run(main())


@pytest.mark.parametrize("late", [False, True])
def test_a_signal_ends_the_start_and_keeps_what_was_learned(late: bool) -> None:
    saves: list[int] = []

    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening:

            def load(progress: Starting) -> None:
                progress.begin(10)
                time.sleep(2 * starting._PATIENCE * late)
                os.kill(os.getpid(), signal.SIGTERM)
                for _ in range(1000):
                    progress.step(lambda: saves.append(1))
                    time.sleep(0.01)

            with pytest.raises(Stopped, match="stopped while starting: replayed .* of 10 entries; .*is saved"):
                await loaded(load, listening, Limits(), "")

    asyncio.run(main())
    assert saves == [1]


def test_a_replay_that_is_killed_advances(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    serve(fresh, LINES[:10])
    monkeypatch.setattr(starting, "SAVE_EVERY", 0.0)
    log, progress = Log(fresh.with_name("log.db")), Starting()

    class Watching(Starting):
        def step(self, save: object) -> None:
            if self.done == 6:
                raise KeyboardInterrupt
            super().step(save)  # type: ignore[arg-type]

    with pytest.raises(KeyboardInterrupt):
        Served(fresh, log, "m", starting=Watching())
    log.close()
    log, progress = Log(fresh.with_name("log.db")), Starting()
    served = Served(fresh, log, "m", starting=progress)
    assert (progress.done, progress.total, served.position) == (4, 4, 10)
    assert same({name: array.tobytes() for name, array in served.chain.arrays().items()}, taught(LINES[:10]))
    served.close()
    log.close()
