"""All commands of `hutch` by name; none is imported before it runs."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

COMMANDS = {
    "demo": ("hutch.cli.demo:demo", "Learn from simulated noisy ratings and show the errors."),
    "train": ("hutch.cli.train:train", "Learn from data."),
    "predict": ("hutch.cli.predict:predict", "Predict with a model."),
    "evaluate": ("hutch.cli.evaluate:evaluate", "Estimate a chain's cost from logged decisions."),
    "vw": ("hutch.cli.vw:vw", "Run a Vowpal Wabbit command line."),
    "convert": ("hutch.cli.convert:convert", "Convert a Vowpal Wabbit model."),
    "serve": ("hutch.cli.serve:serve", "Predict and learn over HTTP."),
    "serve log": ("hutch.cli.serve_log:app", "Export, replay or compact the log of served models."),
    "active": ("hutch.cli.active.commands:app", "Choose which labels to ask for, and learn them."),
    "label-studio": ("hutch.cli.active.label_studio:app", "Let people answer label requests in Label Studio."),
    "crowd": ("hutch.cli.crowd:crowd", "Infer the truth behind the labels of many workers."),
    "label": ("hutch.cli.label:label", "Buy labels until a certificate holds."),
    "label simulate": ("hutch.cli.label:simulate", "Simulate labelling with a certificate."),
    "estimate": ("hutch.cli.crowds.estimate:estimate", "Estimate a number over all items from few labels."),
    "judges": ("hutch.cli.crowds.judges:judges", "Report what the judges of an evaluation are worth."),
    "em": ("hutch.cli.em:app", "Fit models with hidden variables online."),
    "reproduce": ("hutch.cli.reproduce:app", "Reproduce published tables."),
    "config": ("hutch.cli.config:app", "Check a chain, show it with its defaults, export its schema."),
    "inspect": ("hutch.cli.inspect:inspect", "Show what is in a model."),
    "plugins": ("hutch.cli.plugins:app", "List what is installed, or check a plugin."),
    "warmup": ("hutch.cli.warmup:warmup", "Compile kernels ahead of time."),
}
"""Name -> (`module:name` of a function or a group of them, one-line help)."""


def installed(name: str) -> bool:
    """Whether there is a command of that name, and its module is part of this installation."""
    return name in COMMANDS and find_spec(COMMANDS[name][0].partition(":")[0]) is not None


def load(name: str) -> Any:
    """The function or the group behind the name of a command."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    return getattr(import_module(module), attribute)
