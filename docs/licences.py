"""Writes licences.md: the licence of everything that `pip install hutch` and its extras bring, from installed metadata.

    python docs/licences.py

Run it where `hutch[web,arrow,sklearn,river,plots,ray]` is installed; a package that is missing keeps its row.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "licences.md"
EXTRAS = ("web", "arrow", "sklearn", "river", "plots", "ray")
"""What a user of the library may install; label-studio is a program of its own, of which Hutch imports nothing."""

HEAD = """# Licences

Hutch is under the BSD 3-clause licence. What it brings along, directly or through what it depends on, and under which
licence, as each package declares it; written by `python docs/licences.py` from the metadata of installed packages.

| package | licence | comes with |
|---|---|---|
"""
TAIL = """
Hutch contains no code of these packages. Wheels for Linux contain machine code that Numba and LLVM made from Hutch's
own kernels; the bill of materials in every wheel (`hutch-*.dist-info/sboms/hutch.cdx.json`) names their versions.
"""


def key(name: str) -> str:
    """A package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def names(requirements: list[str]) -> Iterator[str]:
    """The names in requirements, without those of extras."""
    for line in requirements:
        if "extra ==" not in line:
            yield key(re.match(r"[\w.-]+", line)[0])  # type: ignore[index]


def licence(found: Distribution) -> str:
    """What a package says of its licence: an expression, else its classifiers, else the text's first line."""
    about = found.metadata
    if expression := about.get("License-Expression"):
        return str(expression)
    classifiers = [
        line.rpartition(" :: ")[2] for line in about.get_all("Classifier") or () if line.startswith("License")
    ]
    return " or ".join(classifiers) or str(about.get("License") or "not declared").splitlines()[0]


def declared() -> dict[str, str]:
    """What Hutch itself names, and with which extra."""
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())["project"]
    found = dict.fromkeys(names(project["dependencies"]), "hutch")
    for extra in EXTRAS:
        for name in names(project["optional-dependencies"][extra]):
            found.setdefault(name, f"hutch[{extra}]")
    return found


def rows() -> dict[str, tuple[str, str]]:
    """Licence and origin by package: what Hutch names, and what these need in turn."""
    found: dict[str, tuple[str, str]] = {}
    waiting = list(declared().items())
    for name, origin in waiting:
        if name in found:
            continue
        try:
            package = distribution(name)
        except PackageNotFoundError:
            if name in known():
                found[name] = known()[name]
            if name in declared():  # what these need may depend on the system
                print(f"{name}: not installed, left as it is", file=sys.stderr)
            continue
        found[name] = licence(package), origin
        waiting += [(other, origin) for other in names(package.requires or [])]
    return found


def known() -> dict[str, tuple[str, str]]:
    """The rows of the page as it is."""
    text = PAGE.read_text() if PAGE.exists() else ""
    return {
        name: (terms, origin) for name, terms, origin in re.findall(r"^\| ([\w.-]+) \| (.+?) \| `(.+)` \|$", text, re.M)
    }


def page() -> str:
    """The page."""
    lines = [f"| {name} | {terms} | `{origin}` |\n" for name, (terms, origin) in sorted(rows().items())]
    return HEAD + "".join(lines) + TAIL


if __name__ == "__main__":
    PAGE.write_text(page())
