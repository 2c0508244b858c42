"""Chromium, headless, driven over its debugging pipe: what tests of pages and `pages.py` look with."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), ""
)

LAUNCH = """
import fcntl, os, sys
down, up, *command = sys.argv[1:]
down, up = (fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in (down, up))  # away from 3 and 4
os.dup2(down, 3)
os.dup2(up, 4)
os.execv(command[0], command)
"""


class Browser:
    """A page of Chromium; its protocol is JSON between NUL bytes on the file descriptors 3 and 4.

    Attributes:
        process: Chromium.
        events: what the page has reported, in order.
    """

    def __init__(self, profile: Path) -> None:
        down, self._down = os.pipe()
        self._up, up = os.pipe()
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            "--remote-debugging-pipe",
            f"--user-data-dir={profile}",
            "about:blank",
        ]
        command = [sys.executable, "-c", LAUNCH, str(down), str(up), CHROMIUM, *options]
        self.process = subprocess.Popen(command, pass_fds=(down, up), stderr=subprocess.DEVNULL)
        os.close(down)
        os.close(up)
        self._buffer, self._number = b"", 0
        self._session: dict[str, str] = {}
        self.events: list[dict[str, Any]] = []

    def open_tab(self) -> None:
        """Open an empty page, which all further calls are about."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._session = {"sessionId": session}
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """The result of a method of the protocol."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters, **self._session}
        os.write(self._down, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self._buffer:
                more = os.read(self._up, 1 << 16)
                assert more, "the browser has gone"
                self._buffer += more
            text, _, self._buffer = self._buffer.partition(b"\0")
            found = json.loads(text)
            if found.get("id") == self._number:
                assert "error" not in found, found
                return found["result"]
            self.events.append(found)

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait_for(self, script: str, seconds: float = 60) -> Any:
        """The value of an expression as soon as it is true."""
        deadline = time.monotonic() + seconds
        while not (found := self.run(script)):
            assert time.monotonic() < deadline, (script, self.run("document.body.innerText"))
            time.sleep(0.05)
        return found

    def press(self, key: str) -> None:
        """Press a key and let it go."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, text=key if kind == "keyDown" else "")

    def close(self) -> None:
        """End Chromium."""
        self.process.kill()
        self.process.wait()
        os.close(self._down)
        os.close(self._up)
