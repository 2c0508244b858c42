"""`hutch em`: fit a latent-variable model to a stream of rows by online EM, and use it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from hutch.core.errors import UsageError
from hutch.core.strict_json import dumps
from hutch.shell.declared import Argument, Group, Option, ray_option
from hutch.shell.reports import reports

if TYPE_CHECKING:
    from hutch.em.base.learner import Learner
    from hutch.em.fit import Settings
    from hutch.em.rows import Table

app = Group("Fit models with hidden variables by online EM.")
_START = 100
"""Rows that set where a fit starts."""

Data = Annotated[Path, Argument(metavar="DATA", help=".npy, .npz or .csv, one sample per row.")]
Missing = Annotated[bool, Option("--missing", help="NaN, or an empty cell, is a missing value.")]
Classes = Annotated[
    str | None, Option(metavar="NAME", help="Column of a .csv or array of an .npz that names each row's class.")
]


@app.command()
@reports
def fit(
    data: Data,
    model: Annotated[str, Option(metavar="NAME", help="What to fit.")] = "ppca",
    rank: Annotated[int, Option(metavar="N", help="Latent dimension.")] = 10,
    regularizer: Annotated[
        str, Option(metavar="NAME", help="exact (the natural step, solved), nat_oem, or none (plain online EM).")
    ] = "exact",
    mode: Annotated[
        str | None, Option(metavar="NAME", help="Anchor: step (before each step) or class (where a class ended).")
    ] = None,
    form: Annotated[str | None, Option(metavar="NAME", help="With nat_oem: kl, implicit or literal.")] = None,
    metric: Annotated[
        str | None, Option(metavar="NAME", help="With implicit or literal: complete or identity.")
    ] = None,
    beta: Annotated[float | None, Option(metavar="X", help="Strength of nat_oem, 0 or more.", show_default="1")] = None,
    exponent: Annotated[
        float | None,
        Option(metavar="X", help="Steps fade as samples^-exponent.", show_default="exact 1, nat_oem 0.6, none 0.8"),
    ] = None,
    scale: Annotated[float | None, Option(metavar="X", help="Size of the first step, up to 1.")] = None,
    block: Annotated[
        int | None, Option(metavar="N", help="Rows per step.", show_default="exact 256, missing 16, else 1")
    ] = None,
    sketch: Annotated[int | None, Option(metavar="N", help="With exact: keep N times the rank.")] = None,
    past: Annotated[
        float | None, Option(metavar="X", help="With exact classes: weight of the past; less adapts faster.")
    ] = None,
    balanced: Annotated[
        bool, Option("--balanced", help="With exact classes: give all classes the same weight.")
    ] = False,
    classes: Classes = None,
    drift: Annotated[
        float | None, Option(metavar="THRESHOLD", help="Find where classes end by a drift test; try 6.")
    ] = None,
    missing: Missing = False,
    passes: Annotated[int, Option(min=1, metavar="N", help="Number of passes over the rows.")] = 1,
    seed: Annotated[int, Option(metavar="N", help="Seed of the random start.")] = 0,
    test: Annotated[Path | None, Option(metavar="FILE", help="Rows to score at the end.")] = None,
    initial: Annotated[
        Path | None, Option("-i", "--initial-model", metavar="MODEL", help="Continue from this model.")
    ] = None,
    final: Annotated[Path | None, Option("-f", "--final-model", metavar="MODEL", help="Write the model here.")] = None,
    shards: Annotated[
        int | None,
        Option(min=1, metavar="N", help="Fit in N processes, each to a part of the rows; DATA may be a glob."),
    ] = None,
    ray: Annotated[str | None, ray_option("With --shards: fit")] = None,
    json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Learn from the rows of a file, in order or in shards.

    Example: hutch em fit digits.npz --rank 10 --mode class --classes y -f digits.model
    """
    from dataclasses import asdict

    from hutch.core.atomic import check_outputs
    from hutch.em.fit import Settings, create, find, last_class, load, save
    from hutch.em.rows import read_rows
    from hutch.em.sharded import installed_models

    check_outputs([final], [data])
    entries = installed_models()
    asked: dict[str, Any] = {
        "model": model, "rank": rank, "regularizer": regularizer, "mode": mode, "form": form, "metric": metric,
        "beta": beta, "exponent": exponent, "scale": scale, "block": block, "sketch": sketch, "past": past,
        "balanced": balanced or None, "missing": missing, "seed": seed,
    }  # fmt: skip
    learner, settings = (None, Settings(**asked)) if initial is None else load(initial, entries)
    if initial is not None and (other := [name for name, v in asdict(Settings()).items() if asked[name] != v]):
        raise UsageError(f"--{other[0]}: a model given with -i keeps its own settings")
    entry = find(settings.model, entries)
    detector = None
    if drift is not None:
        from hutch.em.constrained.drift import DriftDetector

        detector = DriftDetector(drift)
    _check_boundaries(settings, classes, drift)
    if shards is not None or ray is not None:
        refused = {"-i": initial, "--passes": passes > 1, "--drift": drift}
        settings, learner, report = _fit_in_shards(data, settings, shards, ray, refused, classes, test)
        if final is not None:
            save(final, learner, settings, {"samples": learner.samples, "shards": shards})
        _print(report, json)
        return
    table = read_rows(data, classes, settings.missing)
    held_out = None if test is None else read_rows(test, classes, settings.missing).rows
    if learner is None:
        learner = create(settings, table.rows[:_START], entry)
    boundaries, before = 0, None if initial is None else last_class(initial)
    for number in range(passes):
        if number:
            before = table.class_name(-1)
        if before is not None and table.class_name(0) not in (None, before):
            learner.boundary()
            boundaries += 1
        boundaries += _learn(learner, table, detector)
    report = {
        "model": settings.model,
        "regularizer": settings.regularizer,
        "rank": settings.rank,
        "dimension": table.rows.shape[1],
        "samples": learner.samples,
        "boundaries": boundaries,
        "log_likelihood": float(learner.log_likelihood(table.rows).mean()),
    }
    if held_out is not None:
        report["test_log_likelihood"] = float(learner.log_likelihood(held_out).mean())
    constraint = getattr(learner, "constraint", None)
    report |= constraint.report() if constraint is not None else {}
    if final is not None:
        save(final, learner, settings, {"samples": learner.samples, "last_class": table.class_name(-1)})
    _print(report, json)


def _print(report: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(dumps(report))
        return
    for name, value in report.items():
        print(f"{name.replace('_', ' '):20s} {f'{value:.6g}' if isinstance(value, float) else value}")


def _fit_in_shards(
    data: Path,
    settings: Settings,
    shards: int | None,
    ray: str | None,
    refused: dict[str, Any],
    classes: str | None,
    test: Path | None,
) -> tuple[Settings, Learner[Any], dict[str, Any]]:
    """Fit to shards of the rows; returns the settings as shards use them, the learner and the report."""
    from hutch.em.sharded import check_settings, em, mean_log_likelihood
    from hutch.jobs.where import engine_for

    if shards is None:
        raise UsageError("--ray: needs --shards N, which sets the number of parts")
    for name, given in refused.items():
        if given:
            raise UsageError(f"{name}: cannot be combined with --shards, where rows have no order")
    settings = check_settings(settings, shards)
    read = {"classes": classes, "missing": settings.missing}
    with engine_for(shards, ray) as engine:
        learner = em([data], settings, shards=shards, classes=classes, engine=engine)
        report: dict[str, Any] = {
            "model": settings.model,
            "regularizer": settings.regularizer,
            "rank": settings.rank,
            "shards": shards,
            "samples": learner.samples,
            "log_likelihood": mean_log_likelihood(learner, [data], engine, **read),
        }
        if test is not None:
            report["test_log_likelihood"] = mean_log_likelihood(learner, [test], engine, **read)
    return settings, learner, report


@app.command()
def transform(
    data: Data,
    initial: Annotated[Path, Option("-i", "--initial-model", metavar="MODEL", help="What `hutch em fit` wrote.")],
    predictions: Annotated[
        Path | None,
        Option("-p", "--predictions", metavar="FILE", help="Write them here, .npy or .csv.", show_default="print CSV"),
    ] = None,
    classes: Classes = None,
    json: Annotated[bool, Option("--json", help="Print one JSON object about it.")] = False,
) -> None:
    """Turn rows into their latent features, the posterior means.

    Example: hutch em transform digits.npz -i digits.model -p latent.npy
    """
    import numpy as np

    from hutch.core.atomic import atomic_write, check_outputs
    from hutch.em.fit import load
    from hutch.em.ppca.model import PPCAParameters
    from hutch.em.ppca.model import transform as latent_means
    from hutch.em.rows import read_rows
    from hutch.em.sharded import installed_models

    if json and predictions is None:
        raise UsageError("--json: prints one object, so the features need a file: -p FILE")
    if predictions is not None and predictions.suffix not in (".npy", ".csv"):
        raise UsageError(f"-p: got a file named *{predictions.suffix}, wanted .npy or .csv")
    check_outputs([predictions], [data, initial])
    learner, settings = load(initial, installed_models())
    parameters = learner.parameters
    if not isinstance(parameters, PPCAParameters):
        raise UsageError(f"{initial}: the model {settings.model!r} has no transform; wanted ppca")
    rows = read_rows(data, classes, settings.missing).rows
    likelihood = float(learner.log_likelihood(rows).mean())
    latent = latent_means(rows, parameters)
    if predictions is None:
        np.savetxt(sys.stdout, latent, "%.9g", ",")
        return
    with atomic_write(predictions) as file:
        if predictions.suffix == ".npy":
            np.save(file, latent)
        else:
            np.savetxt(file, latent, "%.9g", ",")
    if json:
        print(dumps({"samples": len(latent), "rank": settings.rank, "log_likelihood": likelihood}))


def _check_boundaries(settings: Settings, classes: str | None, drift: float | None) -> None:
    if classes is not None and drift is not None:
        raise UsageError("--classes and --drift: got both, wanted one source of boundaries")
    if settings.classes and classes is None and drift is None:
        raise UsageError("--mode class: needs to know where classes end: --classes NAME or --drift THRESHOLD")
    if not settings.classes and drift is not None:
        raise UsageError("--drift: only --mode class uses boundaries")


def _learn(learner: Learner[Any], table: Table, detector: Any) -> int:
    """Make one pass; returns its number of boundaries."""
    from hutch.em.constrained.natural_class import ClassPPCA
    from hutch.em.stream import learn_classes, learn_drifting

    if detector is not None:
        score = learner.current_log_likelihood if isinstance(learner, ClassPPCA) else None
        return len(learn_drifting(learner, table.rows, detector, score=score))
    if table.classes is not None:
        return learn_classes(learner, table.rows, table.classes)
    learner.learn(table.rows)
    return 0
