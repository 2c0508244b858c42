"""Reports for users of Vowpal Wabbit beyond those of all runs."""

import json
import math
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.chain import Chain
from hutch.core.atomic import write_text
from hutch.core.batch import Batch, ends_of_groups, shared_rows
from hutch.core.chain.engine import Outputs
from hutch.core.chain.reduction import Labels
from hutch.core.kernel.abi import UNLABELED
from hutch.core.run.decisions import decisions_of, label_cell
from hutch.core.run.passes import PassesDone
from hutch.core.run.predictions import PredictionText
from hutch.core.run.progress import PlainCells
from hutch.core.run.run import Reporter, Run
from hutch.vw.header import kept_options
from hutch.vw.model_state import COLUMNS
from hutch.vw.options.declared import BASES, DECLARED
from hutch.vw.outputs import FirstClass, class_name, is_query


class LogLoss(Reporter):
    """Sums the log loss of `--probabilities` for the footer."""

    scores, _held_out_mark = True, " h"

    def __init__(self, chain: Chain) -> None:
        self._first_class = FirstClass(chain, late=False)
        self._sum, self._pass, self._seen = 0.0, 1, 0

    def see(self, run: Run, batch: Batch, outputs: Outputs) -> None:
        """See `Reporter`."""
        if run.progress.pass_number != self._pass:
            self._pass, self._seen = run.progress.pass_number, 0
        smallest = np.array(list(self._first_class.of(batch)), np.int64)
        numbers = np.arange(self._seen + 1, self._seen + len(batch) + 1)
        self._seen += len(batch)
        self._sum += float(_log_losses(batch, outputs, smallest)[run.options.holdout.counted(numbers)].sum())

    def footer(self, run: Run, done: PassesDone) -> list[str]:
        """Its line of the footer."""
        weight = done.statistics.weighted_labeled
        mark = self._held_out_mark if run.options.holdout else ""
        return [f"average multiclass log loss = {self._sum / weight:.6f}{mark}"] if weight else []


class NoCosts(Reporter):
    """Reports at the end how often an action without a cost was chosen: VW's average loss is meaningless then."""

    def __init__(self) -> None:
        self._count = 0

    def see(self, run: Run, batch: Batch, outputs: Outputs) -> None:
        """See `Reporter`."""
        self._count += int((outputs.losses == UNLABELED).sum())

    def close(self, run: Run, done: PassesDone) -> None:
        """See `Reporter`."""
        if self._count:
            run.notes.say(f"{self._count} x choice without a cost: each adds 3.4e38 to the sum of losses, as in VW")


class LearnsRest(Reporter):
    """Lets a layer learn, before the model is saved, what it has put off, as at the end of VW's last pass.

    Args:
        layer: its `end_pass` learns that.
    """

    def __init__(self, layer: Any) -> None:
        self._layer = layer

    def open(self, run: Run, stack: ExitStack) -> None:
        """See `Reporter`."""
        stack.callback(self._layer.end_pass)


class DecisionLogLoss(LogLoss):
    """Sums the log loss of `--csoaa_ldf --probabilities`: -log of the probability of the cheapest action."""

    scores, _held_out_mark = False, ""

    def see(self, run: Run, batch: Batch, outputs: Outputs) -> None:
        """See `Reporter`."""
        for _, first, stop in decisions_of(batch):
            ends = batch.cost_ptr[first : stop + 1]
            if stop > first and (np.diff(ends) == 1).all() and (batch.costs[ends[0] : ends[-1]] != UNLABELED).all():
                chance = outputs.predictions[first + int(np.argmin(batch.costs[ends[0] : ends[-1]]))]
                self._sum += float(-np.log(chance)) if chance > 0 else 999.0


def _log_losses(batch: Batch, outputs: Outputs, smallest: NDArray[np.int64]) -> NDArray[np.float64]:
    """Importance times -log of the probability of the right class; 999 where that is 0, 0 without label.

    Of a label beyond the classes VW takes the remainder by their number, as a whole number of 32 bits.
    """
    labeled = batch.labels != UNLABELED
    classes = np.where(labeled, batch.labels, 1).astype(np.int64) - smallest
    chance = outputs.scores[np.arange(len(batch)), (classes & 0xFFFFFFFF) % outputs.scores.shape[1]].astype(np.float64)
    losses = np.where(chance > 0, -np.log(np.maximum(chance, 1e-300)) * batch.importance, 999.0)
    return np.where(labeled, losses, 0.0)


class Audit(Reporter):
    """Prints each example's features and weights below its prediction."""

    def __init__(self, chain: Chain, *, learns: bool) -> None:
        self._chain, self._learns = chain, learns
        self._scores: list[np.float32] = []
        self._texts: list[str] = []
        self._number = PredictionText()

    def line(self, names: dict[int, str], batch: Batch) -> None:
        """Look at an example before it is learned."""
        from hutch.vw.lines import audit_line, audit_score, features_of

        actions = features_of(self._chain, names, batch)
        self._texts = [audit_line(self._chain, found, self._learns) for found in actions]
        self._scores = [audit_score(self._chain, found) for found in actions]

    def see(self, run: Run, batch: Batch, outputs: Outputs) -> None:
        """See `Reporter`."""
        if self._chain.takes.of_slots:
            print("\n".join(self._texts))
            return
        from hutch.vw.lines import maker_of_actions

        decides = self._chain.takes.of_decisions
        rows = np.flatnonzero(~shared_rows(batch)) if decides else np.zeros(len(self._texts), np.int64)
        scores = self._scores if decides or maker_of_actions(self._chain) else outputs.predictions
        for row, score, text in zip(rows.tolist(), scores, self._texts, strict=True):
            line = self._number.lines(np.full(1, score, np.float32), batch.tag_ptr[row : row + 2], batch.tags)
            print(bytes(line).decode(errors="replace") + text)


class ReadableModels(Reporter):
    """Writes `--readable_model` and `--invert_hash`."""

    def __init__(self, chain: Chain, given: Namespace) -> None:
        from hutch.vw.lines import maker_of_actions

        self._chain, self._given = chain, given
        self._names: dict[int, str] = {}
        maker = maker_of_actions(chain)
        self._submodels = chain.layers[-1].context.submodels if maker is None else maker.context.step

    def line(self, names: dict[int, str], batch: Batch) -> None:
        """Record the names of an example's features."""
        from hutch.vw.lines import features_of

        for found in features_of(self._chain, names, batch):
            for name, row, _ in found:
                for k in range(self._submodels):
                    self._names.setdefault(row + k, f"{name}[{k}]" if k else name)

    def close(self, run: Run, done: PassesDone) -> None:
        """See `Reporter`."""
        from hutch.vw.model_text import write_model_text

        given = self._given
        how = {
            "predict_only": given.predict_only_model,
            "weights_only": given.testonly,
            "hexadecimal": given.hexfloat_weights,
        }
        if given.readable_model:
            write_model_text(self._chain, given.readable_model, kept_options(self._chain, given), **how)
        if given.audit_regressor:
            found = [(name, row, self._chain.weights[row, 0]) for row, name in self._names.items()]
            text = "".join(f"{name}:{row}:{weight:g}\n" for name, row, weight in found if weight)
            write_text(given.audit_regressor, text)
        if given.invert_hash:
            write_model_text(self._chain, given.invert_hash, kept_options(self._chain, given), names=self._names, **how)


class Metrics(Reporter):
    """Writes `--extra_metrics`: counts of examples, and of decisions their actions and costs, by VW's names.

    Args:
        chain: the chain.
        path: of the file; empty for none.
    """

    def __init__(self, chain: Chain, path: str) -> None:
        self._path, self._decides = path, chain.takes is Labels.LOGGED_ACTION
        self._base: Any = chain.layers[-1]
        names = [DECLARED[layer.name].learner for layer in chain.layers if layer.name in DECLARED]
        self._name = next((name for name in names if name.startswith("cb_explore_adf")), "cb_adf")
        self._examples, self._sizes = 0, Counter[int]()
        self._labeled = self._first = self._not_zero = 0
        self._cost, self._baseline = np.float32(0), np.float32(0)

    def see(self, run: Run, batch: Batch, outputs: Outputs) -> None:
        """See `Reporter`."""
        self._examples += len(ends_of_groups(batch)) if run.engine.takes.of_decisions else len(batch)
        for _, first, stop in decisions_of(batch) if self._decides else ():
            low, high = batch.cost_ptr[first], batch.cost_ptr[stop]
            known = np.flatnonzero(batch.costs[low:high] != UNLABELED) + low
            if len(known) and stop > first:
                cost, is_first = batch.costs[known[0]], bool(known[0] < batch.cost_ptr[first + 1])
                self._sizes[stop - first] += 1
                self._labeled, self._first = self._labeled + 1, self._first + is_first
                self._not_zero += bool(cost != 0)
                self._cost, self._baseline = self._cost + cost, self._baseline + cost * np.float32(is_first)

    def found(self) -> dict[str, Any]:
        """The counts so far, by VW's names of the parts of a chain."""
        found: dict[str, Any] = {}
        if self._decides:
            found[self._name] = {
                "cbea_labeled_ex": self._labeled,
                "cbea_label_first_action": self._first,
                "cbea_label_not_first": self._labeled - self._first,
                "cbea_non_zero_cost": self._not_zero,
                "cbea_min_actions": min(self._sizes, default=0),
                "cbea_max_actions": max(self._sizes, default=0),
                "cbea_avg_actions_per_event": self._sizes.total() and sum(self._sizes.elements()) // self._labeled,
                "cbea_sum_cost": float(self._cost),
                "cbea_sum_cost_baseline": float(self._baseline),
            }
        if self._base.name in BASES and BASES[self._base.name].learner.startswith("ftrl-"):
            learner, given = BASES[self._base.name].learner, self._base.parameters
            found[learner] = {
                "ftrl_algorithm": learner.removeprefix("ftrl-"),
                "ftrl_alpha": given.alpha,
                "ftrl_beta": given.beta,
                "ftrl_size": COLUMNS[self._base.name],
            }
        return found

    def close(self, run: Run, done: PassesDone) -> None:
        """See `Reporter`."""
        if self._path:
            write_text(self._path, json.dumps({"number_of_examples": self._examples, **self.found()}) + "\n")


class Steps(Reporter):
    """Prints VW's table of `--bfgs`: a row for each step of a search over passes, and how the search ended.

    Args:
        layer: the learner.
        quiet: print nothing.
    """

    def __init__(self, layer: Any, *, quiet: bool) -> None:
        self._layer, self._quiet = layer, quiet

    def open(self, run: Run, stack: ExitStack) -> None:
        """See `Reporter`."""

        def show(step: Any) -> None:
            loss = run.progress.pass_loss if run.options.holdout and step.passes > 1 else None
            run.notes.say(step_row(step, self._layer.parameters, loss))

        self._layer.on_step = None if self._quiet else show

    def close(self, run: Run, done: PassesDone) -> None:
        """See `Reporter`."""
        self._layer.on_step = None
        if run.options.learn and not self._quiet:
            run.notes.say(self._end(run, done.passes))

    def _end(self, run: Run, passes: int) -> str:
        end, least = self._layer.end, self._layer.parameters.tolerance
        if end == "converged":
            return f"Termination condition reached in pass {passes}: decrease in loss less than {100 * least:.3f}%."
        if end:
            return _ENDS[end]
        if passes == run.options.passes:
            return "Maximum number of passes reached. To optimize further, increase the number of passes"
        return "Early termination reached w.r.t. holdout set error"


_ENDS = {
    "flat": "Derivative 0 detected.",
    "not convex": "Zero or negative curvature detected: more regularization or other scales of features may help.",
}


def step_row(step: Any, parameters: Any, held_out: float | None) -> str:
    """A row of the table of `--bfgs`.

    Args:
        step: of the search.
        parameters: of the learner.
        held_out: the loss of the last pass on examples held out, shown instead of the search's own; NaN: unknown; None:
            none are held out.
    """
    cells = [f"{step.gradient:<10.5f}", f"{step.scaled_gradient:<10.5f}"]
    cells += [" " * 10] * 2 if math.isnan(step.decrease) else [f" {step.decrease:<10f}", f"{step.slope:<10f}"]
    curvature = " " * 10 if math.isnan(step.curvature) else f"{step.curvature:<10.5f}"
    if step.revised:
        cells += [" " * 10, " " * 10, f"(revise x {step.part:.1f})"]
    else:
        cells += [" " * 10 if math.isnan(step.kept) else f"{step.kept:f}", curvature, f"{step.direction:<10.5f}"]
    loss = f"{step.loss:<10.5f}\t" if held_out is None else f"h{held_out:<10.5f}\t"
    if held_out is not None and math.isnan(held_out):
        loss = "h unknown    "
    return f"{step.passes:2d} {loss}" + "\t".join([*cells, f"{step.length:.5f}"])


class VwCells:
    """Shows classes by name, and the chain's certainty as in `3(72%)`.

    Args:
        chain: the chain.
        labels: names of the classes; empty for numbers.
        sure: the scores are probabilities.
        unnamed: the prediction has no name, since scores are predicted.
    """

    def __init__(self, chain: Chain, labels: Sequence[str], *, sure: bool, unnamed: bool) -> None:
        self._plain, self._labels = PlainCells(chain), labels
        self._sure, self._unnamed = sure, unnamed

    def label(self, batch: Batch, i: int) -> float | int | str | None:
        """See `hutch.core.run.progress.Cells`."""
        label = self._plain.label(batch, i)
        return class_name(label, self._labels) if isinstance(label, int) else label

    def prediction(self, batch: Batch, i: int, outputs: Outputs) -> str:
        """See `hutch.core.run.progress.Cells`."""
        if self._unnamed:
            return "unknown"
        name = class_name(int(outputs.predictions[i]), self._labels)
        return f"{name}({float(outputs.scores[i].max()) * 100:.0f}%)" if self._sure else name


class DirectCells:
    """Shows the answers of `--direct` in place of predictions.

    Args:
        chain: the chain.
    """

    def __init__(self, chain: Chain) -> None:
        self.label, self._plain = PlainCells(chain).label, PlainCells(chain)

    def prediction(self, batch: Batch, i: int, outputs: Outputs) -> float | int | str:
        """See `hutch.core.run.progress.Cells`."""
        if is_query(batch, i):
            return float(outputs.queries[i])
        return self._plain.prediction(batch, i, outputs)


class ClassBanditCells:
    """Shows classes, counted from 1, and the probability of the likeliest.

    Args:
        chain: the chain.
    """

    def __init__(self, chain: Chain) -> None:
        self._takes, self._count = chain.takes, chain.score_count
        self._plain = PlainCells(chain)

    def label(self, batch: Batch, i: int) -> float | int | str | None:
        """See `hutch.core.run.progress.Cells`."""
        if self._takes is not Labels.LOGGED_CLASS:
            return self._plain.label(batch, i)
        if label_cell(batch, i, self._takes, classes=self._count) is None:
            return None
        rows = range(batch.cost_ptr[i], batch.cost_ptr[i + 1])
        at = next(k for k in rows if batch.costs[k] != UNLABELED and batch.probabilities[k] > 0)
        return f"{batch.cost_classes[at]}:{batch.costs[at]:g}:{batch.probabilities[at]:g}"

    def prediction(self, batch: Batch, i: int, outputs: Outputs) -> float | int | str:
        """See `hutch.core.run.progress.Cells`."""
        if self._takes is not Labels.LOGGED_CLASS:
            return self._plain.prediction(batch, i, outputs)
        best = int(outputs.predictions[i])
        return f"{best}:{outputs.scores[i, best - 1]:.6f}"
