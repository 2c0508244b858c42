"""Vowpal Wabbit's Python interface over Hutch's engine: a script is moved by changing where `Workspace` comes from."""

import atexit
import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, redirect_stderr
from copy import copy
from io import StringIO
from typing import Any, Self
from weakref import WeakSet

from hutch.chain import Chain
from hutch.core.errors import UsageError
from hutch.core.run.one_decision import text_of
from hutch.vw.header import learners
from hutch.vw.parse import parse as parse_options
from hutch.vw.python.example import Example, Prediction
from hutch.vw.python.kinds import LabelType, PredictionType
from hutch.vw.python.words import words_of
from hutch.vw.run import build_chain, run_options, run_vw
from hutch.vw.running import REPORTS, Running

Lines = str | Example | Sequence[str] | Sequence[Example]

_NEED_DATA = ("audit_regressor", "daemon")
_LABELS = {
    "simple": LabelType.SIMPLE,
    "multiclass": LabelType.MULTICLASS,
    "classes_of_lines": LabelType.MULTICLASS,
    "numbers_of_lines": LabelType.MULTILABEL,
    "cost_sensitive": LabelType.COST_SENSITIVE,
    "action_costs": LabelType.COST_SENSITIVE,
    "logged_action": LabelType.CONTEXTUAL_BANDIT,
    "logged_class": LabelType.CONTEXTUAL_BANDIT,
    "logged_slots": LabelType.CONDITIONAL_CONTEXTUAL_BANDIT,
    "logged_slate": LabelType.SLATES,
    "logged_number": LabelType.CONTINUOUS,
}


_UNFINISHED: WeakSet["Workspace"] = WeakSet()
"""Workspaces that have something to write."""


@atexit.register
def _finish_all() -> None:
    """Finish the workspaces that a program leaves open, while Python can still write."""
    for workspace in list(_UNFINISHED):
        workspace.finish()


def workspace_of(words: Sequence[str], chain: Chain) -> "Workspace":
    """A workspace with a chain that exists already; it reads no data and writes no file.

    Args:
        words: the options that the chain was made with.
        chain: it is changed by what the workspace learns.
    """
    found = Workspace.__new__(Workspace)
    found.words, found.options, found.parser_ran = list(words), parse_options(words), False
    for name in REPORTS:
        setattr(found.options, name, None)
    found._log, found._model, found._text = None, None, None
    found._begin(chain)
    return found


class Workspace(Running):
    """A model made by a VW command line, with the methods of `vowpalwabbit.Workspace`.

    Args:
        arg_str: options as one text, cut at blanks.
        enable_logging: keep printed text for `get_log`.
        arg_list: options as words.
        **options: options by name: `b=24`, `quiet=True`, `q=["ab", "ac"]`.

    With `-d` the data is read, and learned, before the constructor returns. `finish`, or the end of a `with` block,
    writes the files of `-f` and `--readable_model`.

    Raises:
        HutchError: options that are wrong or that Hutch does not have, all listed at once, or wrong data.

    >>> with Workspace("--loss_function logistic --quiet") as model:
    ...     for _ in range(20):
    ...         model.learn("1 |word good")
    ...         model.learn("-1 |word bad")
    ...     model.predict("|word good") > 0
    True
    """

    finished = True  # until there is something to finish

    def __init__(
        self,
        arg_str: str | None = None,
        enable_logging: bool = False,
        arg_list: Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        self.words, self._log = words_of(arg_str, arg_list, options), StringIO() if enable_logging else None
        self.options = given = parse_options(self.words)
        if given.classweight:
            raise UsageError("--classweight: `hutch vw` has it, wanted importances in the lines")
        self.parser_ran = reads = bool(given.data or given.files)
        for name in _NEED_DATA:
            if not reads and getattr(given, name):
                raise UsageError(f"--{name} needs data, -d FILE; predict() returns predictions")
        chain = build_chain(given)
        self._model, self._text = given.final_regressor, given.readable_model
        if reads:
            given.final_regressor = given.readable_model = None  # `finish` writes them
            with nullcontext() if self._log is None else redirect_stderr(self._log):
                run_vw(chain, run_options(given), given)
        self._begin(chain)
        if self._model or self._text or self._session is not None:
            _UNFINISHED.add(self)

    def __reduce__(self) -> Any:
        """A copy, or what was pickled, has learned the same, and writes no file."""
        return workspace_of, (self.words, self.chain)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def learn(self, ec: Lines) -> None:
        """Learn an example, or a decision of several lines.

        Args:
            ec: a line, or a result of `example` or `parse`; for a chain of decisions a list of either. An `Example`
                counts in the statistics once it is finished.

        Raises:
            TypeError: a list of single lines, or something else.
            DataError: a label that has no meaning.
        """
        self._latest = None
        if type(ec) is str and self._fast and self._one.run(ec, self._learns, stays=False) is not None:
            return
        if self._decision is not None and (text := text_of(ec)) and self._decision.run(text, self._learns) is not None:
            return
        self._run(ec, self._learns)

    def predict(self, ec: Lines | Mapping[str, Any], prediction_type: int | None = None) -> Prediction:
        """Predict without learning.

        Args:
            ec: as for `learn`; or a mapping, as for `example`.
            prediction_type: a `PredictionType`; None: the chain's own.

        Returns:
            As VW's own method: a float, a class as int, or a list of floats by class or by action.
        """
        if type(ec) is str and self._fast and prediction_type is None:
            outputs = self._one.run(ec, False, stays=False)
            if outputs is not None:
                found: Prediction = self._number(outputs.predictions.item(0))
                return found
        if self._decision is not None and prediction_type is None and (text := text_of(ec)):
            scores = self._decision.run(text, False)
            if scores is not None:
                found = scores.tolist()
                return found
        line = self.example(ec).line if isinstance(ec, Mapping) else ec
        return self._run(line, False)[0].get_prediction(prediction_type)

    def save(self, filename: str | os.PathLike[str]) -> None:
        """Write the model: Hutch's own format, with the whole chain."""
        self.chain.save(os.fspath(filename))

    def get_arguments(self) -> str:
        """The options that it was made with."""
        return " ".join(self.words)

    def get_driver_output(self) -> list[str]:
        """The lines of the table, with its head and, once the workspace is finished, its foot.

        With `-d` these are the lines that the reading of its data printed; later examples add nothing.

        Raises:
            RuntimeError: `enable_logging` was not given.
        """
        if self._log is None:
            raise RuntimeError("enable_logging set to false: wanted Workspace(..., enable_logging=True)")
        return self._log.getvalue().splitlines() if self._session is None else list(self._session.driver)

    def get_log_output(self) -> list[str]:
        """Messages about malformed examples and odd labels, once the workspace is finished.

        Raises:
            RuntimeError: `enable_logging` was not given.
        """
        self.get_driver_output()
        return [] if self._session is None else list(self._session.logged)

    def get_log(self) -> list[str]:
        """The lines of `get_driver_output`, then those of `get_log_output`.

        Raises:
            RuntimeError: `enable_logging` was not given.
        """
        return [*self.get_driver_output(), *self.get_log_output()]

    def get_config(self, filtered_enabled_reductions_only: bool = True) -> Any:
        """Its options as `VWOption`, by layer and heading.

        Args:
            filtered_enabled_reductions_only: leave out the options of layers that the chain does not have.
        """
        from hutch.vw.settings import config_of

        layers = [layer.name for layer in self.chain.layers]
        given = copy(self.options)
        given.no_stdin = True  # as VW's package has it
        return config_of(given, layers if filtered_enabled_reductions_only else None)

    def get_enabled_learners(self) -> list[str]:
        """The parts of the chain by VW's names, from the base learner up."""
        return list(learners(self.chain, self.options))

    get_enabled_reductions = get_enabled_learners

    def get_learner_metrics(self) -> dict[str, Any]:
        """The counts of `--extra_metrics`, which needs no file here, by VW's names; empty without the option.

        Those of decisions count the examples that are finished; there is nothing about single lines and calls.
        """
        return {} if self._session is None else self._session.metrics()

    def get_id(self) -> str:
        """The text of `--id`."""
        return self.options.id or ""

    def run_parser(self) -> None:
        """Nothing: data of `-d` has been read before the constructor returned."""

    def finish(self) -> None:
        """Write the files of `-f`, `--readable_model` and the reports; a second call does nothing."""
        if self.finished:
            return
        self.finished = True
        _UNFINISHED.discard(self)
        if self._model:
            self.chain.save(self._model)
        if self._session is not None:
            self._session.close()
        elif self._text:
            from hutch.vw.header import kept_options
            from hutch.vw.model_text import write_model_text

            write_model_text(self.chain, self._text, kept_options(self.chain, self.options))

    def __del__(self) -> None:
        if not self.finished and self in _UNFINISHED:
            self.finish()

    def get_prediction_type(self) -> PredictionType:
        """The kind of `predict`'s results."""
        return self._kind

    def get_label_type(self) -> LabelType:
        """The kind of labels in lines."""
        evaluates = any(getattr(layer.parameters, "evaluates", False) for layer in self.chain.layers)
        return LabelType.CONTEXTUAL_BANDIT_EVAL if evaluates else _LABELS[self.chain.takes.value]

    def get_sum_loss(self) -> float:
        """The sum of losses before learning, times importance."""
        return float(self.chain.shared["sum_loss"][0])

    def get_holdout_sum_loss(self) -> float:
        """The sum of losses of examples held out, times importance."""
        return float(self.chain.shared["sum_loss_holdout"][0])

    def get_weighted_examples(self) -> float:
        """The sum of importance of all examples that are finished."""
        seen = self.chain.shared[0]
        return float(seen["weighted_labeled"] + seen["weighted_unlabeled"])
