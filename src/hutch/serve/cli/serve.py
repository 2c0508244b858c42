"""`hutch serve`: put models into service."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from hutch.shell.declared import Argument, Option

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterable

    from hutch.durable.log import Log
    from hutch.serve.served import Served
    from hutch.serve.starting import Starting


def serve(
    models: Annotated[list[str], Argument(metavar="MODEL...", help="Model files; NAME=FILE gives one another name.")],
    host: Annotated[
        str, Option(metavar="ADDRESS", help="Address to listen on; any but this machine's own needs --token.")
    ] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, metavar="N", help="Port of HTTP; 0: any free one.")] = 8080,
    vw_port: Annotated[
        int | None,
        Option(min=0, max=65535, metavar="N", help="Also speak Vowpal Wabbit's protocol here, for the first model."),
    ] = None,
    store: Annotated[
        Path | None,
        Option(
            "--store",
            metavar="FILE",
            help="The log, and the label store.",
            show_default="MODEL.log.db of the first model",
        ),
    ] = None,
    accept_loss: Annotated[
        bool,
        Option("--accept-loss", help="Start although acknowledged learn requests are missing from the log or a model."),
    ] = False,
    accept_difference: Annotated[
        bool,
        Option(
            "--accept-difference",
            help="Start although a replay of the log predicts something else than clients were told.",
        ),
    ] = False,
    overrides: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="PATH=VALUE",
            help="Change the models from now on: weighted_metrics.weights.price=-5. Repeatable.",
        ),
    ] = None,
    keep: Annotated[
        int, Option(min=0, metavar="N", help="Keep N earlier saves of each model, and the log from the oldest on.")
    ] = 0,
    save_every: Annotated[float, Option(min=1, metavar="SECONDS", help="Save the models this often.")] = 300.0,
    remember: Annotated[
        float, Option(min=0, metavar="DAYS", help="Remember ids of requests and decisions this long.")
    ] = 30.0,
    most: Annotated[
        int, Option("--remember-most", min=1, metavar="N", help="Remember at most N of them of each model.")
    ] = 10_000_000,
    reward_wait: Annotated[
        float | None,
        Option(
            metavar="SECONDS",
            help="Learn a decision that has had no reward for so long with --default-reward.",
            show_default="never",
        ),
    ] = None,
    default_reward: Annotated[
        str, Option(metavar="X", help="The reward of such a decision, or its metrics: `right=0,price=0.01`.")
    ] = "0",
    token: Annotated[
        str, Option(envvar="HUTCH_TOKEN", metavar="TEXT", help="Token that clients must send; safer as HUTCH_TOKEN.")
    ] = "",
    max_body: Annotated[int, Option(min=1, metavar="BYTES", help="Largest body of a request.")] = 16 << 20,
    max_importance: Annotated[float, Option(min=0, metavar="X", help="Largest importance to learn.")] = 1e6,
    max_value: Annotated[float, Option(min=0, metavar="X", help="Largest feature, label or cost to learn.")] = 1e12,
    connections: Annotated[int, Option(min=1, metavar="N", help="Most connections at a time.")] = 1000,
) -> None:
    """Predict and learn over HTTP; nothing acknowledged is lost in a crash. The models are saved to their own files.

    Example: hutch serve model --port 8080 --save-every 60
    """
    import signal
    import sys

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # by default the first process of a container is deaf to it

    from hutch.core.errors import UsageError
    from hutch.net.application import LOOPBACK
    from hutch.net.web import listen, require_web

    require_web("serving")
    if host not in LOOPBACK and not token:
        raise UsageError(f"--host {host}: others can reach it, so it needs a token: set HUTCH_TOKEN")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError("--token: wanted printable ASCII without blanks")
    from hutch.durable.log import Log
    from hutch.net.limits import Limits
    from hutch.net.lines import run_in_loop
    from hutch.serve.personalizer.calls import PERSONALIZER
    from hutch.serve.server import default_of, load, names_of
    from hutch.serve.server import serve as serve_models
    from hutch.serve.starting import loaded

    default, first = default_of(reward_wait, default_reward, max_value), next(iter(names_of(models).values()))
    limits = Limits(body=max_body, connections=connections, importance=max_importance, value=max_value)
    _check_files(names_of(models).values())
    listening = listen(host, port)
    vw = listen(host, vw_port) if vw_port is not None else None
    addresses = [f"http://{_address(listening)}", *([f"vw {_address(vw)}"] if vw is not None else [])]

    def open_all(starting: Starting) -> tuple[Log, dict[str, Served]]:
        """The log, and the models as it gives them."""
        path, seconds = store or f"{first}.log.db", remember * 86400
        log = Log(path, seconds, most, accept_loss=accept_loss, accept_difference=accept_difference)
        try:
            served = load(models, log, limits, keep, starting, overrides or ())
        except BaseException:
            log.close()
            raise
        for each in served.values():
            each.proofs.say(each.replayed)
        return log, served

    async def run_all() -> None:
        log, served = await loaded(open_all, listening, limits, token)
        await serve_models(
            served,
            log,
            listening,
            lambda: print(*addresses, sep="\n", flush=True),
            host=host,
            token=token,
            save_every=save_every,
            vw=vw,
            limits=limits,
            default=default,
            interfaces=(PERSONALIZER,),
        )

    run_in_loop(run_all())


def _check_files(paths: Iterable[str]) -> None:
    """Check that models are there, before there is a log beside them."""
    from hutch.core.errors import HutchError, at

    for path in paths:
        if not Path(path).exists():
            raise HutchError(at(path, None, None, "cannot be read: No such file or directory"))


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
