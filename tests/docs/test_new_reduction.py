"""A reduction is added with three files, its own, its test and its page, and one line. The rest is generated."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = """# bag: several models that see each example differently often

Online bagging: the prediction is the mean of k models, and model i learns an example with an importance drawn from a
Poisson distribution of mean 1.

```yaml title="chain.yaml"
chain:
  - bag: {models: 3}
  - linear
```

```console
$ hutch config check chain.yaml
chain.yaml: valid: bag over linear, takes simple labels, predicts a scalar
```
"""


def file_of(page: str, name: str) -> str:
    """A file that a page of the documentation shows."""
    return page.partition(f'```python title="{name}"\n')[2].partition("```")[0]


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def run(folder: Path, *arguments: str) -> str:
    """Run Python with the project in `folder` in place of the one that is installed."""
    path = os.pathsep.join(filter(None, [str(folder / "src"), os.environ.get("PYTHONPATH", "")]))
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project without what tools leave in it."""
    ignored = shutil.ignore_patterns(".[!c]*", "__pycache__", "build", "dist", "site", "*.egg-info")
    return Path(shutil.copytree(ROOT, tmp_path / "copy", symlinks=True, ignore=ignored))


@pytest.mark.slow
def test_three_files_and_a_line_are_enough(project: Path) -> None:
    before = contents(project)
    page = (project / "docs" / "writing-a-reduction.md").read_text()
    (project / "reductions" / "bag.py").write_text(
        file_of(page, "hutch_bag.py").partition("\n\n\nhutch_register")[0] + "\n"
    )
    table = project / "reductions" / "plugin.py"
    line = '    "bayesian_linear": '
    table.write_text(table.read_text().replace(line, f'    "bag": "bag:Bag",\n{line}'))
    test = file_of(page, "test_bag.py").replace("from hutch_bag import", "from hutch.reductions.bag import")
    (project / "tests" / "reductions" / "test_bag.py").write_text(test)
    (project / "docs" / "reductions" / "bag.md").write_text(PAGE)
    run(project, "docs/regenerate.py", "reductions/bag.md", "reductions/index.md")
    assert str(project) in run(project, "-c", "import hutch.reductions.bag as m; print(m.__file__)")

    quick = "not as_it_runs or reductions/bag.md or reductions/index.md"
    tests = [
        "tests/reductions/test_bag.py",
        "tests/test_house.py",
        "tests/plugins/test_manager.py::test_no_reduction_of_the_folder_is_forgotten",
    ]
    tests += ["tests/docs/test_docs.py", "tests/docs/test_site.py"]
    run(project, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-k", quick, *tests)

    after = contents(project)
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    written = {"reductions/bag.py", "reductions/plugin.py", "tests/reductions/test_bag.py", "docs/reductions/bag.md"}
    assert changed == written | {"docs/reductions/index.md"}  # the last by docs/regenerate.py
