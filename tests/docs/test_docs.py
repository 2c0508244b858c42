"""Every page runs as it stands, and nothing that users can name is left undocumented."""

import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from hutch.core.parameters import parameters_of
from hutch.plugins import hookspecs
from hutch.plugins.manager import Plugins

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
REGISTRY = Plugins(only=()).registry


def load_script(name: str, folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


REGENERATE = load_script("regenerate", DOCS)
FORKED = load_script("forked_hutch", Path(__file__).parent)
PAGES = REGENERATE.pages()


@pytest.fixture(scope="module", autouse=True)
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Commands of pages are forks, where that is known to work."""
    if sys.platform != "linux":
        yield
        return
    folder = str(tmp_path_factory.mktemp("commands"))
    with FORKED.forking(folder, os.path.join(REGENERATE.COMMANDS, "hutch")), pytest.MonkeyPatch.context() as patch:
        patch.setattr(REGENERATE, "COMMANDS", folder + os.pathsep + REGENERATE.COMMANDS)
        yield


@pytest.mark.filterwarnings("default")  # a page runs as a user's program does
@pytest.mark.parametrize("name", [*PAGES, REGENERATE.README])
def test_page_is_as_it_runs(name: str) -> None:
    if name == "river.md":
        pytest.importorskip("river", reason="needs hutch[river]")
    after, failures = REGENERATE.regenerate(DOCS / name)
    assert not failures, "\n".join(failures)
    assert after == (DOCS / name).read_text(), f"python docs/regenerate.py {name}"


@pytest.mark.parametrize("name", [name for name in vars(hookspecs) if name.startswith("hutch_")])
def test_hook_is_documented(name: str) -> None:
    arguments = ", ".join(inspect.signature(getattr(hookspecs, name)).parameters)
    assert f"\n## {name}({arguments})\n" in (DOCS / "hooks.md").read_text()


@pytest.mark.parametrize("name", sorted(REGISTRY.reductions))
def test_reduction_and_its_parameters_are_documented(name: str) -> None:
    page = (DOCS / "reductions" / "index.md").read_text()
    section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    assert section
    parameters = parameters_of(REGISTRY.reductions[name].Parameters)
    assert len({parameter.meaning for parameter in parameters}) == len(parameters), "two have the same description"
    for parameter in parameters:
        [row] = [line for line in section.splitlines() if line.startswith(f"| `{parameter.name}` |")]
        assert row.split("|")[3].strip(), f"{name}.{parameter.name} has no description"


@pytest.mark.parametrize("name", sorted(REGISTRY.reductions))
def test_reduction_has_a_page_with_a_chain(name: str) -> None:
    page = DOCS / "reductions" / REGENERATE.page_of(name)
    assert page.exists(), f"{name} has no page: problem, formula, parameters, an example with its output"
    chains = [block.text for block in REGENERATE.blocks(page.read_text()) if block.language == "yaml"]
    assert any(re.search(rf"^  - {name}\b", text, re.M) for text in chains), f"{name}.md shows no chain with it"


@pytest.mark.parametrize("kind", ["losses", "readers", "crowd_models", "em_models"])
def test_names_are_documented(kind: str) -> None:
    pages = "".join((DOCS / name).read_text() for name in PAGES)
    assert not [name for name in getattr(REGISTRY, kind) if f"`{name}`" not in pages]


def test_every_page_is_within_two_links() -> None:
    linked = {"index.md"}
    for name in ("index.md", "reductions/index.md"):
        targets = REGENERATE.links((DOCS / name).read_text())
        linked |= {os.path.normpath(os.path.join(os.path.dirname(name), target)) for target in targets}
    assert set(PAGES) <= linked


def test_links_lead_somewhere() -> None:
    for path in [*(DOCS / name for name in PAGES), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]:
        for target in REGENERATE.links(path.read_text()):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"
