"""The command `hutch`."""

import gc
import os
import sys
import warnings
from typing import Annotated, Any, NoReturn

import typer

from hutch.cli.lazy import LazyGroup, new_app
from hutch.core.errors import HutchError


class Commands(LazyGroup):
    """All commands; an error that is the user's becomes one message and an exit status."""

    table = {
        "demo": ("hutch.cli.demo:demo", "Simulate noisy ratings, learn from them, show the table of errors."),
        "train": ("hutch.cli.train:train", "Learn from data."),
        "predict": ("hutch.cli.predict:predict", "Predict with a model."),
        "vw": ("hutch.cli.vw:vw", "Run a Vowpal Wabbit command line."),
        "active": ("hutch.cli.active:app", "Ask for the labels that are worth it."),
        "crowd": ("hutch.cli.crowd:crowd", "Find the truth behind the labels of many workers."),
        "em": ("hutch.cli.em:app", "Fit models with hidden variables online."),
        "reproduce": ("hutch.cli.reproduce:app", "Rebuild the tables of the sources."),
        "config": ("hutch.cli.config:app", "Check a chain, show it with its defaults, export its schema."),
        "inspect": ("hutch.cli.inspect:inspect", "Look into a model."),
        "plugins": ("hutch.cli.plugins:app", "List what is installed, check a plugin."),
        "warmup": ("hutch.cli.warmup:warmup", "Compile the kernels ahead."),
    }

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except HutchError as error:
            print(error, file=sys.stderr)
            raise typer.Exit(error.exit_code) from None
        except BrokenPipeError:  # whoever read our output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(141) from None
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            raise typer.Exit(130) from None


app = new_app(Commands, no_args_is_help=True, add_completion=True)


def _say_version(wanted: bool) -> None:
    if wanted:
        from hutch import __version__

        print(f"hutch {__version__}")
        raise typer.Exit


@app.callback()
def hutch(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Say the version and leave.")
    ] = False,
) -> None:
    """Noisy human labels in, an online model out.

    Example: hutch train data.vw -C chain.yaml -f model
    """


_WITHOUT_BLAS = (["train"], ["predict"], ["vw"])


def main() -> NoReturn:
    """Entry point of the command line."""
    gc.set_threshold(100_000, 50, 100)  # imports make a hundred thousand objects that stay: no use to look for garbage
    if sys.argv[1:2] in _WITHOUT_BLAS:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads would spin from NumPy's import on, for nothing
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # it would look for them in all that is installed
    warnings.formatwarning = lambda message, *_: f"{message}\n"
    app(prog_name="hutch")
    sys.exit(0)
