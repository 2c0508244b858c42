"""The pictures of the documentation, made anew.

    python docs/pictures.py    # needs Chromium on the path, scikit-learn and Matplotlib

`pictures/page.png` is the page on which people answer label requests; `pictures/active.png` shows
the curves of `hutch active simulate --json` for scikit-learn's digits, odd or even.
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urljoin, urlsplit, urlunsplit
from urllib.request import urlopen

PICTURES = Path(__file__).resolve().parent / "pictures"
HUTCH = str(Path(sys.executable).with_name("hutch"))
POOL = """id,stars,comment
a1,5,"Great, and there in two days."
a2,1,"Broken when it came, and no answer since."
a3,4,"I like it, and so does my cat."
a4,2,"It is late and it is lost."
"""
PAGE_CHAIN = """chain:
  - active: {budget: 0.2}
  - linear: {loss: logistic}
input:
  columns: {text: [comment], tag: id}
"""
DIGITS_CHAIN = """chain:
  - active
  - linear: {loss: logistic, normalized: false, learning_rate: 0.5}
"""


def chromium() -> str:
    """The browser.

    Raises:
        SystemExit: there is none on the path.
    """
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    sys.exit("wanted Chromium on the path")


def signed_in(address: str) -> str:
    """An address that passes on what is served at another, to somebody who has given their name."""

    class Passing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                with urlopen(urljoin(address, self.path)) as answer:
                    body, kind = answer.read(), answer.headers["Content-Type"]
            except HTTPError as error:
                self.send_error(error.code)
                return
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(body.replace(b"<script>", b"<script>localStorage.setItem('worker', 'ann');", 1))

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Passing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return urlunsplit(urlsplit(address)._replace(netloc=f"127.0.0.1:{server.server_port}"))


def page(folder: Path) -> None:
    """The page, as `hutch active run` serves it, in a window of 760 by 480 points."""
    browser = chromium()
    (folder / "pool.csv").write_text(POOL)
    (folder / "chain.yaml").write_text(PAGE_CHAIN)
    command = [
        HUTCH,
        "active",
        "run",
        "pool.csv",
        "-C",
        "chain.yaml",
        "--store",
        "labels.db",
        "-f",
        "model",
        "--port",
        "0",
    ]
    command += ["-n", "4", "--name", "1=good", "--name", "-1=bad", "--show", "comment,stars"]
    command += ["--instructions", "Would they buy again?"]
    served = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        address = next(found[0] for line in served.stdout or () if (found := re.search(r"http://\S+", line)))
        address = signed_in(address)
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=760,480"]
        options += [
            "--force-device-scale-factor=2",
            "--virtual-time-budget=4000",
            f"--user-data-dir={folder / 'profile'}",
        ]
        taken = [browser, *options, f"--screenshot={PICTURES / 'page.png'}", address]
        subprocess.run(taken, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    finally:
        served.send_signal(signal.SIGINT)
        served.wait()


def curves(folder: Path) -> None:
    """Loss against labels bought, for digits that are odd or even."""
    from matplotlib import pyplot
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    lines = [
        f"{1 if label % 2 else -1} |p " + " ".join(f"x{j}:{x / 16:.4f}" for j, x in enumerate(image) if x)
        for image, label in zip(images, labels, strict=True)
    ]
    random.Random(0).shuffle(lines)
    (folder / "train.vw").write_text("\n".join(lines[:1437]) + "\n")
    (folder / "test.vw").write_text("\n".join(lines[1437:]) + "\n")
    (folder / "digits.yaml").write_text(DIGITS_CHAIN)
    command = [HUTCH, "active", "simulate", "train.vw", "-C", "digits.yaml", "--test", "test.vw", "--budget", "0.3"]
    found = json.loads(subprocess.check_output([*command, "--json"], cwd=folder))
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4))
    for place, name in zip(axes, ("progressive_loss", "test_loss"), strict=True):
        for run in ("active", "random", "passive"):
            curve = found[run]["curve"]
            place.plot([each["queries"] for each in curve], [each[name] for each in curve], marker=".", label=run)
        place.set(xlabel="labels bought", ylabel=name.replace("_", " "), xscale="symlog", ylim=(0, None))
        place.legend()
    figure.savefig(PICTURES / "active.png", dpi=100, bbox_inches="tight")


def main() -> None:
    """Make all pictures."""
    PICTURES.mkdir(exist_ok=True)
    os.environ["MPLBACKEND"] = "agg"
    with tempfile.TemporaryDirectory() as folder:
        page(Path(folder))
        curves(Path(folder))


if __name__ == "__main__":
    main()
