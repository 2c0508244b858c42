import json
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import pytest

from hutch.plugins.checks.apart import Result

Run = Callable[..., Any]


def test_what_is_installed_is_listed(hutch: Run) -> None:
    result = hutch("plugins", "list")
    assert result.code == 0 and result.out == hutch("plugins").out
    first = result.out.index(f"hutch.em (hutch {version('hutch')})\n")
    title, *lines = result.out[first:].splitlines()[:7]
    assert [line.partition(": ")[0] for line in lines] == [
        "  hooks", "  file", "  checks", "  commands", "  em_models", "  warmups",
    ]  # fmt: skip
    assert "hutch_register_em_models" in lines[0] and lines[1].endswith("em/plugin.py") and lines[4].endswith(": ppca")


def test_the_list_as_json(hutch: Run) -> None:
    found = {plugin["name"]: plugin for plugin in json.loads(hutch("plugins", "list", "--json").out)["plugins"]}
    losses = found["hutch.core.loss"]
    assert {"squared", "hinge", "logistic"} <= set(losses["registered"]["losses"])
    assert losses["hooks"] == ["hutch_register_losses"] and losses["file"].endswith("loss/plugin.py")


def outcomes(*texts: str) -> Callable[[str, float], list[Result]]:
    return lambda name, seconds: [
        Result(f"{name}:check{i}", text or None, "as VW does" if text == "known" else "", [])
        for i, text in enumerate(texts)
    ]


@pytest.mark.parametrize(
    ("texts", "code", "lines"),
    [
        (["", ""], 0, ["passed x:check0", "passed x:check1", "2 of 2 checks passed or failed as declared"]),
        (
            ["", "known"],
            0,
            ["passed x:check0", "known  x:check1: as VW does", "2 of 2 checks passed or failed as declared"],
        ),
        (["got 1", ""], 1, ["failed x:check0: got 1", "passed x:check1", "1 of 2 checks passed or failed as declared"]),
    ],
)
def test_checks_are_reported(
    hutch: Run, monkeypatch: pytest.MonkeyPatch, texts: list[str], code: int, lines: list[str]
) -> None:
    monkeypatch.setattr("hutch.plugins.checks.apart.results_of", outcomes(*texts))
    result = hutch("plugins", "check", "x")
    assert (result.code, result.out.splitlines()) == (code, lines)
    found = json.loads(hutch("plugins", "check", "x", "--json").out)
    assert found["failed"] == code and len(found["checks"]) == 2


@pytest.mark.slow
def test_a_loss_is_checked_for_real(hutch: Run) -> None:
    result = hutch("plugins", "check", "hinge")
    assert result.code == 0, result.out
    assert "passed hinge:gradient" in result.out


def test_checking_what_is_not_there(hutch: Run) -> None:
    result = hutch("plugins", "check", "hing")
    assert result.code == 1 and "'hing' is not installed; did you mean 'hinge'?" in result.err
