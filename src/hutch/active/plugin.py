"""The commands with which people answer label requests."""

from collections.abc import Callable

from hutch.core.hooks import hookimpl


@hookimpl
def hutch_register_commands(register: Callable[..., None]) -> None:
    """Register `hutch active` and `hutch label-studio`."""
    register(
        "active",
        "hutch.active.cli.commands:app",
        help="Which examples to label so that a model learns most.",
        group="Labels",
    )
    register("label-studio", "hutch.active.cli.label_studio:app", help="Ask people in Label Studio.", group="Labels")


@hookimpl
def hutch_register_warmups(register: Callable[..., None]) -> None:
    """Register the loop: train, ask, report."""
    files = {
        "lines.vw": "1 'a |text x:0.5 y |author z\n-1 |text x |author z\n",
        "pool.vw": "|text x\n|text y\n|author z\n",
        "active.yaml": "chain: [{active: {}}, {linear: {loss: logistic}}]\n",
    }
    asking = "active ask pool.vw -i model --store store -n 1 && active report --store store"
    register(f"train lines.vw -C active.yaml --quiet -f model && {asking}", files=files)
