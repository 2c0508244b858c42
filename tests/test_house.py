"""The house as CONTRIBUTING.md and docs/design.md describe it: rooms, arrows between them, files and folders."""

import ast
import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

from hutch import plugin

ROOT = Path(__file__).parents[1]
SETUP = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
HOMES = {package: ROOT / folder for package, folder in SETUP["package-dir"].items()}
PICTURE = re.search(r"^## The rooms\n.*?```text\n(.*?)```", (ROOT / "docs" / "design.md").read_text(), re.DOTALL | re.M)
KERNEL_DECORATORS = {
    "compiled",
    "entry",
    "helper",
    "inlined",
    "intrinsic",
    "kernel",
    "njit",
    "overload",
    "register_jitable",
}


@cache
def modules() -> dict[str, Path]:
    """The file of every module of Hutch, by dotted name."""
    found = {}
    for package, folder in HOMES.items():
        for path in folder.rglob("*.py"):
            words = [package, *path.relative_to(folder).with_suffix("").parts]
            found[".".join(words).removesuffix(".__init__")] = path
    return found


def room_of(module: str) -> str:
    """The room of a module, as its folder below the package; a reduction in one file is a room of its own."""
    words = module.split(".")[1:]
    in_one_file = words[:1] == ["reductions"] and len(words) == 2
    is_folder = modules()[module].name == "__init__.py"
    return "/".join(words if in_one_file or is_folder else words[:-1]) or "hutch"


@cache
def imported(path: Path) -> frozenset[str]:
    """The modules of Hutch that a file imports, anywhere in it."""
    return frozenset(_imported(ast.parse(path.read_text())))


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "hutch.plugin":  # it only names what others define
            yield from (plugin._FOUND[alias.name][0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in modules() else node.module for name in names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@cache
def arrows() -> dict[tuple[str, str], list[str]]:
    """The imports behind each arrow, from the room that imports to the room that is imported."""
    found: dict[tuple[str, str], list[str]] = {}
    for module, path in modules().items():
        for other in imported(path):
            if other in modules() and (pair := (room_of(module), room_of(other))) and pair[0] != pair[1]:
                found.setdefault(pair, []).append(f"{module} imports {other}")
    return found


def picture() -> list[list[str]]:
    """The rooms that docs/design.md names, layer by layer from the top."""
    assert PICTURE, "docs/design.md has no picture below '## The rooms'"
    return [line.split() for line in PICTURE[1].splitlines() if line.strip()]


def layer_of(room: str) -> int:
    """The layer of a room, counted from the top; of several names that fit it the longest counts."""
    fits = [(len(name), number) for number, names in enumerate(picture()) for name in names if fnmatch(room, name)]
    assert fits, f"docs/design.md: the picture of the rooms lacks {room}"
    return max(fits)[1]


def test_every_room_of_the_picture_is_there() -> None:
    rooms = {room_of(module) for module in modules()}
    missing = [name for layer in picture() for name in layer if not any(fnmatch(room, name) for room in rooms)]
    assert not missing
    assert len(rooms) > 30


def test_imports_run_down_the_picture_and_never_up_or_sideways() -> None:
    wrong = [why for (room, other), why in arrows().items() if layer_of(room) >= layer_of(other)]
    assert not wrong
    assert len(arrows()) > 100


@cache
def circles() -> list[set[str]]:
    """Sets of modules each of which imports all others of its set, directly or not, anywhere in its file."""
    following = {
        module: {other for other in imported(path) if other in modules()} for module, path in modules().items()
    }
    reached: dict[str, set[str]] = {}
    for module in following:
        reached[module], waiting = set(), [module]
        while waiting:
            new = following[waiting.pop()] - reached[module]
            reached[module] |= new
            waiting += new
    found = {frozenset(other for other in reached[module] if module in reached[other]) for module in following}
    return [{module.removeprefix("hutch.") for module in circle} for circle in found if len(circle) > 1]


def test_files_do_not_import_each_other() -> None:
    assert not [sorted(circle) for circle in circles()]


def test_every_folder_with_python_is_packaged() -> None:
    packages = {f"{package}.{'.'.join(path.parent.relative_to(folder).parts)}".rstrip(".")
                for package, folder in HOMES.items() for path in folder.rglob("*.py")}  # fmt: skip
    assert packages == set(SETUP["packages"])


def sources(*folders: str) -> list[Path]:
    return [path for folder in folders for path in (ROOT / folder).rglob("*.py")]


PRODUCT = sorted({str(folder.relative_to(ROOT)) for folder in HOMES.values()})


@pytest.mark.parametrize("folder", PRODUCT)
def test_what_is_no_kernel_says_its_types(folder: str) -> None:
    bare = []
    for path in sources(folder):
        for node in plain_functions(ast.parse(path.read_text())):
            if not annotated(node):
                bare.append(f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}")
    assert not bare


def plain_functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions and methods that are neither kernels nor part of one."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if kernel(node):
                continue
            yield node
        yield from plain_functions(node)


def annotated(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    untyped = [each.arg for each in given if each.annotation is None and each.arg not in ("self", "cls")]
    return not untyped and (node.returns is not None or node.name == "__init__" and len(given) > 1)


def kernel(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    called = (each.func if isinstance(each, ast.Call) else each for each in node.decorator_list)
    names = [each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "") for each in called]
    return any(name in KERNEL_DECORATORS or name.endswith("kernel") for name in names)
