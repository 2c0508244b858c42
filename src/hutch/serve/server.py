"""`hutch serve`: models, log, HTTP and Vowpal Wabbit's protocol in one process."""

import asyncio
import math
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from hutch.core.errors import HutchError, UsageError, did_you_mean
from hutch.durable.choices import Default
from hutch.durable.log import Log
from hutch.net.limits import Limits
from hutch.net.lines import LineServer
from hutch.net.signals import Ready
from hutch.net.web import run
from hutch.serve.app import Handlers, Interface, create_app
from hutch.serve.decisions import learn_defaults
from hutch.serve.served import Served
from hutch.serve.starting import Starting
from hutch.serve.vw import answer_lines, takes_blocks


def load(
    models: Sequence[str],
    log: Log,
    limits: Limits | None = None,
    keep: int = 0,
    starting: Starting | None = None,
    overrides: Sequence[str] = (),
) -> dict[str, Served]:
    """Models by name, in the state that the log gives them.

    Args:
        models: see `names_of`.
        log: of the requests that they learn.
        limits, keep, starting, overrides: see `Served`.

    Raises:
        UsageError: a name twice.
        ModelError, StoreError: see `Served`.
    """
    found: dict[str, Served] = {}
    try:
        for name, path in names_of(models).items():
            found[name] = Served(Path(path), log, name, limits, keep, starting=starting, overrides=overrides)
    except BaseException:
        for served in found.values():
            served.close()
        raise
    return found


def names_of(models: Sequence[str]) -> dict[str, str]:
    """Paths of models by name.

    Args:
        models: paths, or `NAME=PATH`; a path without name is known by its file's, without ending.

    Raises:
        UsageError: a name twice.

    >>> names_of(["models/mail.hutch", "ham=old.model"])
    {'mail': 'models/mail.hutch', 'ham': 'old.model'}
    """
    found: dict[str, str] = {}
    for given in models:
        name, equals, path = given.partition("=")
        if not equals or Path(given).is_file():  # a folder may be called `lr=0.5`
            name, path = Path(given).stem, given
        if name in found:
            raise UsageError(f"got two models named {name!r}, wanted NAME={path} for one of them")
        found[name] = path
    return found


def default_of(seconds: float | None, text: str, most: float) -> Default | None:
    """What is learned of decisions without a reward; None: nothing.

    Args:
        seconds: that a decision waits for its reward; None: for ever.
        text: the reward that is learned then, or metrics as `NAME=X,NAME=X`.
        most: largest number that is learned.

    Raises:
        UsageError: numbers that cannot be used.

    >>> default_of(600, "0.5", 1e12)
    Default(seconds=600, cost=-0.5, metrics=None)
    >>> default_of(600, "right=0,price=0.01", 1e12).metrics
    {'right': 0.0, 'price': 0.01}
    """
    if seconds is None:
        if text != "0":
            raise UsageError(f"--default-reward {text}: wanted --reward-wait, after which it is learned")
        return None
    if not 0 < seconds < math.inf:
        raise UsageError(f"--reward-wait: got {seconds:g}, wanted a number of seconds above 0")

    def number(given: str) -> float:
        try:
            found = float(given)
        except ValueError:
            found = math.nan
        if not abs(found) <= most:
            wanted = f"a number up to --max-value {most:g}, or metrics as in right=0,price=0.01"
            raise UsageError(f"--default-reward: got {given!r}, wanted {wanted}")
        return found

    if "=" not in text:
        return Default(seconds, -number(text))
    parts = [part.partition("=") for part in text.split(",")]
    metrics = {name.strip(): number(value) for name, _, value in parts}
    if len(metrics) < len(parts):
        raise UsageError(f"--default-reward: got {text!r}, wanted each metric once")
    return Default(seconds, 0.0, metrics)


def _require_default(served: Served, default: Default) -> None:
    """See that a default fits what a model learns: rewards, or metrics."""
    known = served.weigher.metrics if served.weigher is not None else {}
    if default.metrics is None and not known:
        return
    if default.metrics is None:
        example = ",".join(f"{name}=0" for name in known)
        text = f"got one number, and it learns metrics: wanted some of them, as in --default-reward {example}"
        raise UsageError(f"--default-reward: {served.name}: {text}")
    for name in default.metrics:
        if name not in known:
            text = did_you_mean(name, known) if known else "it learns no metrics: wanted a number"
            raise UsageError(f"--default-reward: {served.name}: got {name!r}; {text}")


async def serve(
    models: dict[str, Served],
    log: Log,
    listening: socket.socket,
    ready: Ready,
    *,
    host: str,
    token: str,
    save_every: float,
    vw: socket.socket | None = None,
    limits: Limits | None = None,
    default: Default | None = None,
    interfaces: Sequence[Interface] = (),
) -> None:
    """Serve until a signal stops it, or memory for learning runs out; then answer requests under way, learn and save.

    Args:
        models: by name; the first one answers Vowpal Wabbit's protocol.
        log: stores the requests that they learn.
        listening: of HTTP.
        ready: reports the address.
        host: the address of `listening`.
        token: that clients must send; empty for none.
        save_every: seconds between saves.
        vw: of Vowpal Wabbit's protocol; None: it is not served.
        limits: on requests.
        default: what is learned of decisions without a reward; None: nothing.
        interfaces: further requests over HTTP.
    """
    limits, stopping = limits or Limits(), asyncio.Event()
    for served in models.values():
        if default is not None:
            _require_default(served, default)
        served.default = default
        served.failed = stopping.set  # a supervisor restarts the server, which then learns the log
    loop = asyncio.get_running_loop()
    log.taken_over = lambda why: [loop.call_soon_threadsafe(each.stop_learning, why) for each in models.values()]
    handlers = Handlers(models, log, limits, interfaces)
    sys.setswitchinterval(0.001)  # the thread of the log holds the interpreter no longer
    log.start(asyncio.get_running_loop())
    saving = asyncio.create_task(_save_now_and_then(models, save_every, stopping))
    defaults = asyncio.create_task(_learn_defaults_now_and_then(models, default, stopping))
    warming = asyncio.create_task(_warm_up(models))
    lines = None
    if vw is not None:
        first = next(iter(models.values()))
        lines = LineServer(answer_lines(first), token=token, limits=limits, blocks=takes_blocks(first))
        await lines.start(vw)
    app = create_app(handlers, token=token, host=host)
    try:
        await run(app, listening, ready, limits, stopping)
    finally:
        handlers.stopping = True
        try:
            if lines is not None:
                await lines.stop()
            stopping.set()
            await defaults
            await saving  # cancelled, it might replace a newer file
            await asyncio.to_thread(log.commits.flush)
            await _save_all(models)
            await warming
        finally:
            log.close()  # its thread would keep the process alive
            for served in models.values():
                served.close()


async def _warm_up(models: dict[str, Served]) -> None:
    """Compile the kernels of the first requests."""
    for served in models.values():
        await asyncio.to_thread(served.warm_up)


async def _save_all(models: dict[str, Served]) -> None:
    """Save each model, even if others fail.

    Raises:
        HutchError: the first model that could not be saved; its entries stay in the log.
    """
    failed: list[HutchError] = []
    for served in models.values():
        try:
            await served.drain()
            await served.save()
        except HutchError as error:
            failed.append(error)
    if failed:
        raise failed[0]


async def _save_now_and_then(models: dict[str, Served], seconds: float, stopping: asyncio.Event) -> None:
    while True:
        with suppress(TimeoutError):
            await asyncio.wait_for(stopping.wait(), seconds)
            return
        for served in models.values():
            try:
                await served.save()
            except HutchError as error:
                print(f"{error}; the log keeps what was learned", file=sys.stderr, flush=True)


async def _learn_defaults_now_and_then(
    models: dict[str, Served], default: Default | None, stopping: asyncio.Event
) -> None:
    if default is None:
        return
    while True:
        with suppress(TimeoutError):
            await asyncio.wait_for(stopping.wait(), min(1.0, default.seconds))
            return
        for served in models.values():
            try:
                await learn_defaults(served)
            except HutchError as error:
                print(f"decisions without a reward: {error}", file=sys.stderr, flush=True)
