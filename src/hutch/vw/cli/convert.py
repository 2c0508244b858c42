"""`hutch convert`: a model of Vowpal Wabbit as one of Hutch, and back."""

from pathlib import Path
from typing import Annotated

from hutch.shell.declared import Argument, Option


def convert(
    old: Annotated[str, Argument(metavar="OLD", help="A model written by VW 8 or 9; with --to vw, by Hutch.")],
    new: Annotated[str, Option("-f", "--final_regressor", metavar="MODEL", help="Save the converted model here.")],
    loss_function: Annotated[
        str | None,
        Option(
            "--loss_function",
            metavar="NAME",
            help="The loss it was trained with, which VW's models do not record.",
            show_default="squared",
        ),
    ] = None,
    to: Annotated[str, Option("--to", metavar="NAME", help="Whose model to write: hutch or vw.")] = "hutch",
) -> None:
    """Convert a Vowpal Wabbit model to Hutch, or with --to vw the other way.

    The result predicts as the original does with -t, and training resumes where the original's would.

    Example: hutch convert old.vw -f new.model --loss_function logistic
    """
    import sys

    from hutch.chain import Chain
    from hutch.core.atomic import atomic_write, check_outputs
    from hutch.core.config.override import layer_name
    from hutch.core.errors import UsageError
    from hutch.vw.model_binary import is_vw_model, read_vw_model, vw_model
    from hutch.vw.parse import parse

    if to not in ("hutch", "vw"):
        raise UsageError(f"--to: got {to!r}, wanted hutch or vw")
    check_outputs([new], [old])
    if not Path(old).is_fifo():
        with open(old, "rb"):  # an unreadable file raises the usual error
            pass
    if to == "vw":
        if loss_function:
            raise UsageError("--loss_function: got it with --to vw, wanted a model of VW: Hutch's hold the loss")
        chain = Chain.load(old)
        try:
            content = vw_model(chain)
        except UsageError as error:
            raise UsageError(f"{old}: {error}") from None
        with atomic_write(new) as file:
            file.write(content)
    else:
        if not is_vw_model(old):
            raise UsageError(f"{old}: got another file, wanted a model of VW")
        chain = read_vw_model(old, parse(["--loss_function", loss_function] if loss_function else []))
        chain.save(new)
    layers = ", ".join(str(layer_name(layer)) for layer in chain.config.to_dict()["chain"])
    print(f"{new}: {layers}; {chain.config.weights.bits} bits", file=sys.stderr)
