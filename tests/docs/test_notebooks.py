"""Notebooks hold what running them gives, and stand on the site."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS))
import cells  # noqa: E402

NOTEBOOKS = sorted(DOCS.rglob("*.ipynb"))
NEEDED = ("pandas", "sklearn", "pyarrow", "matplotlib")


def stored(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_those_of_a_run(path: Path) -> None:
    for name in NEEDED:
        pytest.importorskip(name, reason=f"{name} is not installed")
    before, after = stored(path), json.loads(cells.execute(path))
    assert cells.without_images(after) == cells.without_images(before), (
        f"python docs/regenerate.py notebooks/{path.name}"
    )
    shown = [output for cell in before["cells"] for output in cell.get("outputs", ())]
    assert any(cells.IMAGE in output.get("data", {}) for output in shown)  # each has a plot


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_one_that_jupyter_reads(path: Path) -> None:
    notebook = stored(path)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    names = [cell["id"] for cell in notebook["cells"]]
    assert len(set(names)) == len(names) and all(re.fullmatch(r"[\w-]{1,64}", name) for name in names)
    assert cells.written(notebook) == path.read_text(encoding="utf-8")
    assert notebook["cells"][0]["source"][0].startswith("# ")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_linked(path: Path) -> None:
    place = path.relative_to(DOCS)
    assert f"({place})" in (DOCS / "index.md").read_text() and f"({place})" in (DOCS / "llms.txt").read_text()
    assert f": {place.with_suffix('.md')}\n" in (ROOT / "mkdocs.yml").read_text()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_of_a_notebook_lead_somewhere(path: Path) -> None:
    page, _ = cells.as_page(stored(path), path.stem)
    for target in re.findall(r"(?<!!)\[[^\]]*\]\(([^)#\s]+)[^)]*\)", page):
        assert (path.parent / target).exists(), target


def notebook_of(*sources: str) -> dict[str, Any]:
    code = [{"cell_type": "code", "metadata": {}, "source": text.splitlines(keepends=True)} for text in sources]
    return {"cells": [{"cell_type": "markdown", "metadata": {}, "source": ["# A title\n"]}, *code]}


def test_a_cell_shows_what_it_prints_and_its_last_expression() -> None:
    notebook = notebook_of("x = 2\nprint('two')\nx + 1", "x;", "y = x")
    cells.run(notebook)
    first, second, third = (cell["outputs"] for cell in notebook["cells"][1:])
    assert [output["output_type"] for output in first] == ["stream", "execute_result"]
    assert first[0]["text"] == ["two\n"] and first[1]["data"]["text/plain"] == ["3"]
    assert second == third == []


def test_open_figures_are_shown_and_closed() -> None:
    pytest.importorskip("matplotlib")
    notebook = notebook_of(
        "import matplotlib\nmatplotlib.use('agg')\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]);", "1"
    )
    cells.run(notebook)
    [figure] = notebook["cells"][1]["outputs"]
    assert figure["data"][cells.IMAGE][0].startswith("<svg") and len(notebook["cells"][2]["outputs"]) == 1
    page, images = cells.as_page(notebook, "small")
    assert list(images) == ["small-1.svg"] and "![A plot](small-1.svg)" in page and "```text\n1\n```" in page
    other = json.loads(json.dumps(notebook))
    other["cells"][1]["outputs"][0]["data"][cells.IMAGE] = ["<svg/>"]
    assert cells.without_images(other) == cells.without_images(notebook) and other != notebook


def test_a_cell_that_fails_is_told(tmp_path: Path) -> None:
    path = tmp_path / "wrong.ipynb"
    path.write_text(cells.written(notebook_of("1 / 0")))
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        cells.execute(path)


def test_navigation_and_llms_txt_have_every_page() -> None:
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    listed = set(re.findall(r"[\w/.-]+\.md", str(site["nav"])))
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    of_reductions = {page for page in pages if page.startswith("reductions/")}  # docs/site.py adds these
    assert pages - of_reductions <= listed
    linked = set(re.findall(r"\]\(([^)]+)\)", (DOCS / "llms.txt").read_text()))
    assert pages - of_reductions - {"index.md"} <= linked
    assert all((DOCS / page).exists() for page in linked)


def test_pictures_are_shown() -> None:
    pages = "".join(path.read_text() for path in DOCS.rglob("*.md"))
    for picture in (DOCS / "pictures").iterdir():
        assert f"pictures/{picture.name})" in pages
