"""`hutch train --shards` and `hutch predict --into`: work in parts, in processes or on a cluster."""

import math
import sys
import time
from typing import Any

from hutch.chain import Chain
from hutch.core.data.places import expanded
from hutch.core.errors import UsageError
from hutch.core.run.run import RunOptions
from hutch.core.strict_json import dumps
from hutch.distributed.predictions import Result, predict
from hutch.distributed.rounds import Round, train
from hutch.jobs.where import engine_for


def train_in_shards(
    chain: Chain, options: RunOptions, shards: int | None, by: str | None, ray: str | None, vw: Any, as_json: bool
) -> None:
    """Learn from shards of the data, and report on each pass; the model is saved after each.

    Args:
        chain: it is changed.
        options: inputs and outputs.
        shards, by, ray: as on the command line.
        vw: options of VW that define the holdout.
        as_json: print one object at the end.

    Raises:
        UsageError: options that cannot be combined.
    """
    if shards is None:
        raise UsageError(f"{'--by' if by else '--ray'}: needs --shards N, which sets the number of parts")
    refused: dict[str, Any] = {"-p": options.predictions, "-r": options.raw, "--events": options.events}
    refused |= {"--cache": options.cache, "-t": not options.learn, "--holdout_after": vw.holdout_after}
    for name, given in refused.items():
        if given:
            raise UsageError(f"{name}: cannot be combined with --shards: no process sees all examples in order")
    begun = time.perf_counter()
    rounds: list[Round] = []

    def tell(text: str) -> None:
        if not options.quiet:
            print(text, file=sys.stderr)

    def see(chain: Chain, done: Round) -> None:
        if not rounds:
            tell(f"{'pass':>4} {'examples':>12} {'loss in shards':>15} {'held out':>10} {'step':>6}")
        row = f"{done.number:>4} {done.examples:>12} {done.average_loss:>15.6f}"
        held_out = "" if math.isnan(done.holdout_loss) else f"{done.holdout_loss:.6f}"
        tell(f"{row} {held_out:>10} {done.step:>6g}")
        rounds.append(done)
        if options.model:
            chain.save(options.model)

    with engine_for(shards, ray) as engine:
        train(
            options.data,
            chain,
            shards=shards,
            by=tuple(name for name in (by or "").split(",") if name),
            passes=options.passes,
            holdout=0 if vw.holdout_off else vw.holdout_period,
            patience=vw.early_terminate,
            engine=engine,
            strict=options.strict,
            on_round=see,
            on_problem=lambda text: print(text, file=sys.stderr),
        )
    if options.model:
        chain.save(options.model)
    losses = [done.holdout_loss for done in rounds if not math.isnan(done.holdout_loss)]
    loss, where = (min(losses), "held out") if losses else (rounds[-1].average_loss, "in shards, in the last pass")
    tell(f"\nshards {shards}\npasses {len(rounds)}\naverage loss {loss:.6f} ({where})")
    if as_json:
        found = {"examples": sum(done.examples for done in rounds), "average_loss": loss}
        found |= {"seconds": time.perf_counter() - begun, "passes": len(rounds), "shards": shards}
        print(dumps(found | {"steps": [done.step for done in rounds]}))


def predict_into(
    data: list[str],
    folder: str | None,
    shards: int | None,
    ray: str | None,
    vw: Any,
    others: dict[str, Any],
    strict: bool,
    as_json: bool,
) -> None:
    """Predict many files, each into a separate file.

    Args:
        data, folder, shards, ray, strict, as_json: as on the command line.
        vw: options of VW.
        others: options that cannot be combined with many files, by name.

    Raises:
        UsageError: options that cannot be combined.
    """
    if folder is None:
        raise UsageError(f"{'--ray' if ray else '--shards'}: needs --into DIR, which says where the predictions go")
    for name, given in others.items():
        if given:
            raise UsageError(f"{name}: cannot be combined with --into, which writes many files")

    def see(result: Result) -> None:
        for text in result.problems:
            print(text, file=sys.stderr)
        if not vw.quiet:
            before = " (done before)" if result.done_before else ""
            print(f"{result.path}: {result.examples} examples{before}", file=sys.stderr)

    with engine_for(shards or len(expanded(data)), ray) as engine:
        results = predict(data, vw.initial_regressor, folder, engine=engine, strict=strict, on_result=see)
    if as_json:
        made = sum(not result.done_before for result in results)
        print(dumps({"examples": sum(result.examples for result in results), "files": len(results), "made": made}))
