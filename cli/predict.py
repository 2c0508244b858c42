"""`hutch predict`."""

from typing import Annotated

import typer

MODEL_IN = typer.Option("-i", "--initial_regressor", help="The model.", metavar="MODEL")


def predict(
    data: Annotated[
        list[str], typer.Argument(metavar="DATA...", help="Files of examples (.gz and .zst too); - is standard input.")
    ],
    model: Annotated[str, MODEL_IN],
    predictions: Annotated[
        str, typer.Option("-p", "--predictions", metavar="FILE", help="Where predictions go; - is standard output.")
    ] = "-",
    raw: Annotated[
        str | None,
        typer.Option(
            "-r", "--raw_predictions", metavar="FILE", help="Where raw predictions go: scores of all classes."
        ),
    ] = None,
    progress: Annotated[
        str, typer.Option("-P", "--progress", metavar="N", help="Rows of the table: 1000 a distance, 2.0 a factor.")
    ] = "2.0",
    quiet: Annotated[bool, typer.Option("--quiet", help="No table.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first malformed place.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object at the end.")] = False,
) -> None:
    """Predict only; the model stays as it is.

    Predictions are written as VW does, one line an example, the tag after it.

    Example: hutch predict test.vw -i model -p predictions.txt
    """
    import sys

    from hutch.chain import Chain
    from hutch.cli.files import run_files
    from hutch.core.errors import UsageError
    from hutch.core.run.output import is_stdout
    from hutch.core.run.run import RunOptions

    if json and (is_stdout(predictions) or is_stdout(raw)):
        raise UsageError("--json: standard output is taken by predictions; send them to a file with -p FILE")
    options = RunOptions(
        data,
        learn=False,
        predictions=predictions,
        raw=raw,
        progress=progress,
        quiet=quiet or (is_stdout(predictions) and sys.stdout.isatty()),
        strict=strict,
    )
    options.check()
    outcome = run_files(Chain.load(model), options)
    if json:
        print(outcome.as_json())
    raise typer.Exit(outcome.exit_code)
