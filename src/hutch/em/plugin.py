"""The models of online EM that come with Hutch, and the command."""

from collections.abc import Callable

from hutch.core.hooks import hookimpl


@hookimpl
def hutch_register_commands(register: Callable[..., None]) -> None:
    """Register `hutch em`."""
    register("em", "hutch.em.cli:app", help="Fit models with hidden variables online.")


@hookimpl
def hutch_register_em_models(register: Callable[..., None]) -> None:
    """Register each model by its place."""
    register("hutch.em.models:PPCA_ENTRY", name="ppca")


@hookimpl
def hutch_register_checks(register: Callable[..., None]) -> None:
    """Register what the checks of a model run."""
    register("em_models", "hutch.em.checks:runs_of_model")


@hookimpl
def hutch_register_warmups(register: Callable[..., None]) -> None:
    """Register fits with one latent feature and with more."""
    rows = "a,b,c\n" + "".join(f"{i},{i * i % 7},{i * i * i % 11}\n" for i in range(120))
    register("em fit rows.csv --rank 1 && em fit rows.csv --rank 2", files={"rows.csv": rows})
