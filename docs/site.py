"""Hooks of the documentation's site, which `mkdocs build` calls."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import cells
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File

DOCS = Path(__file__).parent
REDUCTIONS = DOCS / "reductions"
TO_NOTEBOOK = re.compile(r"\]\(((?:\.\./|\w+/)[\w/.-]*)\.ipynb\)")
"""A link to a notebook in another folder: the page of a notebook itself links to the file that can be downloaded."""

TO_SOURCE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(benchmarks/[\w/.-]+)[^)]*\)")
"""A link to a file of the source that is no page of the site."""

GLOSSARY_ROW = re.compile(r"^\| (.+?) \|.*\]\(([\w/.-]+\.md)[^)]*\) \|$", re.MULTILINE)
"""The words of a row, and the page to which it leads."""
BOOSTS = {"explanation/": 0.3, "commands": 0.3, "reductions/bandits/": 0.5}
"""How much parts of the documentation count in a search; all others 1."""

OPTION = re.compile(r"(?<![\w-])--[\w-]+")
CODE = re.compile(r"<code>[^<]*</code>")
"""Code without colours, such as that in a sentence."""


def on_config(config: Any) -> Any:
    """Put the page of every reduction into the navigation, so that a new page is all that a new reduction needs."""
    [reference] = [entry["Reference"] for entry in config.nav if "Reference" in entry]
    [section] = [entry["Reductions"] for entry in reference if "Reductions" in entry]
    listed = {page for entry in config.nav for page in _pages(entry)}
    found = sorted(REDUCTIONS.rglob("*.md"), key=lambda path: path.stem)
    pages = (path.relative_to(REDUCTIONS.parent).as_posix() for path in found)
    section += [{Path(page).stem: page} for page in pages if page not in listed]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add a page for every notebook, with its images beside it."""
    for path in sorted(DOCS.rglob("*.ipynb")):
        place = path.relative_to(DOCS).with_suffix(".md")
        page, images = cells.as_page(json.loads(path.read_text(encoding="utf-8")), path.stem)
        files.append(File.generated(config, place.as_posix(), content=page))
        for name, image in images.items():
            files.append(File.generated(config, (place.parent / name).as_posix(), content=image))
    return files


@event_priority(100)  # before the search reads them
def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Let links lead to pages of notebooks and to the source, and searches for the glossary's words to their pages."""
    place = page.file.src_uri
    page.meta["tags"] = words_of_pages().get(place, [])
    page.meta["search"] = {"boost": next((boost for part, boost in BOOSTS.items() if place.startswith(part)), 1)}
    host = (config.repo_url or "").rstrip("/")
    shown = rf"[\1]({host}/blob/main/\2)" if host else r"\1 (`\2`)"
    return TO_NOTEBOOK.sub(r"](\1.md)", TO_SOURCE.sub(shown, markdown))


@cache
def words_of_pages() -> dict[str, list[str]]:
    """The words that the glossary explains, by the page to which it leads."""
    found: dict[str, list[str]] = {}
    for words, page in GLOSSARY_ROW.findall((DOCS / "glossary.md").read_text(encoding="utf-8")):
        found.setdefault(page, []).extend(words.split(", "))
    return found


def on_page_content(html: str, **_: Any) -> str:
    """Keep every option in one piece: browsers break lines behind hyphens."""
    kept = r'<span class="option">\g<0></span>'
    return CODE.sub(lambda code: OPTION.sub(kept, code[0]), html)


def _pages(entry: Any) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    return [page for part in (entry.values() if isinstance(entry, dict) else entry) for page in _pages(part)]
