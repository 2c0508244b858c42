"""Files that tools beside Python read: citation, release workflow, llms.txt."""

import os
import re
import runpy
import subprocess
import tarfile
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

import hutch

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = sorted(path.name for path in (ROOT / ".github" / "workflows").glob("*.yml"))


def test_the_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (citation["version"], citation["license"]) == (PROJECT["version"], PROJECT["license"])


def test_the_recipe_for_conda_forge_needs_what_the_project_needs() -> None:
    recipe = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text())
    assert recipe["context"]["version"] == PROJECT["version"]
    assert recipe["context"]["python_min"] == PROJECT["requires-python"].removeprefix(">=")
    needed = [line.replace(" ", "") for line in recipe["requirements"]["run"]]
    assert needed == ["python>=${{python_min}}", *PROJECT["dependencies"]]
    [entry_point] = recipe["build"]["python"]["entry_points"]
    assert dict([entry_point.split(" = ")]) == PROJECT["scripts"]


def test_the_skill_says_what_it_is_for() -> None:
    _, front, text = (ROOT / "docs" / "skill.md").read_text().split("---\n", 2)
    about = yaml.safe_load(front)
    assert about["name"] == PROJECT["name"] and 100 < len(about["description"]) <= 1024
    assert len(text.splitlines()) < 200  # an agent reads all of it


def test_every_release_is_tried_and_only_the_last_job_may_publish() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())
    jobs = workflow["jobs"]
    assert [name for name, job in jobs.items() if "id-token" in job.get("permissions", {})] == ["publish"]
    assert jobs["publish"]["needs"] == ["try", "audit"] and (jobs["try"]["needs"], jobs["ship"]["needs"]) == (
        "ship",
        "build",
    )
    assert "refs/tags/" in jobs["publish"]["if"]
    tried = {tuple(map(int, version.split("."))) for version in jobs["try"]["strategy"]["matrix"]["python"]}
    assert min(tried) == tuple(map(int, PROJECT["requires-python"].removeprefix(">=").split(".")))


@pytest.mark.parametrize("name", WORKFLOWS)
def test_what_a_workflow_runs_is_shell_and_its_scripts_are_there(name: str) -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text())["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert any(".ci/" in command for command in commands)
    for command in commands:
        subprocess.run(["bash", "-n"], input=command, text=True, check=True)
        assert all((ROOT / word).is_file() for word in command.split() if word.startswith(".ci/"))


@pytest.mark.parametrize("name", WORKFLOWS)
def test_actions_are_named_by_their_commit(name: str) -> None:
    text = (ROOT / ".github" / "workflows" / name).read_text()
    used = re.findall(r"uses: (\S+)", text)
    assert used and all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", each) for each in used)
    assert text.count("actions/checkout@") == text.count("persist-credentials: false")


@pytest.fixture
def distributions() -> SimpleNamespace:
    """The functions of the script that builds distributions."""
    return SimpleNamespace(**runpy.run_path(str(ROOT / ".ci" / "build_distributions")))


METADATA = b"""Metadata-Version: 2.4
Name: hutch
Version: 1.0
Summary: labels
License-Expression: BSD-3-Clause
Requires-Dist: numpy>=2.0
Requires-Dist: prometheus_client>=0.21; extra == "web"
Requires-Dist: PyYAML>=6.0
"""


def test_the_bill_of_materials_names_what_is_needed(distributions: SimpleNamespace) -> None:
    bill = distributions.bill(METADATA, b"Wheel-Version: 1.0\nGenerator: setuptools (84.2.1)\n")
    assert bill["metadata"]["component"]["purl"] == "pkg:pypi/hutch@1.0"
    needed = {part["purl"]: part["properties"][0]["value"] for part in bill["components"]}
    assert needed == {"pkg:pypi/numpy": ">=2.0", "pkg:pypi/pyyaml": ">=6.0"}
    tools = {tool["name"]: tool["version"] for tool in bill["metadata"]["tools"]["components"]}
    assert tools["setuptools"] == "84.2.1"
    assert distributions.numbered(bill) == bill
    assert distributions.numbered(bill | {"version": 2})["serialNumber"] != bill["serialNumber"]


def test_a_wheel_depends_on_its_files_alone(distributions: SimpleNamespace, tmp_path: Path) -> None:
    files = {"hutch/b.py": b"2", "hutch/a.py": b"1", "hutch-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\n"}
    distributions.write_wheel(tmp_path / "one.whl", files)
    distributions.write_wheel(tmp_path / "two.whl", dict(reversed(files.items())))
    assert (tmp_path / "one.whl").read_bytes() == (tmp_path / "two.whl").read_bytes()
    assert distributions.read_wheel(tmp_path / "one.whl") == files


def test_a_source_distribution_depends_on_its_files_alone(distributions: SimpleNamespace, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1")
    (tmp_path / "b.py").write_text("2")
    for name, order, when, mode in (("one", "ab", 10**9, 0o644), ("two", "ba", 2 * 10**9, 0o600)):
        with tarfile.open(tmp_path / f"{name}.raw", "w:gz") as archive:
            for each in order:
                path = tmp_path / f"{each}.py"
                path.chmod(mode)
                os.utime(path, (when, when))
                archive.add(path, f"hutch-1.0/{each}.py")
        distributions.write_archive(tmp_path / f"{name}.tar.gz", tmp_path / f"{name}.raw")
    assert (tmp_path / "one.tar.gz").read_bytes() == (tmp_path / "two.tar.gz").read_bytes()
    with tarfile.open(tmp_path / "one.tar.gz") as archive:
        assert archive.getnames() == ["hutch-1.0/a.py", "hutch-1.0/b.py"]


def test_licences_are_listed() -> None:
    page = (ROOT / "docs" / "licences.md").read_text()
    rows = re.findall(r"^\| ([\w.-]+) \| (.+) \| `(.+)` \|$", page, re.M)
    listed = {name: (terms, origin) for name, terms, origin in rows}
    extras = ("web", "arrow", "sklearn", "river", "plots", "ray")  # label-studio is a program of its own
    needed = {"hutch": PROJECT["dependencies"]}
    needed |= {f"hutch[{extra}]": PROJECT["optional-dependencies"][extra] for extra in extras}
    declared: dict[str, str] = {}
    for origin, requirements in needed.items():
        for requirement in requirements:
            name = re.match(r"[\w.-]+", requirement)
            assert name
            declared.setdefault(name[0].lower().replace("_", "-"), origin)
    assert {name: listed[name][1] for name in declared} == declared
    assert not [name for name, (terms, _) in listed.items() if "GPL" in terms or terms == "not declared"]


def test_llms_txt_names_every_page_but_those_of_single_reductions() -> None:
    text = (ROOT / "docs" / "llms.txt").read_text()
    linked = set(re.findall(r"\]\(([^)]+)\)", text))
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert pages <= linked
    assert not [page for page in linked if not (ROOT / "docs" / page).exists()]


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_what_is_not_published_is_not_installed_by_name(page: str) -> None:
    assert not re.search(r"pip install (-q )?hutch\b", (ROOT / page).read_text())


def test_the_reference_has_every_public_name_that_is_called() -> None:
    page = (ROOT / "docs" / "reference.md").read_text()
    for name in set(hutch.__all__) - {"__version__", "hookimpl"}:
        assert re.search(rf"^::: hutch\.[\w.]+\.{name}$", page, re.MULTILINE), name
