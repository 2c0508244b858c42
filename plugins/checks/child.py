"""The process that runs a plugin's checks and may end with it; what it finds goes to its parent line by line.

    python -P -m hutch.plugins.checks.child '{"name": "link", "bytes": 4294967296}'

Standard output is the parent's: what a plugin prints goes to standard error.
"""

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Told = Callable[..., None]


def main() -> None:
    """Run what the first argument asks for; see `hutch.plugins.checks.apart`."""
    asked = json.loads(sys.argv[1])
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def tell(**what: Any) -> None:
        lines.write(json.dumps(what) + "\n")
        lines.flush()

    _limit(asked["bytes"])
    from hutch.core.errors import HutchError

    try:
        if "seconds" in asked:
            _interpret(asked["name"])
        _run(asked, tell)
    except HutchError as error:
        tell(error=str(error))
    tell(done=True)


def _limit(room: int) -> None:
    """Let the process have so many bytes more than it has now, where that can be asked for."""
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + room, resource.getrlimit(resource.RLIMIT_AS)[1]))
    except (ImportError, OSError, ValueError):
        return


def _interpret(name: str) -> None:
    from hutch.plugins.debugging import interpret, modules_of
    from hutch.plugins.manager import installed

    interpret(modules_of(name, installed()), quiet=True)


def _run(asked: dict[str, Any], tell: Told) -> None:
    """Run the checks from one on, or a single one; then tell what each layer and loss computes."""
    from hutch.plugins.checks.apart import THREE_WAYS
    from hutch.plugins.checks.run import Check, checks_of, parts_of
    from hutch.plugins.checks.ways import OUTCOMES, Outcome
    from hutch.plugins.manager import installed

    plugins, found = installed(), Outcome()
    checks = checks_of(asked["name"], plugins) if asked.get("laws") else []
    for kind, key, item in parts_of(asked["name"], plugins):
        if kind in OUTCOMES:

            def compute(kind: str = kind, item: Any = item) -> None:
                found[:] = OUTCOMES[kind](item, plugins.registry)

            checks.append(Check(key, THREE_WAYS, compute))
    first = asked["first"]
    tell(count=len(checks))
    for k, check in enumerate(checks[first : first + asked.get("most", len(checks))], first):
        found.clear()
        tell(begin=k, check=str(check), known=check.known_failure)
        with _line_told(asked.get("seconds"), tell):
            why = check.failure()
        tell(end=k, why=why, found=list(found))


@contextmanager
def _line_told(seconds: float | None, tell: Told) -> Iterator[None]:
    """If something runs interpreted and for so long, tell in which line it is."""
    if seconds is None:
        yield
        return
    from hutch.plugins.debugging import line_in

    main = threading.get_ident()
    timer = threading.Timer(seconds, lambda: tell(line=line_in(sys._current_frames().get(main))))
    timer.daemon = True
    timer.start()
    yield
    timer.cancel()


if __name__ == "__main__":
    main()
