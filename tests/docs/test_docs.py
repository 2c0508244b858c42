"""Every page runs as it stands, and nothing that users can name is left undocumented."""

import importlib.util
import inspect
import os
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from hutch.core.parameters import parameters_of
from hutch.plugins import hookspecs
from hutch.plugins.manager import Plugins
from tests.forked_hutch import hutch

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
REGISTRY = Plugins(only=()).registry


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("regenerate", DOCS / "regenerate.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["regenerate"] = module
    spec.loader.exec_module(module)
    return module


REGENERATE = load_script()
PAGES = REGENERATE.pages()
COMPILING = {f"writing-a{name}.md" for name in ("-base-learner", "-loss", "-reduction", "n-em-layer", "n-explorer")}
"""They make kernels of their own, which several processes compile."""
LONG = {"moving-from-personalizer.md", "machines.md", "crowd/cheapest.md", "crowd/judges.md", "going-back.md"} | {
    "reductions/recall_tree.md", "reductions/bandits/explore_decaying.md",
    "reductions/memory_trees/eigen_memory_tree.md", "reductions/memory_trees/memory_tree.md"}  # fmt: skip
"""They hold a thousand conversations with a server, or take seconds otherwise."""


@pytest.mark.filterwarnings("default")  # a page runs as a user's program does
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in COMPILING | LONG)) for name in (*PAGES, REGENERATE.README)],
)
def test_page_is_as_it_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "river.md":
        pytest.importorskip("river", reason="needs hutch[river]")
    monkeypatch.setattr(REGENERATE, "COMMANDS", os.pathsep.join([os.path.dirname(hutch()), REGENERATE.COMMANDS]))
    after, failures = REGENERATE.regenerate(DOCS / name)
    assert not failures, "\n".join(failures)
    assert after == (DOCS / name).read_text(), f"python docs/regenerate.py {name}"


@pytest.mark.parametrize("name", [name for name in vars(hookspecs) if name.startswith("hutch_")])
def test_hook_is_documented(name: str) -> None:
    arguments = ", ".join(inspect.signature(getattr(hookspecs, name)).parameters)
    assert f"\n## {name}({arguments})\n" in (DOCS / "hooks.md").read_text()


@pytest.mark.parametrize("name", sorted(REGISTRY.reductions))
def test_reduction_and_its_parameters_are_documented(name: str) -> None:
    section = (DOCS / "reductions" / REGENERATE.page_of(name)).read_text()
    index = (DOCS / "reductions" / "index.md").read_text()
    assert f"- [{name}](" in index
    shared = index.partition(f"\n## {REGENERATE.SHARED}\n")[2].partition("\n## ")[0]
    section = section.partition(REGENERATE.MARK.format(name))[2]
    parameters = parameters_of(REGISTRY.reductions[name].Parameters)
    assert len({parameter.meaning for parameter in parameters}) == len(parameters), "two have the same description"
    for parameter in parameters:
        elsewhere = re.search(rf"^(Also|Has) .*`{parameter.name}`", section, re.M)
        text = shared if elsewhere else section
        [row, *_] = [line for line in text.splitlines() if line.startswith(f"| `{parameter.name}` |")]
        assert parameter.meaning.replace("|", "\\|") in row
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
    def linked(name: str) -> set[str]:
        targets = REGENERATE.links((DOCS / name).read_text())
        return {os.path.normpath(os.path.join(os.path.dirname(name), target)) for target in targets}

    first = {"index.md"} | linked("index.md")
    second = set().union(*(linked(name) for name in first & set(PAGES)))
    assert set(PAGES) <= first | second


def test_links_lead_somewhere() -> None:
    for path in [
        *(DOCS / name for name in PAGES),
        *ROOT.glob("benchmarks/**/*.md"),
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
    ]:
        for target in REGENERATE.links(path.read_text()):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"
