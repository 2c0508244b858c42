"""Runs what the documentation shows, and writes anew what it says.

    python docs/regenerate.py            # rewrite the outputs of commands and the generated pages
    python docs/regenerate.py --check    # exit status 1 if anything would change

A page is a session in an empty folder. Its fenced blocks are taken in order, by what follows the fence:

- `title="name"` after the language: the block is the file of that name;
- `console`: lines after `$ ` are commands, the lines below are what they print; `...` stands for any text;
- `python`: runs; with `>>>` it is a doctest;
- `sh`: runs, and must succeed;
- anything else is not run, nor is a block below the line `<!-- not run: reason -->`.

A block between `<!--` and `-->` runs but is not seen: it makes the data that a page speaks of.

A notebook, `notebooks/NAME.ipynb`, is run cell by cell (`docs/cells.py`).
"""

import argparse
import contextlib
import doctest
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS))
import cells  # noqa: E402

README = "../README.md"
COMMANDS = str(Path(sys.executable).parent)
"""Folders of what pages run, before those of PATH."""
FENCE = re.compile(
    r"^(?P<skip><!-- not run: [^\n]*-->\n)?(?:<!--\s)?"
    r"(?P<indent> *)```(?P<language>\w+)(?P<options>[^\n]*)\n(?P<text>.*?)^(?P=indent)```$",
    re.M | re.S,
)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        language: what follows the fence.
        title: the file it stands for; empty if none.
        text: what is inside.
        start, stop: where the text lies in its page.
        line: number of its first line.
    """

    language: str
    title: str
    text: str
    start: int
    stop: int
    line: int


def notebooks() -> list[str]:
    """All notebooks, as paths below the folder of the documentation."""
    return sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.ipynb"))


def pages() -> list[str]:
    """All pages, as paths below the folder of the documentation; also those that are still to be generated."""
    return sorted({path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} | set(GENERATED))


def blocks(page: str) -> Iterator[Block]:
    """The blocks of a page that are run or written."""
    for match in FENCE.finditer(page):
        if match["skip"]:
            continue
        title = re.search(r'title="([^"]+)"', match["options"])
        start, stop = match.span("text")
        line = page.count("\n", 0, start) + 1
        yield Block(match["language"], title[1] if title else "", match["text"], start, stop, line)


def links(page: str) -> list[str]:
    """The relative links of a page, without what follows `#`."""
    found = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page)
    return [target for target in found if "://" not in target and not target.startswith("mailto:")]


def environment(folder: Path) -> dict[str, str]:
    """The environment of commands: this interpreter's commands first, a fixed width, the session's modules."""
    path = os.pathsep.join([COMMANDS, os.environ.get("PATH", "")])
    modules = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))
    return os.environ | {"PATH": path, "COLUMNS": "100", "PYTHONPATH": modules, "NO_COLOR": "1"}


def execute(command: str, folder: Path) -> tuple[int, str]:
    """Exit status of a command and what it prints on both streams."""
    if re.fullmatch(r"hutch( [a-z-]+)* --help", command):
        return help_of(command)
    with tempfile.TemporaryFile() as output:  # no pipe: a server that a failed command leaves would hold it open
        process = subprocess.Popen(
            ["bash", "-c", command],
            cwd=folder,
            env=environment(folder),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        status = process.wait()
        if status:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        output.seek(0)
        text = output.read().decode(errors="replace")
    return status, "".join(line.rstrip() + "\n" for line in text.splitlines())


def help_of(command: str) -> tuple[int, str]:
    """What `execute` returns for the help of a command: of so many, a process for each would take most of the time."""
    from hutch.cli.dispatch import run

    output = io.StringIO()
    with mock.patch.dict(os.environ, environment(Path())), contextlib.redirect_stdout(output):
        status = run(command.split()[1:])
    return status, "".join(line.rstrip() + "\n" for line in output.getvalue().splitlines())


def same(wanted: str, got: str) -> bool:
    """Whether an output is as shown; `...` in what is shown stands for any text.

    Long numbers are compared to nine digits: libraries of linear algebra differ in the last ones between processors.
    """
    wanted, got = (re.sub(r"\d+\.\d{10,}", lambda found: f"{float(found[0]):.9g}", text) for text in (wanted, got))
    return doctest.OutputChecker().check_output(wanted, got, doctest.ELLIPSIS)


def console(text: str, folder: Path) -> str:
    """A console block with the outputs its commands have now, kept where they agree with what is shown."""
    found = []
    for piece in re.split(r"^(?=\$ )", text, flags=re.M):
        command = re.match(r"\$ ((?:.*\\\n)*.*)\n", piece)
        if not command:
            continue
        shown = piece[command.end() :]
        _, got = execute(command[1], folder)
        got = re.sub(r'("seconds": )[0-9.e-]+', r"\1...", got)
        found.append(piece[: command.end()] + (shown if same(shown, got) else got))
    return "".join(found)


def run_page(page: str, folder: Path) -> tuple[str, list[str]]:
    """Run a page.

    Args:
        page: its text.
        folder: an empty folder.

    Returns:
        The page with the outputs of its commands as they are now, and what failed, each with its line.
    """
    scope: dict[str, Any] = {"__name__": "page"}
    failures: list[str] = []
    changes: list[tuple[Block, str]] = []
    for block in blocks(page):
        if block.title:
            (folder / block.title).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.title).write_text(block.text)
        elif block.language == "console":
            changes.append((block, console(block.text, folder)))
        elif block.language == "sh":
            status, got = execute("set -euo pipefail\n" + block.text, folder)
            failures += [f"line {block.line}: exit status {status}: {got}"] if status else []
        elif block.language == "python":
            failures += [f"line {block.line}: {reason}" for reason in _python(block.text, scope, folder)]
    for block, text in reversed(changes):
        page = page[: block.start] + text + page[block.stop :]
    return page, failures


def _python(text: str, scope: dict[str, Any], folder: Path) -> list[str]:
    before = os.getcwd()
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    try:
        if ">>>" not in text:
            exec(compile(text, "page", "exec"), scope)
            return []
        report: list[str] = []
        test = doctest.DocTestParser().get_doctest(text, scope, "page", None, 0)
        doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.append, clear_globs=False)
        scope.update(test.globs)
        return ["".join(report)] if report else []
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]
    finally:
        sys.path.remove(str(folder))
        os.chdir(before)


def commands_page() -> str:
    """The page of all commands with their help; groups are only in the first, and what all share is not repeated."""
    import typer.main

    from hutch.cli.commands import app

    def walk(command: Any, name: str) -> Iterator[str]:
        if not getattr(command, "no_args_is_help", False) or name == "hutch":
            yield name
        if hasattr(command, "list_commands"):
            context = typer.Context(command)
            for sub in command.list_commands(context):
                yield from walk(command.get_command(context, sub), f"{name} {sub}")

    names = list(walk(typer.main.get_command(app), "hutch"))
    helps = {name: _help_lines(name) for name in names if name != "hutch vw"}
    times = Counter(option for lines in helps.values() for option in {*_options(lines)})
    shared = sorted(option for option, count in times.items() if count > 3)
    lines = ["# Commands", "", "Exit status: 0 done, 1 the run failed, 2 the command line or a chain is wrong.", ""]
    lines += [
        "`hutch COMMAND --help` prints all of it. Options of many commands are only named here, after *Also*:",
        "",
    ]
    lines += [f"* `{option[0].replace('  ', '`: ', 1)}" for option in shared] + [""]
    for name in names:
        body = VW_HELP if name == "hutch vw" else ["```text", *_without(helps[name], {*shared}), "```"]
        lines += [f"## {name}", "", *body, ""]
    return "\n".join(lines)


VW_HELP = [
    "Its options are [Vowpal Wabbit's](coming-from-vw.md#options); `--to-yaml` prints the chain that they stand for."
]


def _help_lines(name: str) -> list[str]:
    """The help of a command without the option that shows it."""
    _, text = help_of(f"{name} --help")
    text = re.sub(r"^  -h, --help +Show this message and exit\.\n", "", text, flags=re.M)
    return re.sub(r"\n\nOptions:\n(?=\n|\Z)", "\n", text).strip("\n").splitlines()


def _options(lines: list[str]) -> Iterator[tuple[str, ...]]:
    """The options in a help, each as one line: its names, two blanks, its meaning."""
    for entry in _entries(lines):
        if entry[0].startswith("  -"):
            names, _, meaning = entry[0].strip().partition("  ")
            yield (f"{names}  {' '.join([meaning.strip(), *(line.strip() for line in entry[1:])]).strip()}",)


def _entries(lines: list[str]) -> Iterator[list[str]]:
    """The lines of a help, those of an option together."""
    entry: list[str] = []
    for line in lines:
        if entry and entry[0].startswith("  -") and line.startswith("    "):
            entry.append(line)
            continue
        if entry:
            yield entry
        entry = [line]
    if entry:
        yield entry


def _without(lines: list[str], shared: set[tuple[str, ...]]) -> list[str]:
    """A help without the options that others have, too, which it names at its end."""
    mine = [option for option in _options(lines) if option in shared]
    kept = [entry for entry in _entries(lines) if not (entry[0].startswith("  -") and next(_options(entry)) in shared)]
    text = "\n".join(line for entry in kept for line in entry)
    text = re.sub(r"\n\n[A-Z][^\n]*:(?=\n\n|\Z)", "", text)  # a heading that has lost all its options
    also = ", ".join(re.split(r"[ ,]", option[0])[0] for option in mine)
    return [*text.splitlines(), *(["", f"Also: {also}"] if also else [])]


SHARED = "Parameters of several layers"
MARK = "<!-- parameters of {} -->"
"""The line above the table of a reduction's parameters on its page."""
Row = tuple[str, str, str]


@cache
def parameters() -> tuple[dict[str, list[Row]], list[Row]]:
    """The parameters of every reduction, as rows of a table, and those that several have."""
    from hutch.core.parameters import parameters_of
    from hutch.plugins.manager import Plugins

    reductions = Plugins(only=()).registry.reductions
    found = {name: [_cells(each) for each in parameters_of(cls.Parameters)] for name, cls in reductions.items()}
    times = Counter(row for rows in found.values() for row in rows)
    return found, sorted(row for row, count in times.items() if count > 2 and row[1] != "required")


def with_parameters(page: str, text: str) -> str:
    """The page of a reduction with the table of its parameters as they are now; at its end, if it has no mark.

    Args:
        page: its path below the folder of the documentation.
        text: of the page.
    """
    name, (all_of_them, shared) = Path(page).stem, parameters()
    if not page.startswith("reductions/") or not all_of_them.get(name):
        return text
    own = [row for row in all_of_them[name] if row not in shared]
    others = ", ".join(f"`{row[0]}`" for row in all_of_them[name] if row in shared)
    index = os.path.relpath("reductions/index.md", os.path.dirname(page))
    lines = [MARK.format(name), *_table(own)]
    lines += (
        ["", f"{'Also' if own else 'Has'} {others}: [{SHARED.lower()}]({index}#{anchor(SHARED)})."] if others else []
    )
    before, mark, after = text.partition(MARK.format(name) + "\n")
    after = re.sub(r"\A\n?(?:\|.*\n)*(?:\n?(?:Also|Has) `.*\n)?", "", after)
    after = "\n" + after.lstrip("\n") if after.strip() else ""
    heading = "All parameters" if re.search(r"^## Parameters$", before, re.M) else "Parameters"
    before = before if mark else f"{before.rstrip()}\n\n## {heading}\n\n"
    return before + "\n".join(lines) + "\n" + after


def reductions_page() -> str:
    """The page of all reductions and losses; each reduction's own page has its parameters."""
    from hutch.plugins.manager import Plugins

    registry = Plugins(only=()).registry
    reductions = dict(sorted(registry.reductions.items()))
    lines = ["# All reductions and losses", ""]
    lines += [
        "Every layer of a chain is one of these; base learners stand at its end. Its page has its parameters.",
        "",
    ]
    for title, members in families(reductions).items():
        lines += [f"**{title}**", ""]
        lines += [f"- [{name}]({page_of(name)}): {summary(reductions[name])}" for name in members]
        lines.append("")
    lines += [f"## {SHARED}", *_table(parameters()[1]), ""]
    lines += ["## Losses", "", "| loss | parameters | labels | convex |", "|---|---|---|---|"]
    for name, loss in sorted(registry.losses.items()):
        described = ", ".join(f"`{p.name}` = {p.default:g}" for p in loss.parameters) or "none"
        lines.append(f"| `{name}` | {described} | {loss.labels.value} | {'yes' if loss.convex else 'no'} |")
    return "\n".join(lines) + "\n"


def _cells(parameter: Any) -> Row:
    """Name, default and meaning of a parameter."""
    default = "required" if parameter.required else f"`{shown(parameter.default)}`"
    return parameter.name, default, parameter.meaning.replace("|", "\\|")


def _table(rows: Iterable[Row]) -> list[str]:
    """A table of parameters, after an empty line; nothing without rows."""
    lines = [f"| `{name}` | {default} | {meaning} |" for name, default, meaning in rows]
    return ["", "| parameter | default | meaning |", "|---|---|---|", *lines] if lines else []


def anchor(heading: str) -> str:
    """The anchor of a heading of plain words."""
    return heading.lower().replace(" ", "-")


def page_of(name: str) -> str:
    """The page of a reduction, as a path from the page of all of them; it may lie in the folder of a family."""
    folder = DOCS / "reductions"
    found = next(folder.rglob(f"{name}.md"), folder / f"{name}.md")
    return found.relative_to(folder).as_posix()


def families(reductions: dict[str, Any]) -> dict[str, list[str]]:
    """Names of reductions by the labels they take; base learners first."""
    found: dict[str, list[str]] = {"Base learners": []}
    for name, cls in reductions.items():
        labels = f"For {cls.takes.value.replace('_', '-')} labels" if cls.takes else "For labels of any kind"
        found.setdefault("Base learners" if cls.is_base else labels, []).append(name)
    return found


def summary(cls: type) -> str:
    """The first sentence about a class."""
    return (cls.__doc__ or "").split("\n")[0]


def shown(value: Any) -> str:
    """A default as one writes it in YAML."""
    if hasattr(value, "plain"):
        value = value.plain()
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return "[]" if value == () else str(value)


def vw_page() -> str:
    """The page for users of Vowpal Wabbit, its last tables from the table of options."""
    import vw_options

    return (DOCS / "coming-from-vw.md").read_text().partition(vw_options.BEGIN)[0] + vw_options.tables()


def comparison_page() -> str:
    """The page beside other tools: its tables are those of other pages, and its own measurement stays."""
    sys.path.insert(0, str(DOCS.parent / "benchmarks" / "research"))
    import comparison

    text = comparison.PAGE.read_text(encoding="utf-8")
    return comparison.page(text, comparison.kept(text))


GENERATED = {
    "commands.md": commands_page,
    "comparison.md": comparison_page,
    "coming-from-vw.md": vw_page,
    "reductions/index.md": reductions_page,
}


def regenerate(path: Path) -> tuple[str, list[str]]:
    """What a page or a notebook should be now, and what failed."""
    if path.suffix == ".ipynb":
        return _notebook(path)
    name = os.path.relpath(path, DOCS)
    make = GENERATED.get(name)
    with tempfile.TemporaryDirectory() as folder:
        return run_page(make() if make else with_parameters(name, path.read_text()), Path(folder))


def _notebook(path: Path) -> tuple[str, list[str]]:
    """A notebook, its file as it is if only its images differ."""
    before = path.read_text(encoding="utf-8")
    try:
        after = cells.execute(path)
    except RuntimeError as error:
        return before, [str(error)]
    alike = cells.without_images(json.loads(after)) == cells.without_images(json.loads(before))
    return before if alike else after, []


def main() -> int:
    """Regenerate all pages, or check them."""
    parser = argparse.ArgumentParser(description="Run the documentation and write its outputs anew.")
    parser.add_argument("--check", action="store_true", help="change nothing; exit status 1 if anything would change")
    parser.add_argument("pages", nargs="*", help="such as tutorial.md or reductions/linear.md; all by default")
    options = parser.parse_args()
    names = options.pages or [*pages(), *notebooks(), README]
    status = 0
    for name in names:
        path = DOCS / name
        before = path.read_text() if path.exists() else ""
        after, failures = regenerate(path)
        for failure in failures:
            print(f"{name}: {failure}")
        if after != before:
            print(f"{name}: {'is out of date' if options.check else 'rewritten'}")
            if not options.check:
                path.write_text(after)
        status |= bool(failures) or (options.check and after != before)
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
