"""A run of a chain that reports as Vowpal Wabbit does."""

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from hutch.chain import Chain
from hutch.cli.run import Outcome, Run, RunOptions
from hutch.cli.vw_model_text import write_model_text
from hutch.cli.vw_table import OPTIONS
from hutch.cli.vw_translate import base_overrides, chain_of, letters
from hutch.core.batch import Batch
from hutch.core.chain import Outputs
from hutch.core.errors import UsageError
from hutch.core.model_file import load_metadata
from hutch.core.passes import Holdout
from hutch.core.prediction_text import score_lines
from hutch.core.progress import TABLE_HEADER, Progress
from hutch.core.statistics import Statistics

_KEPT = ("bit_precision", "quadratic", "cubic", "interactions", "noconstant", "link", "binary", "oaa", "ect", "error")
_LEARNERS = {
    "one_against_all": "oaa",
    "error_correcting_tournament": "ect",
    "cost_sensitive_one_against_all": "csoaa",
    "low_rank_quadratic": "lrq",
    "active": "active-simulation",
    "linear": "gd",
}


def build_chain(options: Namespace) -> Chain:
    """The chain of a VW command line: that of its model, if it names one.

    Raises:
        HutchError: options that contradict each other or the model.
    """
    if options.initial_regressor is None:
        return Chain.from_config(chain_of(options))
    chain = load_metadata(options.initial_regressor)["chain"]
    bits = chain["weights"]["bits"]
    if options.bit_precision not in (None, bits):
        raise UsageError(f"-b: got {options.bit_precision}, but the model has {bits}")
    return Chain.load(options.initial_regressor, base_overrides(options, chain))


def run_options(options: Namespace) -> RunOptions:
    """What the command line says about files, passes and reports.

    Raises:
        UsageError: no data.
    """
    data = [*options.data, *options.files] or ([] if options.no_stdin else ["-"])
    if not data:
        raise UsageError("got no data, wanted -d FILE")
    passes = 1 if options.passes is None else options.passes
    if passes < 1:
        raise UsageError(f"--passes: got {passes}, wanted at least 1")
    after = options.holdout_after or 0
    holds_out = not options.testonly and not options.holdout_off and (passes > 1 or after > 0)
    period = 10 if options.holdout_period is None else options.holdout_period
    patience = 3 if options.early_terminate is None else options.early_terminate
    return RunOptions(
        data,
        learn=not options.testonly,
        passes=passes,
        holdout=Holdout(period, after, patience) if holds_out else Holdout(),
        model=options.final_regressor,
        predictions=None if options.scores or options.probabilities else options.predictions,
        raw=options.raw_predictions,
        progress=options.progress or "2.0",
        quiet=options.quiet or options.driver_output_off,
        strict=options.strict_parse,
    )


class VwRun(Run):
    """A run with VW's header, score files and readable models.

    Args:
        chain: the chain.
        options: of the run.
        given: the command line.
    """

    def __init__(self, chain: Chain, options: RunOptions, given: Namespace) -> None:
        super().__init__(chain, options)
        self._given = given
        self._log_loss = 0.0
        if given.scores or given.probabilities:
            self._scores = True
        if given.probabilities:
            old = self.progress
            self.progress = _ProbabilityProgress(chain, old.schedule, old.views, holdout=bool(options.holdout))

    def __call__(self) -> Outcome:
        """Run, and write the readable model."""
        outcome = super().__call__()
        given = self._given
        how = {
            "predict_only": given.predict_only_model,
            "weights_only": given.testonly,
            "hexadecimal": given.hexfloat_weights,
        }
        if given.readable_model:
            write_model_text(self.chain, given.readable_model, kept_options(given), **how)
        return outcome

    def _header(self) -> str:
        given, chain, options = self._given, self.chain, self.options
        base = chain.layers[-1].parameters
        lines = [
            "" if options.learn else "only testing",
            *_feature_lines(given),
            f"final_regressor = {options.model}" if options.model else "",
            f"predictions = {given.predictions}" if given.predictions else "",
            f"raw predictions = {options.raw}" if options.raw else "",
            *_low_rank_lines(given),
            "using no cache",
            *(f"Reading datafile = {source}" for source in options.data),
            f"num sources = {len(options.data)}",
            f"Num weight bits = {chain.config.weights.bits}",
            f"learning rate = {base.learning_rate:g}",
            f"initial_t = {float(chain.shared[0]['time']):g}",
            f"power_t = {base.power_t:g}",
            f"decay_learning_rate = {base.decay:g}" if options.passes > 1 else "",
            f"Enabled learners: {', '.join(self._learners())}",
            f"Input label = {'CS' if given.csoaa else chain.takes.value.upper()}",
            f"Output pred = {self._output_kind()}",
            TABLE_HEADER,
        ]
        return "\n".join(line for line in lines if line)

    def _report(self, outcome: Outcome) -> None:
        """The footer; VW sums no labels that are classes."""
        done = outcome.done
        if self.chain.takes.value != "simple":
            done = replace(done, statistics=replace(done.statistics, weighted_labels=0.0))
        super()._report(replace(outcome, done=done))

    def _output_kind(self) -> str:
        if self._given.scores or self._given.probabilities:
            return "SCALARS"
        return "MULTICLASS" if self.chain.predicts.value == "class" else "SCALAR"

    def _learners(self) -> Iterator[str]:
        """From bottom to top, by VW's names; what VW calls the scorer stands above an active layer."""
        names = [layer.name for layer in reversed(self.chain.layers)]
        given = self._given
        scorer = f"scorer-{given.link or 'identity'}"
        for name in names:
            if name == "link" or name not in _LEARNERS:
                continue
            suffix = ""
            if name == "one_against_all":
                suffix = "-prob" if given.probabilities else "-scores" if given.scores else ""
                suffix = suffix or ("-raw" if given.raw_predictions else "")
            if name in ("one_against_all", "error_correcting_tournament", "cost_sensitive_one_against_all"):
                yield scorer
            yield _LEARNERS[name] + suffix
        if self.chain.takes.value == "simple":
            yield scorer
            if given.binary:
                yield "binary"
            yield "count_label"

    def _open_outputs(self, stack: Any) -> None:
        super()._open_outputs(stack)
        if self._given.predictions and (self._given.scores or self._given.probabilities):
            from hutch.cli.run import _output

            file = stack.enter_context(_output(self._given.predictions))

            def write(batch: Batch, outputs: Outputs) -> None:
                self._log_loss += _log_loss(batch, outputs) if self._given.probabilities else 0.0
                for line in score_lines(outputs.scores, batch.tag_ptr, batch.tags).splitlines(keepends=True):
                    file.write(line[1:])

            self._sinks.append(write)


class _ProbabilityProgress(Progress):
    """Shows how sure the chain was, as `3(72%)`."""

    def row(self, batch: Batch, i: int, outputs: Outputs, statistics: Statistics) -> float:
        """See `Progress.row`."""
        self._highest = float(outputs.scores[i].max())
        return super().row(batch, i, outputs, statistics)

    def _prediction(self, prediction: float) -> Any:
        return f"{prediction:.0f}({self._highest * 100:.0f}%)"


def _log_loss(batch: Batch, outputs: Outputs) -> float:
    """Sum of importance times -log of the probability of the right class; 999 where that is 0."""
    classes = batch.labels.astype(np.int64) - 1
    known = (classes >= 0) & (classes < outputs.scores.shape[1])
    chance = outputs.scores[known, classes[known]].astype(np.float64)
    losses = np.where(chance > 0, -np.log(np.maximum(chance, 1e-300)) * batch.importance[known], 999.0)
    return float(losses.sum())


def _feature_lines(given: Namespace) -> Iterator[str]:
    """What the header says of interactions and namespaces."""
    if given.quadratic:
        yield f"creating quadratic features for pairs: {' '.join(given.quadratic)}"
    if given.cubic:
        yield f"creating cubic features for triples: {' '.join(given.cubic)}"
    if given.interactions:
        yield f"creating features for following interactions: {' '.join(given.interactions)}"
    if given.ignore:
        yield f"ignoring namespaces beginning with: {' '.join(letters(given.ignore))}"
    if given.ignore_linear:
        yield f"ignoring linear terms for namespaces beginning with: {' '.join(letters(given.ignore_linear))}"
    if given.keep:
        yield f"using namespaces beginning with: {' '.join(letters(given.keep))}"


def _low_rank_lines(given: Namespace) -> Iterator[str]:
    if given.lrq:
        dropout = "(using dropout) " if given.lrqdropout else ""
        pairs = "".join(f"{pair} " for pair in sorted(set(given.lrq)))
        yield f"creating low rank quadratic features for pairs: {dropout}{pairs}"


def kept_options(given: Namespace) -> str:
    """The options that VW writes into a model."""
    words = []
    for option in OPTIONS:
        value = getattr(given, option.name, None)
        if option.name in _KEPT and value and option.name != "bit_precision":
            values = value if isinstance(value, list) else [value]
            words += [f"--{option.name}" if v is True else f"--{option.name} {v}" for v in values]
    return " ".join(words)
