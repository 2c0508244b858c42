"""`hutch reproduce`: the tables of the sources."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated

from hutch.shell.declared import Group, Option

app = Group("Reproduce published tables, on simulated or bundled data.")

_TABLES = {
    "crowd": ("hutch.reproduce.crowd:reproduce_crowd", "The nominal crowd model at its published size."),
    "priors": ("hutch.reproduce.crowd:reproduce_priors", "Lazy priors compared with dense ones."),
    "nat-oem": ("hutch.reproduce.em_tables:reproduce_nat_oem", "Natural online EM without forgetting."),
}


Plots = Annotated[Path | None, Option("--plots", metavar="DIR", help="Draw figures here.")]
Json = Annotated[bool, Option("--json", help="Print one JSON object.")]


@app.command("dyadic")
def dyadic(
    quick: Annotated[bool, Option("--quick", help="Only ranks 0 to 3 on fewer ratings, in seconds.")] = False,
    seed: Annotated[int, Option("--seed", metavar="N", help="With --quick: seed of the simulation.")] = 0,
    write: Annotated[
        str | None, Option("--write", metavar="DIR", help="With --quick: write train.vw, test.vw, labels.tsv here.")
    ] = None,
    plots: Plots = None,
    as_json: Json = False,
) -> None:
    """Linear and dyadic learners on simulated ratings.

    Example: hutch reproduce dyadic --quick --write ratings
    """
    from hutch.core.errors import UsageError

    if quick:
        from hutch.reproduce.cli.comparison import compare

        if plots is not None:
            raise UsageError("--plots: draws the whole table, got --quick")
        return compare(quick=True, seed=seed, write=write, as_json=as_json)
    if write is not None or seed:
        raise UsageError(f"{'--write' if write is not None else '--seed'}: needs --quick")
    from hutch.reproduce.dyadic import reproduce_dyadic

    _prepare(plots)
    return reproduce_dyadic(plots, as_json)


def _prepare(plots: Path | None) -> None:
    """Make the folder of the figures, if there are to be some."""
    if plots is not None:
        from hutch.core.atomic import make_directory
        from hutch.pages.plots import require_matplotlib

        require_matplotlib()
        make_directory(plots)


def _command(name: str, target: str, text: str) -> Callable[..., None]:
    module, _, function = target.partition(":")

    def reproduce(
        plots: Plots = None,
        as_json: Json = False,
    ) -> None:
        _prepare(plots)
        getattr(import_module(module), function)(plots, as_json)

    reproduce.__doc__ = f"{text}\n\nExample: hutch reproduce {name} --json"
    return reproduce


for _name, (_target, _text) in _TABLES.items():
    app.command(_name)(_command(_name, _target, _text))
