"""Hooks of the documentation's site, which `mkdocs build` calls."""

from pathlib import Path
from typing import Any

REDUCTIONS = Path(__file__).parent / "reductions"


def on_config(config: Any) -> Any:
    """Put the page of every reduction into the navigation, so that a new page is all that a new reduction needs."""
    [section] = [entry["Reductions"] for entry in config.nav if "Reductions" in entry]
    listed = {page for entry in config.nav for page in _pages(entry)}
    pages = (f"reductions/{path.name}" for path in sorted(REDUCTIONS.glob("*.md")))
    section += [{Path(page).stem: page} for page in pages if page not in listed]
    return config


def _pages(entry: Any) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    return [page for part in (entry.values() if isinstance(entry, dict) else entry) for page in _pages(part)]
