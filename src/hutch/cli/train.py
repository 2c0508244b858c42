"""`hutch train`."""

from typing import Annotated, Any

from hutch.cli.options import takes_vw_options
from hutch.shell.declared import Argument, Option, ray_option
from hutch.shell.options import Format, Overrides
from hutch.vw.options.table import LEARNER_OPTIONS

_RUN = (
    "initial_regressor",
    "final_regressor",
    "predictions",
    "raw_predictions",
    "testonly",
    "passes",
    "holdout_off",
    "holdout_period",
    "holdout_after",
    "early_terminate",
    "progress",
    "quiet",
)


@takes_vw_options([*_RUN, *(option.name for option in LEARNER_OPTIONS)])
def train(
    data: Annotated[
        list[str], Argument(metavar="DATA", help="Files of examples (.gz, .zst and .zip too); - is standard input.")
    ],
    vw: Any,
    config: Annotated[
        str | None, Option("-C", "--config", metavar="FILE", help="The chain; without it one linear layer.")
    ] = None,
    overrides: Overrides = None,
    label: Annotated[
        str | None,
        Option(
            "--label",
            metavar="COLUMN",
            help="The column of a table that holds the labels.",
            rich_help_panel="Data and passes",
        ),
    ] = None,
    classes: Annotated[
        str | None,
        Option(
            metavar="A,B,...",
            help="The labels of a table are these words. Without -C the chain is one_against_all above logistic loss.",
            rich_help_panel="Data and passes",
        ),
    ] = None,
    format: Format = None,
    events: Annotated[
        str | None, Option("--events", metavar="FILE", help="Write progress as JSON lines; - is standard output.")
    ] = None,
    cache: Annotated[
        bool,
        Option(
            "--cache",
            help="Cache the parsed data in DATA.hutch-cache, and reuse it until the data changes.",
            rich_help_panel="Data and passes",
        ),
    ] = False,
    shards: Annotated[
        int | None,
        Option(
            min=2,
            metavar="N",
            help="Learn from N shards of the data in each pass, and merge what they learn.",
            rich_help_panel="Shards",
        ),
    ] = None,
    by: Annotated[
        str | None,
        Option(
            metavar="A[,B]",
            help="With --shards: examples with the same feature in namespace A share a shard; blocks of A, B.",
            rich_help_panel="Shards",
        ),
    ] = None,
    ray: Annotated[str | None, ray_option("Let the shards learn")] = None,
    strict: Annotated[bool, Option("--strict", help="Stop at the first malformed input.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object at the end.")] = False,
) -> int:
    """Learn from data, example by example.

    Without -C the chain is one linear layer; for a table, `fields` in its place if pairs of columns foretell clearly
    more. VW's options change the chain's base learner and input. Without -C, -q, --cubic, --interactions, --ignore and
    --keep name namespaces by their first letter, as in VW; with -C, as the chain says.

    Example: hutch train ratings.vw -C chain.yaml --set dyadic.rank=2 -f model

    Example: hutch train mail.csv --label kind --classes ham,spam -f model
    """
    from hutch.core.data.cache import CACHE_ENDING
    from hutch.core.errors import UsageError
    from hutch.core.run.output import is_stdout
    from hutch.core.run.passes import Holdout
    from hutch.core.run.run import RunOptions
    from hutch.run_files import run_files

    if as_json and any(map(is_stdout, (vw.predictions, vw.raw_predictions, events))):
        raise UsageError("--json: standard output is taken by -p, -r or --events; send them to files")
    holds_out = not vw.testonly and not vw.holdout_off and (vw.passes > 1 or vw.holdout_after > 0)
    options = RunOptions(
        data,
        learn=not vw.testonly,
        passes=vw.passes,
        holdout=Holdout(vw.holdout_period, vw.holdout_after, vw.early_terminate) if holds_out else Holdout(),
        model=vw.final_regressor,
        predictions=vw.predictions,
        raw=vw.raw_predictions,
        events=events,
        progress=vw.progress,
        quiet=vw.quiet,
        strict=strict,
        kind=format,
        cache=f"{data[0]}{CACHE_ENDING}" if cache else None,
        needs_labels=True,
    )
    options.check()
    names = [name.strip() for name in classes.split(",")] if classes is not None else []
    overrides = [*_labels_of(data, format, label, names), *(overrides or [])]
    if shards is not None or by or ray:
        from hutch.distributed.cli import train_in_shards

        if format:
            raise UsageError("--format: got it with shards, wanted files with this ending")
        train_in_shards(_chain(config, overrides, vw, len(names)), options, shards, by, ray, vw, as_json)
        return 0
    chain = _chain(config, overrides, vw, len(names))
    if config is None and vw.initial_regressor is None and options.learn:
        chain = _with_pairs(chain, options)
    outcome = run_files(chain, options)
    if as_json:
        print(outcome.as_json())
    return outcome.exit_code


def _labels_of(data: list[str], kind: str | None, label: str | None, classes: list[str]) -> list[str]:
    """The `path=value` overrides for the labels of tables."""
    from json import dumps

    from hutch.core.data.files import TABLES, ending_of
    from hutch.core.errors import UsageError

    given = {"label": label, "classes": classes or None}
    found = {name: value for name, value in given.items() if value is not None}
    lines = [
        source for source in data if (f".{kind.lower().removeprefix('.')}" if kind else ending_of(source)) not in TABLES
    ]
    if found and lines:
        wanted = f"wanted a table: a name that ends in {', '.join(TABLES)}, or --format csv"
        raise UsageError(f"--{next(iter(found))}: got it with {lines[0]}, {wanted}")
    return [f"input.columns.{name}={dumps(value)}" for name, value in found.items()]


def _chain(config: str | None, overrides: list[str], vw: Any, classes: int) -> Any:
    """The chain that the command line describes, for labels that are so many classes if there are any."""
    from hutch.chain import Chain
    from hutch.vw.learner_options import vw_chain, vw_overrides, warn_of_no_effect

    initial = vw.initial_regressor
    if initial is None:
        source: Any = vw_chain(vw) if config is None else config
        if classes and config is None:
            loss = {} if vw.loss_function else {"loss": "logistic"}
            source["chain"] = [{"one_against_all": {"classes": classes}}, {"linear": loss}]
        return Chain.from_config(source, [*vw_overrides(vw, source), *overrides])
    warn_of_no_effect(vw, initial)
    if config is None:
        from hutch.core.chain.model_of_chain import load_chain

        return Chain.load(initial, [*vw_overrides(vw, load_chain(initial)), *overrides])
    return _continued(config, initial, [*vw_overrides(vw, config), *overrides])


def _with_pairs(chain: Any, options: Any) -> Any:
    """A chain that learns pairs of columns, where the data are tables that want it; else the one given."""
    import sys

    from hutch.table_pairs import with_or_without_pairs

    chain, said = with_or_without_pairs(chain, options.data, options.kind)
    if said and not options.quiet:
        print(said, file=sys.stderr)
    return chain


def _continued(config: str, initial: str, overrides: list[str]) -> Any:
    """The weights of a model under a chain that may differ in parameters, but not in the meaning of the weights."""
    from hutch.chain import Chain
    from hutch.core.chain.model_of_chain import load_chain_model
    from hutch.core.config.override import layer_name
    from hutch.core.config.read import blocked_plugins, read_chain, validate
    from hutch.core.errors import UsageError
    from hutch.other_explorers import with_explorers
    from hutch.plugins.manager import installed

    document = read_chain(config, overrides)
    chain = validate(document, installed(blocked_plugins(document)).registry).to_dict()
    arrays, metadata = load_chain_model(initial)

    def meaning(of: Any) -> dict[str, Any]:
        return {"weights": of["weights"], "input": of["input"], "chain": [*map(layer_name, of["chain"])]}

    saved = meaning(metadata["chain"])
    if saved["chain"] != meaning(chain)["chain"] and (moved := with_explorers(arrays, metadata, chain)):
        arrays, metadata = moved
        saved = meaning(metadata["chain"])
    for key, value in meaning(chain).items():
        if value != saved[key]:
            raise UsageError(f"-C: {config} has {key} {value}, but the model {initial} has {saved[key]}")
    return Chain.from_arrays(arrays, metadata, initial, config=chain)
