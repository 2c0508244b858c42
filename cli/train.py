"""`hutch train`."""

from typing import Annotated, Any

import typer


def train(
    data: Annotated[
        list[str], typer.Argument(metavar="DATA...", help="Files of examples (.gz and .zst too); - is standard input.")
    ],
    config: Annotated[
        str | None, typer.Option("-C", "--config", metavar="FILE", help="The chain; without it one linear layer.")
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="PATH=VALUE", help="Change the chain: weights.bits=20, dyadic.rank=3. Repeatable."
        ),
    ] = None,
    initial: Annotated[
        str | None, typer.Option("-i", "--initial_regressor", metavar="MODEL", help="Go on from this model.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("-f", "--final_regressor", metavar="MODEL", help="Save the model here.")
    ] = None,
    predictions: Annotated[
        str | None,
        typer.Option("-p", "--predictions", metavar="FILE", help="Predictions made before learning; - is stdout."),
    ] = None,
    raw: Annotated[
        str | None,
        typer.Option("-r", "--raw_predictions", metavar="FILE", help="Raw predictions: scores of all classes."),
    ] = None,
    testonly: Annotated[bool, typer.Option("-t", "--testonly", help="Only predict.")] = False,
    passes: Annotated[int, typer.Option("--passes", min=1, metavar="N", help="Passes over the data.")] = 1,
    holdout_off: Annotated[bool, typer.Option("--holdout_off", help="With several passes, train on all.")] = False,
    holdout_period: Annotated[
        int, typer.Option("--holdout_period", min=1, metavar="N", help="With several passes, only test every Nth.")
    ] = 10,
    holdout_after: Annotated[
        int, typer.Option("--holdout_after", min=0, metavar="N", help="Only test all after N.")
    ] = 0,
    early_terminate: Annotated[
        int, typer.Option("--early_terminate", min=1, metavar="N", help="Stop after N passes without improvement.")
    ] = 3,
    progress: Annotated[
        str, typer.Option("-P", "--progress", metavar="N", help="Rows of the table: 1000 a distance, 2.0 a factor.")
    ] = "2.0",
    events: Annotated[
        str | None, typer.Option("--events", metavar="FILE", help="Progress as lines of JSON; - is stdout.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No table.")] = False,
    cache: Annotated[
        bool, typer.Option("--cache", help="Keep the parsed data in DATA.hutch-cache, and use it while it fits.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first malformed place.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object at the end.")] = False,
    bits: Annotated[int | None, typer.Option("-b", "--bit_precision", metavar="N", help="2^N rows of weights.")] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option(
            "-l", "--learning_rate", metavar="X", help="Of the base learner, as all down to --max_prediction."
        ),
    ] = None,
    loss: Annotated[
        str | None, typer.Option("--loss_function", metavar="NAME", help="Such as logistic, hinge, squared.")
    ] = None,
    quantile_tau: Annotated[float | None, typer.Option("--quantile_tau", metavar="X", help="Which quantile.")] = None,
    power_t: Annotated[float | None, typer.Option("--power_t", metavar="X", help="How rates fall.")] = None,
    initial_t: Annotated[
        float | None, typer.Option("--initial_t", metavar="X", help="Importance taken as seen.")
    ] = None,
    decay: Annotated[
        float | None, typer.Option("--decay_learning_rate", metavar="X", help="Multiplies the rate after each pass.")
    ] = None,
    l1: Annotated[float | None, typer.Option("--l1", metavar="X", help="Pulls weights to zero.")] = None,
    l2: Annotated[float | None, typer.Option("--l2", metavar="X", help="Shrinks weights.")] = None,
    min_prediction: Annotated[
        float | None, typer.Option("--min_prediction", metavar="X", help="Clips predictions.")
    ] = None,
    max_prediction: Annotated[
        float | None, typer.Option("--max_prediction", metavar="X", help="Clips predictions.")
    ] = None,
    quadratic: Annotated[
        list[str] | None, typer.Option("-q", "--quadratic", metavar="AB", help="Pairs of namespaces, by letter.")
    ] = None,
    cubic: Annotated[
        list[str] | None, typer.Option("--cubic", metavar="ABC", help="Triples of namespaces, by letter.")
    ] = None,
    interactions: Annotated[
        list[str] | None, typer.Option("--interactions", metavar="AB...", help="Any such, by letter.")
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option("--ignore", metavar="A", help="Namespaces to leave out.")] = None,
    keep: Annotated[list[str] | None, typer.Option("--keep", metavar="A", help="The only namespaces to use.")] = None,
    noconstant: Annotated[bool, typer.Option("--noconstant", help="No constant feature.")] = False,
    hash_mode: Annotated[
        str | None,
        typer.Option("--hash", metavar="strings|all", help="Names that are numbers: their own index, or hashed."),
    ] = None,
    hash_seed: Annotated[int | None, typer.Option("--hash_seed", metavar="N", help="Of the feature hash.")] = None,
    random_seed: Annotated[
        int | None, typer.Option("--random_seed", metavar="N", help="Of every random decision.")
    ] = None,
) -> None:
    """Learn from data, example by example.

    Without -C the chain is one linear layer. VW's options change the chain's base learner and input. Without -C, -q,
    --cubic, --interactions, --ignore and --keep name namespaces by their first letter, as in VW; with -C namespaces are
    what the chain says.

    Example: hutch train ratings.vw -C chain.yaml --set dyadic.rank=2 -f model
    """
    from hutch.cli.files import run_files
    from hutch.core.data.cache import CACHE_ENDING
    from hutch.core.errors import UsageError
    from hutch.core.run.output import is_stdout
    from hutch.core.run.passes import Holdout
    from hutch.core.run.run import RunOptions

    if as_json and any(map(is_stdout, (predictions, raw, events))):
        raise UsageError("--json: standard output is taken by -p, -r or --events; send them to files")
    for option, terms, length in (("-q", quadratic, 2), ("--cubic", cubic, 3)):
        for term in terms or ():
            if len(term) != length:
                raise UsageError(f"{option}: got {term!r}, wanted {length} letters")
    vw = {
        **{"bits": bits, "learning_rate": learning_rate, "loss": loss, "quantile_tau": quantile_tau},
        **{"power_t": power_t, "initial_t": initial_t, "decay": decay, "l1": l1, "l2": l2},
        **{"min_prediction": min_prediction, "max_prediction": max_prediction},
        **{"interactions": [*(quadratic or ()), *(cubic or ()), *(interactions or ())]},
        **{"ignore": ignore, "keep": keep, "constant": False if noconstant else None},
        **{"hash": hash_mode, "hash_seed": hash_seed, "random_seed": random_seed},
    }
    holds_out = not testonly and not holdout_off and (passes > 1 or holdout_after > 0)
    options = RunOptions(
        data,
        learn=not testonly,
        passes=passes,
        holdout=Holdout(holdout_period, holdout_after, early_terminate) if holds_out else Holdout(),
        model=model,
        predictions=predictions,
        raw=raw,
        events=events,
        progress=progress,
        quiet=quiet,
        strict=strict,
        cache=f"{data[0]}{CACHE_ENDING}" if cache else None,
    )
    options.check()
    outcome = run_files(_chain(config, initial, overrides or [], vw), options)
    if as_json:
        print(outcome.as_json())
    raise typer.Exit(outcome.exit_code)


def _chain(config: str | None, initial: str | None, overrides: list[str], vw: dict[str, Any]) -> Any:
    """The chain that the command line describes."""
    from hutch.chain import Chain
    from hutch.core.chain.model_file import load_metadata
    from hutch.vw.options import vw_chain, vw_overrides

    if initial is None:
        source: Any = vw_chain(vw) if config is None else config
        return Chain.from_config(source, [*vw_overrides(vw, source), *overrides])
    if config is None:
        return Chain.load(initial, [*vw_overrides(vw, load_metadata(initial)["chain"]), *overrides])
    return _continued(config, initial, [*vw_overrides(vw, config), *overrides])


def _continued(config: str, initial: str, overrides: list[str]) -> Any:
    """The weights of a model under a chain that may differ in parameters, but not in what the weights stand for."""
    from hutch.chain import Chain
    from hutch.core.chain.model_file import load_model
    from hutch.core.config.read import blocked_plugins, read_chain, validate
    from hutch.core.errors import UsageError
    from hutch.plugins.manager import installed

    document = read_chain(config, overrides)
    chain = validate(document, installed(blocked_plugins(document)).registry).to_dict()
    arrays, metadata = load_model(initial)

    def meaning(of: Any) -> dict[str, Any]:
        layers = [layer if isinstance(layer, str) else next(iter(layer)) for layer in of["chain"]]
        return {"weights": of["weights"], "input": of["input"], "chain": layers}

    saved = meaning(metadata["chain"])
    for key, value in meaning(chain).items():
        if value != saved[key]:
            raise UsageError(f"-C: {config} has {key} {value}, but the model {initial} has {saved[key]}")
    return Chain.from_arrays(arrays, metadata, initial, config=chain)
