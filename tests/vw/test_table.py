"""One line of the table is all that an option of VW needs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hutch.vw.absent import ABSENT
from hutch.vw.option import LEARNER
from hutch.vw.table import GROUPS, NAMED, OPTIONS

ROOT = Path(__file__).parents[2]
LINE = '            new_float("mirror", "Predict the opposite.", sets="mirror.strength"),\n'
AFTER = '            new_flag("binary", "Predict -1 or 1.", sets="binary"),\n'
PROGRAM = """
from hutch.vw.docs import page
from hutch.vw.parse import help_text, parse
from hutch.vw.translate import chain_of
print(chain_of(parse(["--oaa", "3", "--mirror", "0.5"]))["chain"])
print("  --mirror" in help_text(), "| `--mirror` |" in page(), "`--mirror`" in page().partition("Option by option")[0])
"""


def test_an_option_is_one_line_of_the_table(tmp_path: Path) -> None:
    for folder in ("core", "vw"):
        source, ignored = ROOT / "src" / "hutch" / folder, shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, tmp_path / "hutch" / folder, ignore=ignored)
    for path in ("__init__.py", "chain.py"):
        shutil.copy(ROOT / "src" / "hutch" / path, tmp_path / "hutch")
    table = tmp_path / "hutch" / "vw" / "table.py"
    text = table.read_text()
    assert AFTER in text
    table.write_text(text.replace(AFTER, AFTER + LINE))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment)
    chain, shown = done.stdout.splitlines()
    assert eval(chain) == [
        {"one_against_all": {"classes": 3, "first_class": "detect"}},
        {"mirror": {"strength": 0.5}},
        "linear",
    ]
    assert shown == "True True True"


def test_what_the_table_names_is_there() -> None:
    from hutch.core.config.chain_config import ChainConfig
    from hutch.plugins.manager import installed

    reductions = installed().registry.reductions
    for option in OPTIONS:
        if option.layer:
            assert option.layer in reductions, option.name
        if option.needs:
            assert NAMED[option.needs].supported, option.name
        if option.part in LEARNER and option.part != "base":
            assert option.part in ChainConfig.__dataclass_fields__, option.name


def test_names_and_short_names_are_unique() -> None:
    names = [option.name for option in OPTIONS]
    shorts = [option.short for option in OPTIONS if option.short]
    assert len(set(names)) == len(names) and len(set(shorts)) == len(shorts)
    assert not set(ABSENT) & {option.name for _, group in GROUPS for option in group}


@pytest.mark.parametrize("option", [option for _, group in GROUPS for option in group], ids=lambda option: option.name)
def test_every_option_is_described(option: object) -> None:
    help, metavar, kind = (getattr(option, name) for name in ("help", "metavar", "kind"))
    assert help.endswith(".") and help[0].isupper()
    assert bool(metavar) == (kind != "flag")
