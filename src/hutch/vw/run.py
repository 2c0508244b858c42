"""A run of a chain that reports as Vowpal Wabbit does."""

import os
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from hutch.chain import Chain
from hutch.core.chain.capabilities import LearnsFromPasses, SearchesLabels, has
from hutch.core.chain.reduction import Labels, Predictions
from hutch.core.chain.statistics import Statistics
from hutch.core.data.cache import CACHE_ENDING
from hutch.core.errors import UsageError
from hutch.core.run.output import Lines, number_lines, raw_of
from hutch.core.run.passes import Holdout
from hutch.core.run.progress import Cells
from hutch.core.run.reporters import Bar, LinesTo, MalformedData, UnexpectedLabels
from hutch.core.run.run import Notes, Outcome, Reporter, Run, RunOptions
from hutch.core.run.table import Table
from hutch.vw.decision_lines import raw_lines
from hutch.vw.header import header
from hutch.vw.idle import leave_out_idle
from hutch.vw.model_state import set_regularization
from hutch.vw.number_lines import NumberCells, is_of_numbers
from hutch.vw.options.table import NAMED
from hutch.vw.outputs import costs_of, finds_topics, is_bounded, layer_named, prediction_lines, raw_scores_of
from hutch.vw.replaying import REPLAY
from hutch.vw.reporters import (
    Audit,
    ClassBanditCells,
    DecisionLogLoss,
    DirectCells,
    LearnsRest,
    LogLoss,
    Metrics,
    NoCosts,
    ReadableModels,
    Steps,
    VwCells,
)
from hutch.vw.topics import LearnWaiting, TopicCells
from hutch.vw.translate import chain_of


def build_chain(options: Namespace) -> Chain:
    """The chain of a VW command line: that of its model, if it names one.

    Raises:
        HutchError: options that contradict each other or the model.
    """
    leave_out_idle(options)
    if options.feature_mask is not None:
        from hutch.vw.mask import masked_chain

        chain = masked_chain(options)
    elif options.initial_regressor is None:
        chain = Chain.from_config(chain_of(options))
        set_regularization(chain, options)
    else:
        from hutch.vw.load import load_chain

        chain = load_chain(options)
    chain.count_as_vw()
    if options.testonly and (bandit := layer_named(chain, "contextual_bandit")) is not None:
        bandit.judge_by_propensity()  # VW has estimates of costs only where it learns
    return chain


def run_options(options: Namespace) -> RunOptions:
    """The files, passes and reports of the command line."""
    data = [*options.data, *options.files] or ([] if options.no_stdin else ["-"])
    if options.examples is not None and (options.csv or options.json or options.dsjson):
        raise UsageError("--examples: got it with --csv or JSON, wanted text: cut the data with `head`")
    passes, period, after, patience = (
        NAMED[name].default if (value := getattr(options, name)) is None else value
        for name in ("passes", "holdout_period", "holdout_after", "early_terminate")
    )
    holds_out = not options.testonly and not options.holdout_off and (passes > 1 or after > 0)
    return RunOptions(
        data,
        learn=not (options.testonly or options.audit_regressor),
        passes=passes,
        holdout=Holdout(period, after, patience, keeps_last=True) if holds_out else Holdout(),
        model=options.final_regressor,
        each_pass=options.save_per_pass,
        predictions=_place(options.predictions),
        raw=_place(options.raw_predictions),
        progress=options.progress or NAMED["progress"].default,
        quiet=options.quiet or options.driver_output_off or bool(options.audit_regressor),
        strict=options.strict_parse,
        cache=_cache(options, data),
        fresh=options.kill_cache,
    )


_NO_ROWS = "1e300"
"""A distance of rows that no run reaches, as `--progress`."""


def _place(output: str | None) -> str | None:
    """Where predictions go: VW knows standard output by this name."""
    return "-" if output == "stdout" else output


def _cache(options: Namespace, data: list[str]) -> str | None:
    """Where parsed batches are kept; a stream has no cache."""
    if not (options.cache or options.cache_file) or not all(map(os.path.isfile, data)):
        return None
    return str(options.cache_file[0]) if options.cache_file else f"{data[0]}{CACHE_ENDING}"


def run_vw(chain: Chain, options: RunOptions, given: Namespace) -> Outcome:
    """Run a chain over its data, and report as VW does.

    Args:
        chain: it is changed.
        options: of the run.
        given: the command line.
    """
    given.named_labels = given.named_labels or chain.remarks.get("named_labels")
    if given.named_labels:
        chain.remarks["named_labels"] = given.named_labels
    given.top = given.top or int(chain.remarks.get("top", 0)) or None
    if given.top is not None:
        from hutch.core.run.best import read_groups

        read_groups(chain)
        if options.holdout:
            raise UsageError("--top: got held-out examples, of which VW takes whole groups; wanted --holdout_off")
        chain.remarks["top"] = str(given.top)
    if given.predict_only_model:
        chain.remarks["predict_only_model"] = "1"
    labels = given.named_labels.split(",") if given.named_labels else []
    if given.scores and (classes := layer_named(chain, "one_against_all")) is not None:
        classes.state["early"] = 1  # VW judges the scores once it knows the label
    if has(chain.layers[-1], LearnsFromPasses):
        options = replace(options, progress=_NO_ROWS)
    if given.input_feature_regularizer is not None and layer_named(chain, "lbfgs") is not None:
        from hutch.vw.regularizers import read_regularizers

        read_regularizers(chain, given.input_feature_regularizer)
    notes = Notes()
    if options.holdout and chain.takes.of_decisions and not chain.takes.of_lines:
        notes.say("decisions that are held out are learned, too, as in VW; `hutch train` only tests them")
    how: dict[str, Any] = {"passes": options.passes, "cache": options.cache, "fresh": options.fresh, "readers": {}}
    reporters = reporters_of(chain, options, given)
    watchers: list[Any] = [found.line for found in reporters if isinstance(found, Audit)]
    in_json = given.dump_json_weights_include_feature_names_experimental
    names_asked = given.invert_hash or given.audit_regressor or in_json
    watchers += [found.line for found in reporters if isinstance(found, ReadableModels) and names_asked]
    if given.classweight:
        from hutch.vw.lines import class_weights

        watchers.append(class_weights(chain, given.classweight))
    if given.print and not options.quiet:
        from hutch.vw.printing import Print

        watchers.append(Print(chain).line)
    if given.json or given.dsjson:
        from hutch.vw.json.reader import reader_of

        if labels:
            raise UsageError("--named_labels: got it with JSON, wanted text")
        of_json = reader_of(given, chain.parser)
        of_json.watchers += watchers
        how = {"read_text": of_json, "groups_in_lines": True, "readers": {}}  # neither kept nor cached
    else:
        if given.csv:
            from hutch.vw.csv import CsvChunks

            chain.parser = replace(chain.parser, words=True)
            how |= {"chunks": partial(CsvChunks, given), "cache": None}
        if given.examples is not None:
            from hutch.vw.first_lines import FirstLines

            how |= {"chunks": FirstLines(given.examples, len(options.data)), "cache": None}
        if watchers or labels:
            from hutch.vw.lines import LineReader

            reader = LineReader(labels, blocks=chain.takes.of_decisions, costs=chain.takes is Labels.COST_SENSITIVE)
            reader.watchers += watchers
            how |= {"read_text": reader, "passes": 1, "cache": None}  # each line is processed in every pass
    files = chain.files(options.data, lambda problem: notes.say(str(problem)), strict=options.strict, **how)
    cells = cells_of(chain, given)
    views = [chain.plugins.on_progress]
    return Run(chain, files, options, reporters, save=chain.save, notes=notes, views=views, cells=cells)()


def cells_of(chain: Chain, given: Namespace) -> Cells | None:
    """The cells of the table, where they are not plain numbers."""
    labels = given.named_labels.split(",") if given.named_labels else []
    if finds_topics(chain):
        return TopicCells()
    if has(chain.layers[0], SearchesLabels):
        from hutch.vw.label_trees import TreeCells

        return TreeCells(chain)
    if chain.predicts is Predictions.LABELS:
        return None
    if given.direct:
        return DirectCells(chain)
    if chain.takes is Labels.LOGGED_NUMBER:
        return NumberCells(chain)
    if not labels and (not given.probabilities or chain.predicts.of_actions):
        per_class = any(layer.name in ("explore_classes", "offset_tree") for layer in chain.layers)
        return ClassBanditCells(chain) if per_class else None
    unnamed = bool(labels) and (given.scores or given.probabilities)
    return VwCells(chain, labels, sure=given.probabilities, unnamed=unnamed)


def reporters_of(chain: Chain, options: RunOptions, given: Namespace) -> list[Reporter]:
    """The reporters of the command line, in VW's order."""
    return list(_reporters(chain, options, given))


def _reporters(chain: Chain, options: RunOptions, given: Namespace) -> Iterator[Reporter]:
    if (replay := layer_named(chain, REPLAY)) is not None and options.learn:
        yield LearnsRest(replay)
    strengths = given.output_feature_regularizer_text or given.output_feature_regularizer_binary
    if strengths and layer_named(chain, "lbfgs") is not None:
        from hutch.vw.regularizers import WritesRegularizers

        yield WritesRegularizers(chain, given)
    log_loss = None
    if given.probabilities and chain.predicts is not Predictions.LABELS:
        log_loss = DecisionLogLoss(chain) if chain.predicts.of_actions else LogLoss(chain)
    if given.audit:
        yield Audit(chain, learns=options.learn)
    if log_loss:
        yield log_loss
    scores = chain.score_count > 0 and bool(
        options.raw or given.scores or given.probabilities or is_bounded(chain) or is_of_numbers(chain)
    )
    if options.predictions:
        lines = (lambda batch, outputs: b"") if given.audit_regressor else prediction_lines(chain, given)
        yield LinesTo(options.predictions, lines, scores=scores)
    if options.raw:
        yield LinesTo(options.raw, _raw_lines(chain, given), scores=scores)
    if finds_topics(chain):
        yield LearnWaiting(chain.layers[-1])
    if has(chain.layers[-1], LearnsFromPasses):
        yield Steps(chain.layers[-1], quiet=options.quiet)
    if not options.quiet:
        yield Table(
            lambda run: header(chain, run.options, given, run.files.cached),
            counted=lambda seen: _counted(chain, seen),
            more=log_loss.footer if log_loss else lambda run, done: (),
            best_constant=not given.dont_output_best_constant,
            table_used=False,
        )
        yield Bar()
    if has(chain.layers[0], SearchesLabels):
        from hutch.vw.label_trees import TreeMeasures

        yield TreeMeasures(chain)
    yield MalformedData()
    yield UnexpectedLabels(chain)
    if given.extra_metrics is not None:
        yield Metrics(chain, given.extra_metrics)
    if chain.takes is Labels.ACTION_COSTS:
        yield NoCosts()
    if given.dump_json_weights_experimental:
        from hutch.vw.json_weights import JsonWeights

        yield JsonWeights(chain, given)
    if given.readable_model or given.invert_hash or given.audit_regressor:
        yield ReadableModels(chain, given)


def _counted(chain: Chain, seen: Statistics) -> Statistics:
    """VW sums no labels that are classes, and counts queries only of a simulation."""
    active = layer_named(chain, "active")
    if chain.takes is Labels.LOGGED_NUMBER:
        seen = replace(seen, weighted_labels=seen.weighted_examples + seen.weighted_holdout)
    elif chain.takes.value != "simple":
        seen = replace(seen, weighted_labels=0.0)
    return seen if active is None or active.simulation else replace(seen, queries=0)


def _raw_lines(chain: Chain, given: Namespace) -> Lines:
    if chain.layers[0].name in ("action_probabilities", "cost_sensitive_with_features"):
        probable = chain.predicts is Predictions.ACTION_PROBABILITIES
        return lambda batch, outputs: raw_lines(batch, outputs.raw if probable else outputs.predictions)
    if chain.predicts.value == "scalar":
        return number_lines(raw_of)
    several = chain.predicts.of_actions or chain.predicts is Predictions.LABELS or is_of_numbers(chain)
    if finds_topics(chain) or given.scores or given.probabilities or several or not chain.score_count:
        return lambda batch, outputs: b""
    return (costs_of if chain.takes.value == "cost_sensitive" else raw_scores_of)(chain)
