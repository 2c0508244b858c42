"""Open every page of the documentation's site in a browser, and measure visible faults.

    python docs/pages.py [--site FOLDER] [--page WORD ...] [--address URL ...] [--shots FOLDER]

Builds the site unless one is given, and opens each page (or those whose address has one of the words) in headless
Chromium in four forms: 1,280 and 375 points wide, light and dark. --address looks at other pages in its place: those
of running servers (http://...), or HTML reports (file://...). Named are: a page or a part that is wider than the window
and has no scroll of its own, text that is cut off, crowded table cells, images that did not load, text whose contrast
is below 4.5 to 1 (3 to 1 where it is large), errors in the console, requests to other hosts, and links that lead to no
page or no heading.
--shots keeps a picture of each whole page. Exit status 1 if anything is named.
"""

import argparse
import base64
import functools
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))
from browser import CHROMIUM, Browser  # noqa: E402

FORMS = [(width, scheme) for width in (1280, 375) for scheme in ("light", "dark")]

READY = """
document.head.append(Object.assign(document.createElement("style"), {
  textContent: "* { transition: none !important }"}));
document.querySelectorAll("img[loading=lazy]").forEach(image => image.loading = "eager");
"""

SEEN = r"""
(() => {
  const faults = [], wide = document.documentElement.clientWidth;
  const shown = e => { const r = e.getBoundingClientRect(), s = getComputedStyle(e);
    return r.width > 1 && r.height > 1 && s.visibility === "visible" && r.right > 0 && r.left < wide + 2000
      && !e.closest("[hidden], [aria-hidden=true], dialog:not([open]), .md-search, .md-clipboard, .md-top")
      && !(wide < 500 && e.closest(".md-sidebar")); };  // a drawer, which is shut
  const name = e => e.tagName.toLowerCase() + [...e.classList].map(c => "." + c).join("") + " '"
    + (e.textContent || "").trim().replace(/\s+/g, " ").slice(0, 50) + "'";
  const scrolls = e => { for (; e && e !== document.body; e = e.parentElement)
    if (/auto|scroll|hidden|clip/.test(getComputedStyle(e).overflowX)) return true; return false; };
  if (document.scrollingElement.scrollWidth > wide + 1)
    faults.push(`wider than the window: ${document.scrollingElement.scrollWidth} of ${wide}`);
  const rgb = text => { const found = text.match(/[\d.]+/g).map(Number);
    const scale = text.startsWith("color(") ? 255 : 1;
    return [found[0] * scale, found[1] * scale, found[2] * scale, found[3] === undefined ? 1 : found[3]]; };
  const over = (top, under) => [0, 1, 2].map(k => top[k] * top[3] + under[k] * (1 - top[3]));
  const light = c => { const l = c.map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * l[0] + .7152 * l[1] + .0722 * l[2]; };
  const ground = e => { const layers = []; let image = false;
    for (let p = e; p; p = p.parentElement) { const s = getComputedStyle(p), c = rgb(s.backgroundColor);
      if (s.backgroundImage !== "none") image = true;
      layers.push(c); if (c[3] === 1) break; }
    let base = matchMedia("(prefers-color-scheme: dark)").matches
      && /dark/.test(getComputedStyle(document.documentElement).colorScheme) ? [18, 18, 18] : [255, 255, 255];
    for (const c of layers.reverse()) base = over(c, base); return image ? null : base; };
  for (const e of document.body.querySelectorAll("*")) {
    if (!shown(e)) continue;
    const style = getComputedStyle(e), box = e.getBoundingClientRect();
    if (box.right > wide + 1 && box.left < wide && !scrolls(e.parentElement) && !e.closest(".md-sidebar, .md-nav"))
      faults.push(`beyond the right edge: ${name(e)}`);
    if (e.textContent.trim() && !e.closest("svg, math")) {
      if (/hidden|clip/.test(style.overflowX) && !e.closest(".md-header__topic")
         && e.scrollWidth > e.clientWidth + 2 && style.display !== "inline" && !e.querySelector("input"))
        faults.push(`cut at the side: ${name(e)} ${e.scrollWidth} of ${e.clientWidth}`);
      if (/hidden|clip/.test(style.overflowY) && e.scrollHeight > e.clientHeight + 3
         && style.display !== "inline" && e.clientHeight > 0)
        faults.push(`cut below: ${name(e)} ${e.scrollHeight} of ${e.clientHeight}`);
    }
    if (/^T[DH]$/.test(e.tagName) && e.textContent.trim().length > 30 && box.height > 12 * box.width)
      faults.push(`crowded cell: ${name(e)} ${Math.round(box.width)} wide, ${Math.round(box.height)} high`);
    const text = [...e.childNodes].filter(n => n.nodeType === 3 && n.textContent.trim()).length;
    if (text && (!e.closest("svg") || e.tagName === "text")) {
      const below = e.closest("svg") ? ground(e.closest("svg")) : ground(e);
      let opacity = 1; for (let p = e; p; p = p.parentElement) opacity *= +getComputedStyle(p).opacity;
      if (below && opacity > .05) {
        const ink = rgb(e.tagName === "text" ? style.fill : style.color);
        const front = over([ink[0], ink[1], ink[2], ink[3] * opacity], below);
        const [a, b] = [light(front), light(below)].sort((x, y) => y - x), ratio = (a + .05) / (b + .05);
        const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && +style.fontWeight >= 700);
        if (ratio < (large ? 3 : 4.5) - .005) faults.push(`contrast ${ratio.toFixed(2)}: ${name(e)}`);
      }
    }
  }
  for (const image of document.images) if (!image.complete || !image.naturalWidth) faults.push(`no image:
          ${image.src}`);
  return {faults, title: document.title,
    ids: [...document.querySelectorAll("[id]")].map(e => e.id),
    links: [...document.querySelectorAll("a[href]")].map(e => e.href)};
})()
"""


class Quiet(SimpleHTTPRequestHandler):
    """Files of a folder, without a line per request."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def served(site: Path) -> str:
    """The address at which this process serves a folder."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


def built(folder: Path) -> Path:
    """The site, built from this clone."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, check=True)
    return folder


def opened(browser: Browser, address: str) -> list[str]:
    """Open a page; what it has reported while it loaded."""
    browser.events.clear()
    browser.call("Page.navigate", url=address)
    browser.wait_for("location.href !== 'about:blank' && document.readyState === 'complete'")
    browser.run(READY)
    browser.wait_for("[...document.images].every(image => image.complete)")
    return list(reported(browser.events, address))


def look(browser: Browser, width: int, scheme: str) -> Any:
    """Measure the open page at one width and in one colour scheme."""
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 500)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    wanted = {"light": "default", "dark": "slate"}[scheme]  # what Material calls them
    browser.wait_for(f"(document.body.dataset.mdColorScheme || {wanted!r}) === {wanted!r}")
    return browser.run(SEEN)


def reported(events: list[dict[str, Any]], address: str) -> Iterator[str]:
    """Errors that a page has reported, and requests to other hosts."""
    for event in events:
        about = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                yield f"console: {about['exceptionDetails'].get('text')}"
            case "Runtime.consoleAPICalled" if about["type"] == "error":
                yield f"console: {about['args'][0].get('value')}"
            case "Log.entryAdded" if about["entry"]["level"] == "error" and "favicon.ico" not in str(about):
                yield f"console: {about['entry']['text']} {about['entry'].get('url', '')}"
            case "Network.requestWillBeSent":
                asked = urlsplit(about["request"]["url"])
                if asked.scheme.startswith("http") and asked.netloc != urlsplit(address).netloc:
                    yield f"asks another host: {asked.netloc}"


def picture(browser: Browser, path: Path) -> None:
    """Keep a picture of the whole page."""
    size = browser.call("Page.getLayoutMetrics")["cssContentSize"]
    clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 12_000), "scale": 1}
    taken = browser.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(base64.b64decode(taken["data"]))


def dead_links(seen: dict[str, dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Links from one of the pages to a page or a heading that is not there."""
    hosts = {urlsplit(address).netloc for address in seen}
    pages = {address.removesuffix("index.html"): set(about["ids"]) for address, about in seen.items()}
    for address, about in seen.items():
        for link in set(about["links"]):
            page, anchor = urldefrag(link)
            page = page.removesuffix("index.html")
            if urlsplit(page).netloc not in hosts or not urlsplit(page).scheme.startswith("http"):
                continue
            if page not in pages and not Path(urlsplit(page).path).suffix:
                yield address, f"dead link: {link}"
            elif anchor and page in pages and unquote(anchor) not in pages[page]:
                yield address, f"dead anchor: {link}"


def main() -> int:
    """Look at all pages, and print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--site", type=Path, help="A site that is built already.")
    parser.add_argument(
        "--page", action="append", default=[], help="Only pages whose address has this; may be repeated."
    )
    parser.add_argument("--address", action="append", default=[], help="In place of the site; may be repeated.")
    parser.add_argument("--shots", type=Path, help="A folder for pictures.")
    options = parser.parse_args()
    if not CHROMIUM:
        sys.exit("wanted Chromium on the path")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as kept:
        addresses, home = options.address, ""
        if not addresses:
            site = options.site or built(Path(kept) / "site")
            home = served(site.resolve())
            files = (path.relative_to(site).as_posix() for path in sorted(site.rglob("*.html")))
            addresses = [home + name.removesuffix("index.html") for name in files]
        wanted = [each for each in addresses if not options.page or any(word in each for word in options.page)]
        browser = Browser(Path(kept) / "profile")
        seen: dict[str, dict[str, Any]] = {}
        faults: dict[str, list[str]] = {}
        try:
            browser.open_tab()
            for address in wanted:
                if said := opened(browser, address):
                    faults[address] = said
                for width, scheme in FORMS:
                    seen[address] = look(browser, width, scheme)
                    for fault in seen[address]["faults"]:
                        faults.setdefault(address, []).append(f"{width} {scheme}: {fault}")
                    if options.shots:
                        place = address.removeprefix(home).rstrip("/").replace("/", "-") or "index"
                        picture(browser, options.shots / f"{place}-{width}-{scheme}.png")
        finally:
            browser.close()
        if not options.page and not options.address:
            for address, fault in dead_links(seen):
                faults.setdefault(address, []).append(fault)
    for address, found in faults.items():
        print(address.removeprefix(home) or "index")
        for fault, count in Counter(found).items():
            print(f"    {fault}{f' ({count} times)' if count > 1 else ''}")
    print(f"{len(wanted)} pages in {len(FORMS)} forms; {sum(map(len, faults.values()))} faults on {len(faults)}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
