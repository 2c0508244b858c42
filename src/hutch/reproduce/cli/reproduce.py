"""`hutch reproduce`: the tables of the sources."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated

from hutch.shell.declared import Group, Option

app = Group("Reproduce published tables, on simulated or bundled data.")

_TABLES = {
    "dyadic": ("hutch.reproduce.dyadic:reproduce_dyadic", "Linear and dyadic learners on simulated ratings."),
    "crowd": ("hutch.reproduce.crowd:reproduce_crowd", "The nominal crowd model at its published size."),
    "priors": ("hutch.reproduce.crowd:reproduce_priors", "Lazy priors compared with dense ones."),
    "nat-oem": ("hutch.reproduce.em_tables:reproduce_nat_oem", "Natural online EM without forgetting."),
}


def _command(name: str, target: str, text: str) -> Callable[..., None]:
    module, _, function = target.partition(":")

    def reproduce(
        plots: Annotated[Path | None, Option("--plots", metavar="DIR", help="Draw figures here.")] = None,
        as_json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
    ) -> None:
        if plots is not None:
            from hutch.core.atomic import make_directory
            from hutch.pages.plots import require_matplotlib

            require_matplotlib()
            make_directory(plots)
        getattr(import_module(module), function)(plots, as_json)

    reproduce.__doc__ = f"{text}\n\nExample: hutch reproduce {name} --json"
    return reproduce


for _name, (_target, _text) in _TABLES.items():
    app.command(_name)(_command(_name, _target, _text))
