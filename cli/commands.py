"""All commands of `hutch`."""

from typing import Annotated, Any

import typer

from hutch.cli.outcome import one_message
from hutch.cli.shell.lazy import LazyGroup, new_app


class Commands(LazyGroup):
    """All commands; an error that is the user's becomes one message and an exit status."""

    table = {
        "demo": ("hutch.cli.demo:demo", "Learn from simulated noisy ratings and show the errors."),
        "train": ("hutch.cli.train:train", "Learn from data."),
        "predict": ("hutch.cli.predict:predict", "Predict with a model."),
        "evaluate": ("hutch.cli.evaluate:evaluate", "Estimate a chain's cost from logged decisions."),
        "vw": ("hutch.cli.vw:vw", "Run a Vowpal Wabbit command line."),
        "convert": ("hutch.cli.convert:convert", "Convert a model that VW wrote."),
        "serve": ("hutch.cli.serve:serve", "Predict and learn over HTTP."),
        "active": ("hutch.cli.active.commands:app", "Ask for the labels that are worth asking for."),
        "label-studio": ("hutch.cli.active.label_studio:app", "Let people answer label requests in Label Studio."),
        "crowd": ("hutch.cli.crowd:crowd", "Infer the truth behind the labels of many workers."),
        "estimate": ("hutch.cli.crowds.estimate:estimate", "Estimate a number over all items from few labels."),
        "em": ("hutch.cli.em:app", "Fit models with hidden variables online."),
        "reproduce": ("hutch.cli.reproduce:app", "Reproduce published tables."),
        "config": ("hutch.cli.config:app", "Check a chain, show it with its defaults, export its schema."),
        "inspect": ("hutch.cli.inspect:inspect", "Look into a model."),
        "plugins": ("hutch.cli.plugins:app", "List what is installed, check a plugin."),
        "warmup": ("hutch.cli.warmup:warmup", "Compile kernels ahead of time."),
    }

    def invoke(self, ctx: Any) -> Any:
        try:
            with one_message():
                return super().invoke(ctx)
        except SystemExit as left:
            raise typer.Exit(int(left.code or 0)) from None


app = new_app(Commands, no_args_is_help=True, add_completion=True)


def _say_version(wanted: bool) -> None:
    if wanted:
        from hutch import __version__

        print(f"hutch {__version__}")
        raise typer.Exit


@app.callback()
def hutch(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Noisy human labels in, an online model out.

    Example: hutch train data.vw -C chain.yaml -f model
    """
