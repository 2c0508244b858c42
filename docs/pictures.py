"""Rebuild the pictures of the documentation.

    python docs/pictures.py    # needs Chromium on the path, scikit-learn and Matplotlib

`docs/pictures/page.png` is the page on which people answer label requests; `docs/pictures/active.png` shows the curves
of `hutch active simulate --json` for scikit-learn's digits, odd or even.
"""

import base64
import json
import random
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))
from browser import CHROMIUM, Browser  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
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
RUN = "active run pool.csv -C chain.yaml --store labels.db -f model --port 0 -n 4 --name 1=good --name -1=bad"


def page(folder: Path) -> None:
    """The page, as `hutch active run` serves it to somebody who has given their name, 760 by 480 points."""
    (folder / "pool.csv").write_text(POOL)
    (folder / "chain.yaml").write_text(PAGE_CHAIN)
    command = [HUTCH, *RUN.split(), "--show", "comment,stars", "--instructions", "Would they buy again?"]
    served = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    browser = Browser(folder / "profile")
    try:
        address = next(found[0] for line in served.stdout or () if (found := re.search(r"http://\S+", line)))
        browser.open_tab()
        size = {"width": 760, "height": 480, "deviceScaleFactor": 2}
        browser.call("Emulation.setDeviceMetricsOverride", mobile=False, **size)
        browser.call("Emulation.setScrollbarsHidden", hidden=True)
        browser.call("Page.addScriptToEvaluateOnNewDocument", source="localStorage.setItem('worker', 'ann')")
        browser.call("Page.navigate", url=address)
        browser.wait_for("document.readyState === 'complete' && !!document.querySelector('#item dl')")
        taken = browser.call("Page.captureScreenshot")
        (PICTURES / "page.png").write_bytes(base64.b64decode(taken["data"]))
    finally:
        browser.close()
        served.send_signal(signal.SIGINT)
        served.wait()


def curves(folder: Path) -> None:
    """Loss against labels bought, for digits that are odd or even."""
    import matplotlib
    from matplotlib import pyplot
    from sklearn.datasets import load_digits

    matplotlib.use("agg")
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
    if not CHROMIUM:
        sys.exit("wanted Chromium on the path")
    for make in (page, curves):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            make(Path(folder))


if __name__ == "__main__":
    main()
