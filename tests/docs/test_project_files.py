"""Files that tools beside Python read: citation, release workflow, llms.txt."""

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (citation["version"], citation["license"]) == (PROJECT["version"], PROJECT["license"])


def test_every_release_is_tried_and_only_the_last_job_may_publish() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())
    jobs = workflow["jobs"]
    assert [name for name, job in jobs.items() if "id-token" in job.get("permissions", {})] == ["publish"]
    assert jobs["publish"]["needs"] == "try" and (jobs["try"]["needs"], jobs["ship"]["needs"]) == ("ship", "build")
    assert "refs/tags/" in jobs["publish"]["if"]
    tried = {tuple(map(int, version.split("."))) for version in jobs["try"]["strategy"]["matrix"]["python"]}
    assert min(tried) == tuple(map(int, PROJECT["requires-python"].removeprefix(">=").split(".")))


def test_what_a_release_runs_is_shell_and_its_scripts_are_there() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert any(".ci/ship_kernels" in command for command in commands)
    for command in commands:
        subprocess.run(["bash", "-n"], input=command, text=True, check=True)
        assert all((ROOT / word).is_file() for word in command.split() if word.startswith(".ci/"))


def test_actions_of_a_release_are_named_by_their_commit() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    used = re.findall(r"uses: (\S+)", text)
    assert used and all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", each) for each in used)
    assert text.count("actions/checkout@") == text.count("persist-credentials: false")


def test_llms_txt_names_every_page_but_those_of_single_reductions() -> None:
    text = (ROOT / "docs" / "llms.txt").read_text()
    linked = set(re.findall(r"\]\(([^)]+)\)", text))
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert pages <= linked
    assert not [page for page in linked if not (ROOT / "docs" / page).exists()]


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_what_is_not_published_is_not_installed_by_name(page: str) -> None:
    assert not re.search(r"pip install (-q )?hutch\b", (ROOT / page).read_text())
