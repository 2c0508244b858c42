"""The site that `mkdocs build` makes: Markdown that was not understood shows as text."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "path", "source", "track", "wbr"}


class Article(HTMLParser):
    """Collects the text of an article, each piece with the innermost of pre, code or nothing around it."""

    def __init__(self) -> None:
        super().__init__()
        self._open: list[str] = []
        self.pieces: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while tag in self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "article" in self._open:
            around = "pre" if "pre" in self._open else "code" if "code" in self._open else ""
            self.pieces.append((around, data))


def leftovers(html: str) -> Iterator[str]:
    """Parts of a page that look like unrendered Markdown: fences, backslashes, marks outside code."""
    article = Article()
    article.feed(html)
    for around, text in article.pieces:
        marks = {"pre": ("```",), "code": ("```", "\\|", "\\_", "\\*")}.get(around, ("`", "\\", "**", "]("))
        block = () if around else ("#", "|", "- ", "* ", ">")
        for line in text.splitlines():
            if any(mark in line for mark in marks) or line.startswith(block):
                yield line.strip()


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ("<p>```yaml title='a'</p>", 1),
        ("<pre><code>```\nx\n```</code></pre>", 2),
        ("<pre><code>a \\\n  --b</code></pre><p>fine</p>", 0),
        ("<td><code>a\\|b</code></td>", 1),
        ("<p>one\\_two **bold**</p>", 1),
        ("<td>## A heading</td><p>a\n- b</p><li># c</li>", 3),
        ("<p>see [this](that.md)<br>and that</p>", 1),
    ],
)
def test_leftovers_are_seen(html: str, found: int) -> None:
    assert len(list(leftovers(f"<nav>`</nav><article>{html}</article>`"))) == found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_a_search_for_the_words_of_the_field_finds_the_page_among_the_first_three(site: Path) -> None:
    """As the site's search does: titles and the glossary's words weigh more than text."""
    lunr = pytest.importorskip("lunr").lunr
    sections = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    for section in sections:
        section["tags"] = " ".join(section.get("tags", ()))
    fields = [{"field_name": "title", "boost": 1e3}, "text", {"field_name": "tags", "boost": 1e6}]
    weighed = [(section, {"boost": section.get("boost", 1)}) for section in sections]
    index = lunr(ref="location", fields=fields, documents=weighed)
    lost = {}
    queries = [line.split("\t") for line in (Path(__file__).parent / "queries.tsv").read_text().splitlines()]
    assert len(queries) > 60
    for query, page in queries:
        found = index.search(re.sub(r"[-/']", " ", query))
        pages = list(dict.fromkeys(each["ref"].partition("#")[0] for each in found))
        if page not in pages[:3]:
            lost[query] = (page, pages[:3])
    assert not lost


@pytest.mark.slow
def test_no_page_shows_markdown(site: Path) -> None:
    pages = sorted(site.rglob("index.html"))
    assert len(pages) >= len(list((ROOT / "docs").rglob("*.md")))
    found = {str(page.relative_to(site)): list(leftovers(page.read_text())) for page in pages}
    assert not {name: lines for name, lines in found.items() if lines}
    assert "worker\tlabels\taccuracy" in (site / "crowd" / "quality" / "index.html").read_text()
    navigation = (site / "index.html").read_text()
    for page in (ROOT / "docs" / "reductions").rglob("*.md"):
        place = page.relative_to(ROOT / "docs").with_suffix("")
        assert page.stem == "index" or f'href="{place.as_posix()}/"' in navigation
