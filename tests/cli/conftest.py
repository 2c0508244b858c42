from collections.abc import Callable
from dataclasses import dataclass

import pytest

from hutch.cli.commands import app


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
        with pytest.raises(SystemExit) as caught:
            app([str(argument) for argument in arguments], prog_name="hutch")
        code = caught.value.code
        return Result(code if isinstance(code, int) else int(code is not None), *capfd.readouterr())

    return run
