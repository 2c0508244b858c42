"""`hutch vw` among the other commands; Vowpal Wabbit's own parser takes its arguments."""

from typing import Annotated

from hutch.shell.declared import Argument


def vw(words: Annotated[list[str] | None, Argument(metavar="ARGS", help="As of vw.")] = None) -> int:
    """Run a Vowpal Wabbit command line.

    Example: hutch vw -d train.vw --loss_function logistic -q ab -f model
    """
    from hutch.vw.main import vw as run

    return run(words or [])
