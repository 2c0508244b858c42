"""A new plugin: a package of one module that passes its own checks, to be changed into what its author wants."""

import re
from collections.abc import Mapping
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from hutch.core.chain.registry import Registry
from hutch.core.errors import UsageError, did_you_mean


class Kind(NamedTuple):
    """A kind of plugin.

    Attributes:
        table: of the registry, in which it has a name; empty: it has none.
        page: of the documentation.
        use: how somebody uses it, in a shell.
        chain: the chain of `chain.yaml`, if the use has one.
        needs: what its test needs beside pytest.
        checked: whether `hutch plugins check` has checks for it.
    """

    table: str
    page: str
    use: str
    chain: str = ""
    needs: tuple[str, ...] = ()
    checked: bool = True


_LINES = "printf '1 |f a\\n-1 |f b\\n' | hutch train - -C chain.yaml"
_CHOICES = "printf '0:1:0.5 |a tea\\n|a milk\\n\\n' | hutch train - -C chain.yaml"
_BELOW = "  - contextual_bandit\n  - cost_sensitive_with_features\n  - linear\n"
KINDS: Mapping[str, Kind] = {
    "loss": Kind("losses", "writing-a-loss", _LINES, "  - linear: {loss: mine}\n"),
    "reduction": Kind("reductions", "writing-a-reduction", _LINES, "  - mine\n  - linear\n"),
    "base-learner": Kind("reductions", "writing-a-base-learner", _LINES, "  - mine\n"),
    "explorer": Kind("reductions", "writing-an-explorer", _CHOICES, f"  - mine\n{_BELOW}"),
    "crowd-model": Kind(
        "crowd_models", "writing-a-crowd-model", "hutch crowd labels.csv --model mine", needs=("hutch[arrow]", "pandas")
    ),
    "em-model": Kind("em_models", "online-em", "hutch em fit counts.npy --model mine"),
    "reader": Kind("readers", "hooks", "hutch train films.mine"),
    "hook": Kind("", "hooks", "HUTCH_MINE=progress.jsonl hutch train ratings.vw", checked=False),
    "command": Kind("commands", "hooks", "hutch mine ratings.vw"),
}
"""The kinds of plugins, by the name that `hutch plugins new` knows them by."""

_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
_PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "hutch-mine"
version = "0.1.0"
description = "{summary}"
readme = "README.md"
requires-python = ">=3.11"
license = "BSD-3-Clause"
license-files = ["LICENSE"]
dependencies = ["hutch"]

[project.optional-dependencies]
test = [{needs}]

[project.entry-points.hutch]
mine = "hutch_mine"

[tool.setuptools]
py-modules = ["hutch_mine"]

[tool.pytest.ini_options]
testpaths = ["tests"]
"""
_README = """\
# hutch-mine

{summary}

```sh
pip install -e '.[test]'
{check}pytest
```
{chain}
```sh
{use}
```

What each part of `hutch_mine.py` is for: the page `{page}` of Hutch's documentation.
"""
_LICENCE = """\
BSD 3-Clause License

Copyright (c) {year}, the authors of hutch-mine

Redistribution and use in source and binary forms, with or without modification, are permitted provided that the
following conditions are met:

1. Redistributions of source code must retain the above copyright notice, this list of conditions and the following
   disclaimer.

2. Redistributions in binary form must reproduce the above copyright notice, this list of conditions and the following
   disclaimer in the documentation and/or other materials provided with the distribution.

3. Neither the name of the copyright holder nor the names of its contributors may be used to endorse or promote
   products derived from this software without specific prior written permission.

THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES,
INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE
DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL,
SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR
SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY,
WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF
THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.
"""


class Package:
    """A new plugin.

    Args:
        kind: one of `KINDS`.
        name: of the loss, the layer, the command and so on: lower-case words with `-` or `_` between them.
        registry: of the plugins that are installed.

    Attributes:
        distribution: its name for `pip`.
        steps: what to do in its folder, for a shell.
        files: its texts by their paths in its folder.

    Raises:
        UsageError: another kind, a name that Python cannot import, or one that is taken.

    >>> from hutch.core.chain.registry import Registry
    >>> sorted(Package("loss", "huber", Registry()).files)
    ['LICENSE', 'README.md', 'hutch_huber.py', 'pyproject.toml', 'tests/test_huber.py']
    """

    def __init__(self, kind: str, name: str, registry: Registry) -> None:
        if kind not in KINDS:
            raise UsageError(f"KIND: got {kind!r}; {did_you_mean(kind, KINDS)}")
        name = name.removeprefix("hutch-").removeprefix("hutch_")
        if not _NAME.fullmatch(name):
            raise UsageError(f"NAME: got {name!r}, wanted lower-case letters and digits, as in top-two")
        module, found = name.replace("-", "_"), KINDS[kind]
        registered = f".{module}" if kind == "reader" else module
        if found.table and registered in getattr(registry, found.table):
            raise UsageError(f"NAME: the {kind} {registered!r} is there already, wanted another name")
        self.distribution = f"hutch-{module.replace('_', '-')}"
        steps = ["pip install -e '.[test]'", f"hutch plugins check {self.distribution}", "pytest"]
        self.steps = " && ".join(steps if found.checked else [steps[0], steps[2]])
        folder, stem = files("hutch.plugins") / "templates", kind.replace("-", "_")
        code = (folder / f"{stem}.py.txt").read_text(encoding="utf-8")
        summary = code.split("\n", 1)[0].strip('"')
        needs = ", ".join(f'"{each}"' for each in ("pytest", *found.needs))
        chain = f"\n```yaml\n# chain.yaml\nchain:\n{found.chain}```\n" if found.chain else ""
        written = {
            "pyproject.toml": _PROJECT.format(summary=summary.replace("`", "'"), needs=needs),
            "README.md": _README.format(
                summary=summary,
                check="hutch plugins check hutch-mine\n" * found.checked,
                chain=chain,
                use=found.use,
                page=found.page,
            ),
            "LICENSE": _LICENCE.format(year=date.today().year),
            f"hutch_{module}.py": code,
            f"tests/test_{module}.py": (folder / f"{stem}_test.py.txt").read_text(encoding="utf-8"),
        }
        self.files = {path: _named(text, module) for path, text in written.items()}

    def write(self, folder: str | Path | None = None) -> Path:
        """Write the files into a folder that does not exist.

        Args:
            folder: None: one of the name of the distribution, in the current one.

        Returns:
            The folder.

        Raises:
            UsageError: the folder exists.
        """
        target = Path(folder or self.distribution)
        if target.exists():
            raise UsageError(f"{target}: exists; wanted a new folder")
        for path, text in self.files.items():
            place = target / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        return target


def _named(text: str, module: str) -> str:
    """A template with the names of this plugin."""
    names = {
        "hutch-mine": f"hutch-{module.replace('_', '-')}",
        "hutch_mine": f"hutch_{module}",
        "HUTCH_MINE": f"HUTCH_{module.upper()}",
        "MineParameters": f"{_title(module)}Parameters",
        "Mine": _title(module),
        "MINE": module.upper(),
        "read_mine": f"read_{module}",
        "mine": module,
    }
    return re.sub(rf"\b(?:{'|'.join(names)})\b", lambda found: names[found[0]], text)


def _title(module: str) -> str:
    return "".join(word.capitalize() for word in module.split("_"))
