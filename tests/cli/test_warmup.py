from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from hutch.cli import warmup
from hutch.core.chain.registry import Warmup
from hutch.core.errors import HutchError
from hutch.core.kernel.cache import AddressKernel
from hutch.core.loss.kernels import hinge_value
from hutch.plugins.manager import installed


def test_every_kernel_of_the_installed_plugins_is_found() -> None:
    found = warmup.installed_kernels()
    assert {"hutch.reductions.linear.kernels:learn", "hutch.reductions.dyadic.kernels:learn"} <= found
    assert sum(name.endswith(":hinge_value") for name in found) == 1


def test_pieces_are_kernels_functions_and_command_lines(capsys: pytest.CaptureFixture[str]) -> None:
    warmup.compile_piece("hutch.core.loss.kernels:hinge_value")
    assert isinstance(hinge_value, AddressKernel) and "address" in vars(hinge_value)
    warmup.compile_piece("hutch.reproduce.cli.comparison:compile_parser")
    for each in installed().registry.warmups.values():
        if each.usual:
            warmup.compile_piece(each)
    assert capsys.readouterr() == ("", "")


def test_a_command_line_that_fails_is_told() -> None:
    with pytest.raises(HutchError, match="hutch train none.vw ended with status 1: none.vw: no such file"):
        warmup.compile_piece(Warmup("train none.vw", {}))


@pytest.mark.slow
def test_the_command_compiles_everything(hutch: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warmup, "installed_kernels", lambda: {"hutch.core.loss.kernels:hinge_value"})
    fails = "crowd none.tsv && em fit none.npy"
    monkeypatch.setattr(installed().registry, "warmups", {fails: Warmup(fails, {})})
    assert '"kernels": 1' in hutch("warmup", "--json", "-j", "1", "--usual").out
    assert hutch("warmup", "--quiet", "--usual").err == ""
    said = hutch("warmup", "--usual", "-j", "1").err.splitlines()
    assert said[:3] == ["compiling 2 pieces in 1 processes", "compiled 1 of 2", "compiled 2 of 2"] and len(said) == 4
    failed = hutch("warmup", "-j", "1")
    assert failed.code == 1 and "none.tsv: no such file" in failed.err


def test_the_chains_that_runs_compile_are_the_shipped_ones() -> None:
    shipped = {path.stem: yaml.safe_load(path.read_text())["chain"] for path in Path("configs").glob("*.yaml")}
    files = {file: text for each in installed().registry.warmups.values() for file, text in each.files.items()}
    run = {name: yaml.safe_load(files[f"{name}.yaml"])["chain"] for name in shipped if name != "linear"}
    assert run == {name: chain for name, chain in shipped.items() if name != "linear"}  # every run has `linear`
