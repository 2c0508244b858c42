"""`hutch convert`: a model of Vowpal Wabbit as one of Hutch."""

from pathlib import Path
from typing import Annotated

from hutch.cli.shell.complete import registered
from hutch.cli.shell.declared import Argument, Option


def convert(
    old: Annotated[str, Argument(metavar="OLD", help="A model written by VW 9.")],
    new: Annotated[str, Option("-f", "--final_regressor", metavar="MODEL", help="Save the converted model here.")],
    loss_function: Annotated[
        str | None,
        Option(
            "--loss_function",
            metavar="NAME",
            help="The loss it was trained with, which VW's models do not record.",
            show_default="squared",
            autocompletion=registered("losses"),
        ),
    ] = None,
) -> None:
    """Convert a Vowpal Wabbit model.

    It predicts as VW does with -t, and training resumes where VW would.

    Example: hutch convert old.vw -f new.model --loss_function logistic
    """
    import sys

    from hutch.core.atomic import check_apart, check_writable
    from hutch.core.config.override import layer_name
    from hutch.core.errors import UsageError
    from hutch.vw.model_binary import is_vw_model, read_vw_model
    from hutch.vw.parse import parse

    check_writable(new)
    check_apart([new], [old])
    if not Path(old).is_fifo():
        with open(old, "rb"):  # that it cannot be read is said as for any file
            pass
    if not is_vw_model(old):
        raise UsageError(f"{old}: got another file, wanted a model of VW 9")
    given = parse(["--loss_function", loss_function] if loss_function else [])
    chain = read_vw_model(old, given)
    chain.save(new)
    layers = ", ".join(str(layer_name(layer)) for layer in chain.config.to_dict()["chain"])
    print(f"{new}: {layers}; {chain.config.weights.bits} bits", file=sys.stderr)
