"""Paths of routes whose parts may stand for any, such as `/events/{id}/reward`."""

import re
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import unquote

_PART = re.compile(r"\{(\w+)\}")


class Paths:
    """Finds the path of the route that a request is for.

    Args:
        known: paths of routes; `{name}` stands for any part.

    >>> scope = {"path": "/events/a/b/reward", "raw_path": b"/events/a%2Fb/reward"}
    >>> Paths(["/events", "/events/{id}/reward"]).place_of(scope)
    ('/events/{id}/reward', {'id': 'a/b'})
    """

    def __init__(self, known: Collection[str]) -> None:
        self._known = known
        self._patterns = [(_pattern(path), path) for path in known if "{" in path]

    def place_of(self, scope: Mapping[str, Any], prefix: str = "") -> tuple[str, dict[str, str]]:
        """The path of a route, and the parts that stand for any; the request's own path if it is for none.

        Args:
            scope: of the request, as in ASGI.
            prefix: with which all paths begin.
        """
        path = str(scope["path"])
        path = path.removeprefix(prefix) if path.startswith(prefix) else ""
        if path in self._known and "{" not in path:
            return path, {}
        sent = bytes(scope.get("raw_path") or b"").decode("ascii", "replace").partition("?")[0]
        for pattern, known in self._patterns:
            if found := pattern.fullmatch(
                sent.removeprefix(prefix) if sent else path
            ):  # as sent a part may hold a slash
                return known, {name: unquote(part) for name, part in found.groupdict().items()}
        return path.replace("{", "%7B"), {}  # no request is for the name of a part


def _pattern(path: str) -> re.Pattern[str]:
    pieces = _PART.split(path)  # a name after each text
    return re.compile("".join(f"(?P<{each}>[^/]+)" if k % 2 else re.escape(each) for k, each in enumerate(pieces)))
