"""The part of Label Studio's REST interface that requests and answers need."""

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hutch.core.errors import HutchError, UsageError, at

_PAGE = 500
_SECONDS = 60.0


class Client:
    """A server of Label Studio.

    Args:
        url: its address.
        key: an access token: a personal one (a JWT, which is exchanged for short-lived ones) or a legacy one.

    Raises:
        UsageError: the address is not an HTTP address.
    """

    def __init__(self, url: str, key: str) -> None:
        if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
            raise UsageError(f"--url: got {url!r}, wanted an address such as http://localhost:8080")
        self.url = url.rstrip("/")
        self._key, self._bearer = key, ""

    def call(self, method: str, path: str, body: Any = None, *, again: bool = True) -> Any:
        """Call the interface.

        Args:
            method: of HTTP.
            path: below `/api/`.
            body: sent as JSON.
            again: a short-lived token that has expired is replaced, and the call repeated.

        Raises:
            HutchError: the server cannot be reached, or refuses; the message gives the reason.
        """
        personal = self._key.count(".") == 2
        if personal and not self._bearer:
            self._bearer = self._send("POST", "token/refresh", {"refresh": self._key}, {})["access"]
        access = f"Bearer {self._bearer}" if personal else f"Token {self._key}"
        try:
            return self._send(method, path, body, {"Authorization": access})
        except _Refused as error:
            if not (personal and again and error.status == 401):
                raise
            self._bearer = ""
            return self.call(method, path, body, again=False)

    def _send(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> Any:
        data = None if body is None else json.dumps(body).encode()
        url = f"{self.url}/api/{path}"
        head = {"Accept": "application/json", "Content-Type": "application/json", **headers}
        try:
            with urllib.request.urlopen(
                urllib.request.Request(url, data, head, method=method), timeout=_SECONDS
            ) as response:
                text = response.read()
        except urllib.error.HTTPError as error:
            with error:
                detail = error.read(2000).decode(errors="replace")
            raise _Refused(at(url, None, None, f"{error.code} {error.reason}: {_reason(detail)}"), error.code) from None
        except (OSError, ValueError) as error:
            raise HutchError(at(url, None, None, f"cannot be reached: {error}")) from None
        try:
            return json.loads(text) if text else None
        except (ValueError, RecursionError):
            raise HutchError(at(url, None, None, "got no JSON, wanted Label Studio's REST interface")) from None

    def configuration(self, project: int) -> str:
        """The labelling configuration of a project."""
        return str(self.call("GET", f"projects/{project}/")["label_config"])

    def create_project(self, title: str, configuration: str, overlap: int) -> int:
        """Make a project whose next task is the one with the lowest score; returns its number."""
        body = {
            "title": title,
            "label_config": configuration,
            "sampling": "Uncertainty sampling",
            "maximum_annotations": overlap,
        }
        return int(self.call("POST", "projects/", body)["id"])

    def use_version(self, project: int, version: str) -> None:
        """Order a project's tasks by the scores of a model version."""
        self.call("PATCH", f"projects/{project}/", {"model_version": version})

    def tasks(self, project: int) -> Iterator[dict[str, Any]]:
        """All tasks of a project, without annotations."""
        number = 1
        while True:
            query = urllib.parse.urlencode(
                {"project": project, "page": number, "page_size": _PAGE, "fields": "task_only"}
            )
            try:
                found = self.call("GET", f"tasks?{query}")
            except _Refused as error:  # a page behind the last one
                if error.status == 404 and number > 1:
                    return
                raise
            tasks = found["tasks"] if isinstance(found, dict) else found
            yield from tasks
            if len(tasks) < _PAGE:
                return
            number += 1

    def add_tasks(self, project: int, tasks: Sequence[Mapping[str, Any]]) -> None:
        """Import tasks, with their predictions."""
        self.call("POST", f"projects/{project}/import", list(tasks))

    def annotated(self, project: int) -> list[dict[str, Any]]:
        """The annotated tasks of a project, with all annotations."""
        return list(self.call("GET", f"projects/{project}/export?exportType=JSON") or [])


class _Refused(HutchError):
    """The server answered with an error."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


def _reason(detail: str) -> str:
    try:
        found = json.loads(detail)
    except (ValueError, RecursionError):
        return " ".join(detail.split())[:200]
    if isinstance(found, dict):
        found = found.get("validation_errors") or found.get("detail") or found
    return str(found)[:400]
