"""`hutch predict`."""

from typing import Annotated, Any

from hutch.cli.options import takes_vw_options
from hutch.shell.declared import Argument, Option, ray_option
from hutch.shell.options import Format


@takes_vw_options(
    ["initial_regressor", "predictions", "raw_predictions", "progress", "quiet"],
    defaults={"initial_regressor": ..., "predictions": None},
    helps={
        "initial_regressor": "The model.",
        "predictions": "Write predictions to this file; - is standard output, the default.",
    },
)
def predict(
    data: Annotated[
        list[str], Argument(metavar="DATA", help="Files of examples (.gz, .zst and .zip too); - is standard input.")
    ],
    vw: Any,
    probabilities: Annotated[
        bool, Option("--probabilities", help="Write the probability of each label instead of predictions.")
    ] = False,
    interval: Annotated[
        float | None,
        Option(metavar="LEVEL", help="Also write the ends of an interval that holds the label so often, such as 0.9."),
    ] = None,
    top: Annotated[
        int | None,
        Option(
            min=1, metavar="K", help="Write the K best of each group, the lines between two empty ones, best first."
        ),
    ] = None,
    format: Format = None,
    folder: Annotated[
        str | None,
        Option("--into", metavar="DIR", help="Write a Parquet file for each data file, unless it is already there."),
    ] = None,
    shards: Annotated[
        int | None, Option(min=1, metavar="N", help="With --into: predict N files at a time, in processes.")
    ] = None,
    ray: Annotated[str | None, ray_option("With --into: predict")] = None,
    strict: Annotated[bool, Option("--strict", help="Stop at the first malformed input.")] = False,
    json: Annotated[bool, Option("--json", help="Print one JSON object at the end.")] = False,
) -> int:
    """Predict only; the model stays unchanged.

    Predictions are written as VW writes them: one line per example, followed by its tag. With --interval a line is the
    prediction and the two ends.

    Example: hutch predict test.csv -i model -p predictions
    """
    import sys

    from hutch.chain import Chain
    from hutch.core.errors import UsageError
    from hutch.core.run.output import is_stdout
    from hutch.core.run.run import RunOptions
    from hutch.run_files import run_files

    if folder is not None or shards is not None or ray is not None:
        from hutch.distributed.cli import predict_into

        others = {"-p": vw.predictions, "-r": vw.raw_predictions, "--probabilities": probabilities, "--format": format}
        others |= {"--interval": interval, "--top": top}
        predict_into(data, folder, shards, ray, vw, others, strict, json)
        return 0
    predictions, raw = vw.predictions or "-", vw.raw_predictions
    if json and (is_stdout(predictions) or is_stdout(raw)):
        raise UsageError("--json: standard output is taken by predictions; send them to a file with -p FILE")
    options = RunOptions(
        data,
        learn=False,
        predictions=predictions,
        probabilities=probabilities,
        interval=interval,
        top=top,
        raw=raw,
        progress=vw.progress,
        quiet=vw.quiet or (is_stdout(predictions) and sys.stdout.isatty()),
        strict=strict,
        kind=format,
    )
    if probabilities and interval is not None:
        raise UsageError("--interval: got it beside --probabilities, wanted one of them")
    if top is not None and (probabilities or interval is not None):
        raise UsageError("--top: got it beside --probabilities or --interval, wanted one of them")
    options.check()
    chain = Chain.load(vw.initial_regressor)
    if top is not None:
        from hutch.core.run.best import read_groups

        read_groups(chain)
    outcome = run_files(chain, options)
    if json:
        print(outcome.as_json())
    return outcome.exit_code
