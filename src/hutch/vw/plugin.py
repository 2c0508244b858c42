"""Vowpal Wabbit's command line, its decision log, and its options for Hutch's layers."""

from collections.abc import Callable

from hutch.core.hooks import hookimpl


@hookimpl
def hutch_register_commands(register: Callable[..., None]) -> None:
    """Register `hutch vw` and `hutch convert`."""
    register("vw", "hutch.vw.cli.vw:vw", help="Run a Vowpal Wabbit command line.", group="Vowpal Wabbit")
    register("convert", "hutch.vw.cli.convert:convert", help="Convert a Vowpal Wabbit model.", group="Vowpal Wabbit")


@hookimpl
def hutch_register_readers(register: Callable[..., None]) -> None:
    """Register the reader of decision logs."""
    register("hutch.vw.json.reader:read_decision_log", name=".dsjson")


@hookimpl
def hutch_register_vw_layers(register: Callable[..., None]) -> None:
    """Register what Vowpal Wabbit calls each layer."""
    from hutch.vw.options.layers import LAYERS  # not at the top: only `hutch vw` needs it

    for name, layer in LAYERS.items():
        register(name, layer)


@hookimpl
def hutch_register_warmups(register: Callable[..., None]) -> None:
    """Register a run on a table."""
    register("vw -d table.csv --csv --quiet", files={"table.csv": "label,number,word\n1,0.5,x\n0,,y\n"})
