"""A run of a chain that reports as Vowpal Wabbit does."""

import os
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np

from hutch.chain import Chain
from hutch.cli.run import Outcome, Run, RunOptions, note, open_output
from hutch.cli.vw_lines import LineFiles, audit_line, features_of
from hutch.cli.vw_model_text import write_model_text
from hutch.cli.vw_table import OPTIONS
from hutch.cli.vw_translate import base_overrides, chain_of, letters
from hutch.core.batch import Batch
from hutch.core.batch_cache import CACHE_ENDING
from hutch.core.chain import Outputs
from hutch.core.errors import UsageError
from hutch.core.model_file import load_metadata
from hutch.core.passes import Holdout
from hutch.core.prediction_text import PredictionText, score_lines
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
        predictions=None if options.scores or options.probabilities or options.named_labels else options.predictions,
        raw=options.raw_predictions,
        progress=options.progress or "2.0",
        quiet=options.quiet or options.driver_output_off,
        strict=options.strict_parse,
        cache=_cache(options, data),
        fresh=options.kill_cache,
    )


def _cache(options: Namespace, data: list[str]) -> str | None:
    """Where parsed batches are kept; a stream has no cache."""
    if not (options.cache or options.cache_file) or not all(map(os.path.isfile, data)):
        return None
    return str(options.cache_file[0]) if options.cache_file else f"{data[0]}{CACHE_ENDING}"


class VwRun(Run):
    """A run with VW's header, score files and readable models.

    Args:
        chain: the chain.
        options: of the run.
        given: the command line.
    """

    tells_strange_labels = False  # its report is VW's, to the line

    def __init__(self, chain: Chain, options: RunOptions, given: Namespace) -> None:
        super().__init__(chain, options)
        self._given = given
        self._labels = given.named_labels.split(",") if given.named_labels else []
        self._text, self._audit_text = PredictionText(), ""
        self._row_names: dict[int, str] = {}
        self._log_loss = 0.0
        self._scores = self._scores or given.scores or given.probabilities
        if given.probabilities or self._labels:
            old = self.progress
            self.progress = _ClassProgress(chain, old.schedule, old.views, holdout=bool(options.holdout))
            self.progress.labels, self.progress.sure = self._labels, given.probabilities
        if given.audit or given.invert_hash or self._labels:
            self._read_lines()

    def _read_lines(self) -> None:
        given, parser = self._given, replace(self.chain.parser, strict=self.options.strict)
        readers = self.chain.plugins.registry.readers
        files = LineFiles(self.options.data, parser, readers, lambda problem: self._say(str(problem)))
        files.labels = self._labels
        if given.audit or given.invert_hash:
            files.see = self._see
        self.files = files

    def _see(self, line: str, batch: Batch) -> None:
        """Note the features of an example before it is learned."""
        features = features_of(self.chain, line, batch)
        if self._given.invert_hash and self.progress.pass_number == 1:
            for name, row, _ in features:
                for k in range(self.chain.layers[-1].context.submodels):
                    self._row_names.setdefault(row + k, f"{name}[{k}]" if k else name)
        if self._given.audit:
            self._audit_text = audit_line(self.chain, features)

    def __call__(self) -> Outcome:
        """Run, and write the readable models."""
        outcome = super().__call__()
        given = self._given
        how = {
            "predict_only": given.predict_only_model,
            "weights_only": given.testonly,
            "hexadecimal": given.hexfloat_weights,
        }
        if given.readable_model:
            write_model_text(self.chain, given.readable_model, kept_options(given), **how)
        if given.invert_hash:
            write_model_text(self.chain, given.invert_hash, kept_options(given), names=self._row_names, **how)
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
            f"using cache_file = {options.cache}" if self.files.cached else "",
            f"creating cache_file = {options.cache}" if options.cache and not self.files.cached else "",
            "" if options.cache else "using no cache",
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
        if self._given.probabilities and not self.options.quiet and done.statistics.weighted_labeled:
            note(f"average multiclass log loss = {self._log_loss / done.statistics.weighted_labeled:.6f}")

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
        given = self._given
        if given.audit:
            self._sinks.append(self._show_audit)
        if not given.predictions:
            return
        if given.scores or given.probabilities:
            file = stack.enter_context(open_output(given.predictions))
            self._sinks.append(lambda batch, outputs: self._write_scores(file, batch, outputs))
        elif self._labels:
            file = stack.enter_context(open_output(given.predictions))
            self._sinks.append(lambda batch, outputs: self._write_names(file, batch, outputs))

    def _show_audit(self, batch: Batch, outputs: Outputs) -> None:
        line = bytes(self._text.lines(outputs.predictions, batch.tag_ptr, batch.tags)).decode(errors="replace")
        print(line + self._audit_text)

    def _write_scores(self, file: BinaryIO, batch: Batch, outputs: Outputs) -> None:
        self._log_loss += _log_loss(batch, outputs) if self._given.probabilities else 0.0
        for line in score_lines(outputs.scores, batch.tag_ptr, batch.tags).splitlines(keepends=True):
            file.write(line[1:])

    def _write_names(self, file: BinaryIO, batch: Batch, outputs: Outputs) -> None:
        for i, prediction in enumerate(outputs.predictions):
            tag = batch.tag(i)
            file.write(_class_name(int(prediction), self._labels).encode() + (b" " + tag if tag else b"") + b"\n")


class _ClassProgress(Progress):
    """Shows classes by name, and how sure the chain was as `3(72%)`.

    Attributes:
        labels: names of the classes; empty for numbers.
        sure: the scores are probabilities.
    """

    labels: Sequence[str] = ()
    sure = False

    def row(self, batch: Batch, i: int, outputs: Outputs, statistics: Statistics) -> float:
        """See `Progress.row`."""
        self._highest = float(outputs.scores[i].max()) if self.sure else 0.0
        return super().row(batch, i, outputs, statistics)

    def _label(self, batch: Batch, i: int) -> float | int | str | None:
        label = super()._label(batch, i)
        return _class_name(label, self.labels) if isinstance(label, int) else label

    def _prediction(self, prediction: float) -> Any:
        name = _class_name(int(prediction), self.labels)
        return f"{name}({self._highest * 100:.0f}%)" if self.sure else name


def _class_name(number: int, labels: Sequence[str]) -> str:
    return labels[number - 1] if 0 < number <= len(labels) else str(number)


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
