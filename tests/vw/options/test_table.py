"""One line is all that an option of VW needs: in the table, or in the declaration of a layer that decides."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hutch.core.parameters import parameters_of
from hutch.vw.options.absent import ABSENT
from hutch.vw.options.declared import DECLARED
from hutch.vw.options.option import LEARNER
from hutch.vw.options.table import GROUPS, NAMED, OPTIONS

ROOT = Path(__file__).parents[3]
OF_A_LAYER = (
    '    new_flag("binary", "Predict -1 or 1.", sets="binary"),\n',
    '    new_float("mirror", "Predict the opposite.", sets="mirror.strength"),\n',
)
OF_A_DECISION = (
    '            new_flag("softmax", "Explore with probabilities from a softmax of the scores.", needs=EXPLORING),\n',
    '            new_float("warmth", "With --softmax: soften.", sets="warmth", needs=("softmax",)),\n',
)
PROGRAM = """
from vw_options import tables
from hutch.vw.parse import help_text, parse
from hutch.vw.translate import chain_of
print(chain_of(parse({words!r}.split()))["chain"])
layers, _, options = tables().partition("## Reductions")[2].partition("## Options")
print("  --{name}" in help_text(), "`--{name}`" in options, "`--{name}`" in layers)
"""


def _with_a_line(folder: Path, file: str, lines: tuple[str, str], words: str, name: str) -> list[str]:
    """Output of PROGRAM in a copy of the sources with a line inserted after another."""
    shutil.copytree(ROOT / "src" / "hutch", folder / "hutch", ignore=shutil.ignore_patterns("__pycache__"))
    changed, (after, line) = folder / "hutch" / file, lines
    text = changed.read_text()
    assert after in text
    changed.write_text(text.replace(after, after + line))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT / "docs")])}
    program = PROGRAM.format(words=words, name=name)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_an_option_is_one_line_of_the_table(tmp_path: Path) -> None:
    chain, shown = _with_a_line(tmp_path, "vw/options/predictions.py", OF_A_LAYER, "--oaa 3 --mirror 0.5", "mirror")
    assert eval(chain) == [
        {"one_against_all": {"classes": 3, "first_class": "detect"}},
        {"mirror": {"strength": 0.5}},
        "linear",
    ]
    assert shown == "True True True"


def test_an_option_of_a_layer_that_decides_is_one_line_of_its_declaration(tmp_path: Path) -> None:
    words, file = "--cb_explore_adf --softmax --warmth 0.5", "vw/options/explorers.py"
    chain, shown = _with_a_line(tmp_path, file, OF_A_DECISION, words, "warmth")
    assert eval(chain)[0] == {"explore_softmax": {"warmth": 0.5}}
    assert shown == "True True True"


def test_what_is_declared_of_a_layer_are_parameters_of_its_class() -> None:
    from hutch.plugins.manager import installed

    assert len(DECLARED) > 20
    for name, read in DECLARED.items():
        reduction = installed().registry.reductions[name]
        keys = {each.key for each in read.options} | {key for _, key in read.beside}
        assert keys - {""} <= {each.name for each in parameters_of(reduction.Parameters)}, name
        assert {option for option, _ in read.beside} <= set(NAMED), name


def test_what_the_table_names_is_there() -> None:
    from hutch.core.config.chain_config import ChainConfig
    from hutch.plugins.manager import installed

    reductions = installed().registry.reductions
    for option in OPTIONS:
        if option.layer:
            assert option.layer in reductions, option.name
        for needed in option.needs:
            assert NAMED[needed].supported, option.name
        if option.part in LEARNER and option.part != "base":
            assert option.part in ChainConfig.__dataclass_fields__, option.name


def test_names_and_short_names_are_unique() -> None:
    names = [option.name for option in OPTIONS]
    shorts = [option.short for option in OPTIONS if option.short]
    assert len(set(names)) == len(names) and len(set(shorts)) == len(shorts)
    assert not set(ABSENT) & {option.name for group in GROUPS.values() for option in group}


@pytest.mark.parametrize(
    "option", [option for group in GROUPS.values() for option in group], ids=lambda option: option.name
)
def test_every_option_is_described(option: object) -> None:
    help, metavar, kind = (getattr(option, name) for name in ("help", "metavar", "kind"))
    assert help.endswith(".") and (help[0].isupper() or getattr(option, "needs", ()))
    assert bool(metavar) == (kind != "flag")
