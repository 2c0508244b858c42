"""What version 0.1 showed under other names is still there, is the same, and says where it went."""

import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path

import pytest

from hutch.core.moved import KEPT, MOVED


@pytest.mark.parametrize("old", MOVED)
def test_an_old_name_is_the_module_of_the_new_one(old: str) -> None:
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=f"^{old} is now {MOVED[old]}; plugins import hutch.plugin"):
        module = import_module(old)
    assert module is import_module(MOVED[old])
    assert module.__name__ == MOVED[old]
    assert module.__spec__ is not None and module.__spec__.name == MOVED[old]


@pytest.mark.parametrize("old", KEPT)
def test_a_name_that_stays_says_nothing(old: str) -> None:
    sys.modules.pop(old, None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert import_module(old) is import_module(KEPT[old])


@pytest.mark.parametrize(
    ("code", "named"),
    [
        ("import hutch.core.abi", "hutch.core.abi is now hutch.core.kernel.abi"),
        ("from hutch.core.reduction import Reduction", "hutch.core.reduction is now hutch.core.chain.reduction"),
        ("from hutch.crowd.labels import from_triples", "hutch.crowd.labels is now hutch.crowd.data.labels"),
        ("from hutch.em.model import Model", "hutch.em.model is now hutch.em.base.model"),
        ("from hutch.em.ppca import log_likelihood", "hutch.em.ppca.log_likelihood is now hutch.em.ppca.model."),
        ("from hutch.reductions.linear import Linear", "hutch.reductions.linear.Linear is now hutch.reductions."),
    ],
)
def test_the_warning_names_the_line_that_imports(code: str, named: str, tmp_path: Path) -> None:
    (tmp_path / "theirs.py").write_text(f"import math\n\n{code}\nprint(math.pi)\n")
    command = [sys.executable, "-W", "default", "theirs.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert f"theirs.py:3: DeprecationWarning: {named}" in done.stderr
    assert done.stdout.startswith("3.14")


def test_a_package_that_was_a_module_has_no_other_names() -> None:
    with pytest.raises(ImportError, match="cannot import name 'linguini' from 'hutch.reductions.linear'"):
        from hutch.reductions.linear import linguini  # noqa: F401
