from collections.abc import Callable
from dataclasses import dataclass

import pytest

from hutch.cli.dispatch import run as dispatch


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


@pytest.fixture
def hutch(capfd: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Run a command line in this process."""

    def run(*arguments: object) -> Result:
        capfd.readouterr()
        code = dispatch([str(argument) for argument in arguments])
        return Result(code, *capfd.readouterr())

    return run
