"""`hutch vw`: a Vowpal Wabbit command line, run by Hutch's engine."""

import sys
from argparse import Namespace
from contextlib import ExitStack, redirect_stderr
from typing import Any

import typer

from hutch.cli.lazy import new_app

vw = new_app()

_PASSED_ON = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


@vw.command("vw", context_settings=_PASSED_ON)
def command(context: typer.Context) -> None:
    """Run a Vowpal Wabbit command line.

    Example: hutch vw -d train.vw --loss_function logistic -q ab -f model
    """
    arguments = list(context.args)
    if "--help" in arguments or "-h" in arguments:
        from hutch.cli.vw_table import help_text

        print(help_text())
        return
    if "--to-yaml" in arguments:
        arguments.remove("--to-yaml")
        _print_yaml(arguments)
        return
    raise typer.Exit(run(arguments))


def _print_yaml(arguments: list[str]) -> None:
    import yaml

    from hutch.cli.vw_table import parse
    from hutch.cli.vw_translate import chain_of
    from hutch.core.config import load_chain
    from hutch.plugins.manager import installed

    chain = chain_of(parse(arguments))
    load_chain(chain, installed().registry)
    print(yaml.safe_dump(chain, sort_keys=False), end="")


def run(arguments: list[str]) -> int:
    """Run a VW command line; returns the exit status.

    Raises:
        HutchError: the command line, the data or a model is wrong.
    """
    from hutch.cli.vw_run import VwRun, build_chain, run_options
    from hutch.cli.vw_table import parse

    options: Namespace = parse(arguments)
    with ExitStack() as stack:
        if options.driver_output == "stdout":
            stack.enter_context(redirect_stderr(sys.stdout))
        files = run_options(options)
        files.check()
        chain: Any = build_chain(options)
        return VwRun(chain, files, options)().exit_code
