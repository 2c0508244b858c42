"""`hutch vw`: a Vowpal Wabbit command line, run by Hutch's engine."""

import re
import shlex
import sys
from argparse import Namespace
from contextlib import ExitStack, redirect_stderr
from typing import Any

from hutch.core.errors import UsageError


def vw(arguments: list[str]) -> int:
    """Run a VW command line; returns the exit status.

    Args:
        arguments: VW's options; with `--to-yaml` among them, their chain is printed instead.

    Raises:
        HutchError: the command line, the data or a model is wrong.
    """
    arguments = [word for each in arguments for word in _words(each)]
    if "--help" in arguments or "-h" in arguments:
        from hutch.vw.parse import help_text

        print(help_text())
        return 0
    if "--to-yaml" in arguments:
        _print_yaml([word for word in arguments if word != "--to-yaml"])
        return 0
    return run(arguments)


def _words(argument: str) -> list[str]:
    """The words of an argument that holds a whole command line, such as `"--oaa 3 -q ab"`; else itself."""
    if not re.match(r"--?\w[\w-]*\s", argument):
        return [argument]
    try:
        return shlex.split(argument)
    except ValueError as error:
        raise UsageError(f"got {argument!r}: {error}") from None


def _print_yaml(arguments: list[str]) -> None:
    import yaml

    from hutch.core.config.read import load_chain
    from hutch.plugins.manager import installed
    from hutch.vw.idle import leave_out_idle
    from hutch.vw.parse import parse
    from hutch.vw.translate import chain_of

    options = parse(arguments)
    leave_out_idle(options)
    chain = chain_of(options)
    load_chain(chain, installed().registry)
    print(yaml.safe_dump(chain, sort_keys=False), end="")


def run(arguments: list[str]) -> int:
    """Run a VW command line; returns the exit status.

    Raises:
        HutchError: the command line, the data or a model is wrong.
    """
    from hutch.vw.parse import parse
    from hutch.vw.run import build_chain, run_options, run_vw

    options: Namespace = parse(arguments)
    if options.daemon and not options.no_daemon:
        from hutch.vw.daemon import run as serve

        return serve(options)
    with ExitStack() as stack:
        if options.driver_output == "stdout":
            stack.enter_context(redirect_stderr(sys.stdout))
        files = run_options(options)
        files.check()
        chain: Any = build_chain(options)
        return run_vw(chain, files, options).exit_code
