"""Notebooks of the documentation: run in one namespace, and shown as pages of the site.

    python docs/regenerate.py notebooks/first-steps.ipynb

A cell's outputs are what it prints, its last expression, and the figures that it leaves open, as in Jupyter.
"""

import ast
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

IMAGE = "image/svg+xml"


def execute(path: Path) -> str:
    """A notebook with the outputs that it has now, run by an interpreter of its own in an empty folder.

    Raises:
        RuntimeError: a cell fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, str(Path(__file__).resolve()), str(path.resolve())],
            cwd=folder,
            env=os.environ | {"MPLBACKEND": "agg"},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def run(notebook: dict[str, Any]) -> None:
    """Run the cells of a notebook in order, in one namespace, and put in what each shows."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    number = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            number += 1
            cell["execution_count"] = number
            cell["outputs"] = _outputs("".join(cell["source"]), scope, number)


def _outputs(source: str, scope: dict[str, Any], number: int) -> list[dict[str, Any]]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), scope)
        value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), scope) if last else None
    found: list[dict[str, Any]] = []
    if text := printed.getvalue():
        found.append({"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)})
    if value is not None and not source.rstrip().endswith(";"):
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        found.append({"output_type": "execute_result", "execution_count": number, "data": data, "metadata": {}})
    found += [{"output_type": "display_data", "data": {IMAGE: svg}, "metadata": {}} for svg in _figures()]
    return found


def _figures() -> list[list[str]]:
    """The figures that are open, closed now."""
    plotting = sys.modules.get("matplotlib.pyplot")
    if plotting is None:
        return []
    from hutch.pages.plots import svg_of

    drawn = [svg_of(plotting.figure(number)).splitlines(keepends=True) for number in plotting.get_fignums()]
    plotting.close("all")
    return drawn


def written(notebook: dict[str, Any]) -> str:
    """A notebook as its file holds it."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def without_images(notebook: dict[str, Any]) -> dict[str, Any]:
    """A copy without what an image looks like, which depends on Matplotlib's version."""
    copied: dict[str, Any] = json.loads(json.dumps(notebook))
    for cell in copied["cells"]:
        for output in cell.get("outputs", ()):
            if IMAGE in output.get("data", {}):
                output["data"][IMAGE] = []
    return copied


def as_page(notebook: dict[str, Any], name: str) -> tuple[str, dict[str, str]]:
    """A notebook as a page of the site.

    Args:
        notebook: with its outputs.
        name: of its file, without the ending.

    Returns:
        The page in Markdown, and its images by the names of their files.
    """
    lines: list[str] = []
    images: dict[str, str] = {}
    for cell in notebook["cells"]:
        source = "".join(cell["source"]).rstrip("\n")
        if cell["cell_type"] == "markdown":
            lines += [source, ""]
            continue
        lines += ["```python", source, "```", ""]
        for output in cell["outputs"]:
            if image := output.get("data", {}).get(IMAGE):
                file = f"{name}-{len(images) + 1}.svg"
                images[file] = "".join(image)
                lines += [f"![{cell['metadata'].get('alt', 'A plot')}]({file})", ""]
                continue
            text = "".join(output.get("text") or output["data"]["text/plain"]).rstrip("\n")
            lines += ["```text", text, "```", ""]
    lines += [f"[Download this notebook]({name}.ipynb).", ""]
    return "\n".join(lines), images


def main() -> None:
    """Print the notebook that is named, run."""
    notebook = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    run(notebook)
    print(written(notebook), end="")


if __name__ == "__main__":
    main()
