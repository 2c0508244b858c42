"""A run of a chain that reports as Vowpal Wabbit does."""

import os
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from hutch.chain import Chain
from hutch.cli.run import Outcome, Run, RunOptions, open_output
from hutch.core.batch import Batch
from hutch.core.chain.engine import Outputs
from hutch.core.chain.statistics import Statistics
from hutch.core.data.cache import CACHE_ENDING
from hutch.core.errors import UsageError
from hutch.core.kernel.abi import UNLABELED
from hutch.core.run.best_constant import BestConstant
from hutch.core.run.passes import Holdout, PassesDone
from hutch.core.run.progress import Progress
from hutch.vw import decision_lines
from hutch.vw.header import header, kept_options
from hutch.vw.outputs import (
    FirstClass,
    Lines,
    answered_directly,
    class_name,
    costs_of,
    layer_named,
    names_of,
    numbers_of,
    raw_scores_of,
    requests,
    scores_of,
)
from hutch.vw.translate import chain_of


def build_chain(options: Namespace) -> Chain:
    """The chain of a VW command line: that of its model, if it names one.

    Raises:
        HutchError: options that contradict each other or the model.
    """
    if options.initial_regressor is None:
        return Chain.from_config(chain_of(options))
    from hutch.vw.load import load_chain

    return load_chain(options)


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
        holdout=Holdout(period, after, patience, keeps_last=True) if holds_out else Holdout(),
        model=options.final_regressor,
        predictions=options.predictions,
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

    tells_unexpected_labels = False  # its report is VW's, to the line

    def __init__(self, chain: Chain, options: RunOptions, given: Namespace) -> None:
        super().__init__(chain, replace(options, predictions=None, raw=None))
        self._given = given
        self._labels = given.named_labels.split(",") if given.named_labels else []
        self._active = layer_named(chain, "active")
        self._audit_text = ""
        self._row_names: dict[int, str] = {}
        self._log_loss, self._pass, self._seen = 0.0, 1, 0
        self._first_class = FirstClass(chain, late=False)
        self._scores = chain.score_count > 0 and bool(options.raw or given.scores or given.probabilities)
        if given.probabilities or self._labels or given.direct:
            old = self.progress
            self.progress = _VwProgress(chain, old.schedule, old.views, holdout=bool(options.holdout))
            self.progress.labels, self.progress.sure = self._labels, given.probabilities
            self.progress.unnamed = bool(self._labels) and (given.scores or given.probabilities)
            self.progress.direct = given.direct
        if given.audit or given.invert_hash or self._labels:
            self._read_lines()

    def _read_lines(self) -> None:
        if self.chain.predicts.of_actions:
            raise UsageError("--audit and --invert_hash: got a chain of decisions, wanted one of single lines")
        from hutch.vw.lines import LineFiles

        given, parser = self._given, replace(self.chain.parser, strict=self.options.strict)
        readers = self.chain.plugins.registry.readers
        files = LineFiles(self.options.data, parser, readers, lambda problem: self._say(str(problem)))
        files.labels = self._labels
        if given.audit or given.invert_hash:
            files.see = self._see
            self._audit = numbers_of(lambda outputs: outputs.predictions)
        self.files = files

    def _see(self, line: str, batch: Batch) -> None:
        """Note the features of an example before it is learned."""
        from hutch.vw.lines import audit_line, features_of

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
        if given.readable_model or given.invert_hash:
            from hutch.vw.model_text import write_model_text
        if given.readable_model:
            write_model_text(self.chain, given.readable_model, kept_options(given), **how)
        if given.invert_hash:
            write_model_text(self.chain, given.invert_hash, kept_options(given), names=self._row_names, **how)
        return outcome

    def _header(self) -> str:
        return header(self.chain, self.options, self._given, self.files.cached)

    def _footer_lines(self, done: PassesDone) -> list[str]:
        weight = done.statistics.weighted_labeled
        if not self._given.probabilities or not weight:
            return []
        mark = " h" if self.options.holdout else ""
        return [f"average multiclass log loss = {self._log_loss / weight:.6f}{mark}"]

    def _report(self, outcome: Outcome) -> None:
        """The footer; VW sums no labels that are classes, and counts queries only of a simulation."""
        done = outcome.done
        changed: dict[str, Any] = {} if self.chain.takes.value == "simple" else {"weighted_labels": 0.0}
        if self._active is not None and not self._active.simulation:
            changed["queries"] = 0
        done = replace(done, statistics=replace(done.statistics, **changed))
        if self._given.dont_output_best_constant:
            self.progress.best_constant = BestConstant()
        super()._report(replace(outcome, done=done))

    def _open_outputs(self, stack: Any) -> None:
        super()._open_outputs(stack)
        given = self._given
        if given.direct:
            self._sinks.append(answered_directly)
        if given.audit:
            self._sinks.append(self._show_audit)
        if given.probabilities:
            self._sinks.append(self._add_log_loss)
        for path, lines in ((given.predictions, self._prediction_lines), (given.raw_predictions, self._raw_lines)):
            if path:
                self._sinks.append(_writer(stack.enter_context(open_output(path)), lines()))

    def _prediction_lines(self) -> Lines:
        given = self._given
        if self.chain.predicts.of_actions:
            return decision_lines.prediction_lines(self.chain)
        if given.scores or given.probabilities:
            return scores_of(self.chain, self._labels)
        if self._labels:
            return names_of(self._labels)
        if self._active is not None and not self._active.simulation and not given.direct:
            return requests
        return numbers_of(lambda outputs: outputs.predictions)

    def _raw_lines(self) -> Lines:
        if self.chain.predicts.of_actions:
            all_costs = self.chain.takes.value == "action_costs"
            return decision_lines.raw_lines if all_costs else lambda batch, outputs: b""
        if self.chain.predicts.value != "class":
            return numbers_of(lambda outputs: outputs.raw)
        if self._given.scores or self._given.probabilities or not self.chain.score_count:
            return lambda batch, outputs: b""
        return (costs_of if self.chain.takes.value == "cost_sensitive" else raw_scores_of)(self.chain)

    def _show_audit(self, batch: Batch, outputs: Outputs) -> None:
        print(self._audit(batch, outputs).decode(errors="replace") + self._audit_text)

    def _add_log_loss(self, batch: Batch, outputs: Outputs) -> None:
        if self.progress.pass_number != self._pass:
            self._pass, self._seen = self.progress.pass_number, 0
        smallest = np.array(list(self._first_class.of(batch)), np.int64)
        numbers = np.arange(self._seen + 1, self._seen + len(batch) + 1)
        self._seen += len(batch)
        self._log_loss += float(_log_losses(batch, outputs, smallest)[self.options.holdout.counted(numbers)].sum())


def _writer(file: BinaryIO, lines: Lines) -> Callable[[Batch, Outputs], None]:
    """Writes what somebody at the other end of a pipe may wait for."""

    def write(batch: Batch, outputs: Outputs) -> None:
        file.write(lines(batch, outputs))
        file.flush()

    return write


class _VwProgress(Progress):
    """Shows classes by name, how sure the chain was as `3(72%)`, and importances in place of predictions.

    Attributes:
        labels: names of the classes; empty for numbers.
        sure: the scores are probabilities.
        unnamed: the prediction has no name, since scores are predicted.
        direct: see `answered_directly`.
    """

    labels: Sequence[str] = ()
    sure = unnamed = direct = False

    def row(self, batch: Batch, i: int, outputs: Outputs, statistics: Statistics) -> float:
        """See `Progress.row`."""
        if self.direct:
            answered_directly(batch, outputs)
        self._highest = float(outputs.scores[i].max()) if self.sure else 0.0
        return super().row(batch, i, outputs, statistics)

    def _label(self, batch: Batch, i: int) -> float | int | str | None:
        label = super()._label(batch, i)
        return class_name(label, self.labels) if isinstance(label, int) else label

    def _prediction(self, prediction: float) -> Any:
        if self.direct:
            return super()._prediction(prediction)
        if self.unnamed:
            return "unknown"
        name = class_name(int(prediction), self.labels)
        return f"{name}({self._highest * 100:.0f}%)" if self.sure else name


def _log_losses(batch: Batch, outputs: Outputs, smallest: NDArray[np.int64]) -> NDArray[np.float64]:
    """Importance times -log of the probability of the right class; 999 where that is 0, 0 without label."""
    classes = np.where(batch.labels == UNLABELED, -1, batch.labels).astype(np.int64) - smallest
    known = (classes >= 0) & (classes < outputs.scores.shape[1])
    chance = np.zeros(len(batch))
    chance[known] = outputs.scores[known, classes[known]]
    losses = np.where(chance > 0, -np.log(np.maximum(chance, 1e-300)) * batch.importance, 999.0)
    return np.where(known, losses, 0.0)
