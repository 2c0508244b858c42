"""Vowpal Wabbit's Python interface over Hutch's engine: a script is moved by changing where `Workspace` comes from."""

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, redirect_stderr
from io import StringIO
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.chain.engine import Outputs
from hutch.core.chain.reduction import Labels
from hutch.core.errors import DataError, UsageError
from hutch.core.kernel.abi import SHARED
from hutch.core.run.decisions import classes_of, ranked_actions, slots_of
from hutch.core.run.one import OneExample
from hutch.core.run.one_decision import OneDecision, text_of
from hutch.core.text.hashing import hash_namespace, hash_text
from hutch.core.text.parser import TextParser
from hutch.vw.example import Example, LabelType, Prediction, PredictionType
from hutch.vw.header import output_kind
from hutch.vw.lines import LineReader
from hutch.vw.outputs import layer_named
from hutch.vw.parse import parse as parse_options
from hutch.vw.run import build_chain, run_options, run_vw

Lines = str | Example | Sequence[str] | Sequence[Example]

_NEED_DATA = (
    "predictions",
    "raw_predictions",
    "audit",
    "cache",
    "cache_file",
    "invert_hash",
    "audit_regressor",
    "daemon",
)
_COUNTED = ("time", "features")
"""The first and the last of the counters to which an example adds when VW finishes it."""
_LABELS = {
    "simple": LabelType.SIMPLE,
    "multiclass": LabelType.MULTICLASS,
    "cost_sensitive": LabelType.COST_SENSITIVE,
    "action_costs": LabelType.COST_SENSITIVE,
    "logged_action": LabelType.CONTEXTUAL_BANDIT,
    "logged_class": LabelType.CONTEXTUAL_BANDIT,
    "logged_slots": LabelType.CONDITIONAL_CONTEXTUAL_BANDIT,
    "logged_slate": LabelType.SLATES,
}


class Workspace:
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

    def __init__(
        self,
        arg_str: str | None = None,
        enable_logging: bool = False,
        arg_list: Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        self.finished = True  # until there is something to finish
        self._words, self._log = _words(arg_str, arg_list, options), StringIO() if enable_logging else None
        self._options = given = parse_options(self._words)
        if given.classweight:
            raise UsageError("--classweight: `hutch vw` has it, wanted importances in the lines")
        reads = bool(given.data or given.files)
        for name in _NEED_DATA:
            if not reads and getattr(given, name):
                raise UsageError(f"--{name} needs data, -d FILE; predict() returns predictions")
        self._chain = chain = build_chain(given)
        self._model, self._text = given.final_regressor, given.readable_model
        if reads:
            given.final_regressor = given.readable_model = None  # `finish` writes them
            with nullcontext() if self._log is None else redirect_stderr(self._log):
                run_vw(chain, run_options(given), given)
        self._one = OneExample(chain)
        self._parser = TextParser(chain.parser, "<example>")
        names = given.named_labels.split(",") if given.named_labels else []
        self._reader = LineReader(names, costs=chain.takes is Labels.COST_SENSITIVE) if names else None
        self._json: Any = None
        if given.json or given.dsjson:
            from hutch.vw.json.reader import reader_of

            self._json = reader_of(given, chain.parser)
        self._learns = not given.testonly
        slots = chain.takes.of_slots
        self._kind = kind = PredictionType.DECISION_SCORES if slots else PredictionType[output_kind(chain, given)]
        self._number: type = int if kind is PredictionType.MULTICLASS else float
        plain = self._reader is None and self._json is None
        single = not chain.takes.of_decisions and chain.takes is not Labels.LOGGED_CLASS
        self._fast = plain and single and kind in (PredictionType.SCALAR, PredictionType.MULTICLASS)
        decides = chain.takes.of_actions
        of_actions = kind in (PredictionType.ACTION_SCORES, PredictionType.ACTION_PROBS)
        self._decision = OneDecision(chain) if plain and decides and of_actions else None
        self._counts = _Counts(chain.shared)
        self._multiline = bool(chain.takes.of_decisions)
        if given.scores and (classes := layer_named(chain, "one_against_all")) is not None:
            classes.state["early"] = 1
        self.finished = False

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
        example = self.example(ec) if isinstance(ec, Mapping) else ec
        return self._run(example, False)[0].get_prediction(prediction_type)

    def parse(self, str_ex: str | Sequence[str] | Example | Sequence[Example], labelType: Any = None) -> Any:
        """One example from a line, or for a chain of decisions a list of examples.

        Args:
            str_ex: a text of one or more lines, or a list of lines.
            labelType: of no effect: the chain determines the kind of labels.

        Raises:
            TypeError: several lines for a chain that takes one at a time.
        """
        if isinstance(str_ex, Example):
            return str_ex
        if not isinstance(str_ex, str | list | tuple):
            raise TypeError("Unsupported type. List or string object must be passed.")
        if str_ex and isinstance(str_ex[0], Example):
            return str_ex
        text = str_ex if isinstance(str_ex, str) else "\n".join(map(str, str_ex))
        found = [Example(self, line) for line in text.replace("\r", "").strip().split("\n")]
        if self._multiline:
            return found
        if len(found) > 1:
            raise TypeError(f"expecting single line example, got multi_ex of len {len(found)}")
        return found[0]

    def example(self, stringOrDict: Any = None, labelType: Any = None) -> Example:
        """An example, to be learned or predicted and then finished.

        Args:
            stringOrDict: a line; or features by namespace, as a list of names and of (name, value), or a mapping.
            labelType: of no effect.
        """
        return Example(self, stringOrDict)

    def finish_example(self, ex: Example | Sequence[Example]) -> None:
        """Count an example's latest learning or prediction.

        Raises:
            ValueError: one example of a chain of decisions, or several of another.
        """
        several = not isinstance(ex, Example)
        if several != self._multiline:
            raise ValueError(
                f"Learner is {'multi' if self._multiline else 'single'}line, got the other kind of example"
            )
        first: Any = ex[0] if several else ex  # type: ignore[index]
        if first.finished:
            return
        self._counts.add(first.counted)
        examples: Any = ex if several else [ex]
        for each in examples:
            each.finished = True

    def save(self, filename: str | os.PathLike[str]) -> None:
        """Write the model: Hutch's own format, with the whole chain."""
        self._chain.save(os.fspath(filename))

    def get_arguments(self) -> str:
        """The options that it was made with."""
        return " ".join(self._words)

    def get_log(self) -> list[str]:
        """The lines that were printed while data of `-d` was read.

        Raises:
            RuntimeError: `enable_logging` was not given.
        """
        if self._log is None:
            raise RuntimeError("get_log: wanted Workspace(..., enable_logging=True)")
        return self._log.getvalue().splitlines()

    def run_parser(self) -> None:
        """Nothing: data of `-d` has been read before the constructor returned."""

    def finish(self) -> None:
        """Write the files of `-f` and `--readable_model`; a second call does nothing."""
        if self.finished:
            return
        self.finished = True
        if self._model:
            self._chain.save(self._model)
        if self._text:
            from hutch.vw.header import kept_options
            from hutch.vw.model_text import write_model_text

            write_model_text(self._chain, self._text, kept_options(self._chain, self._options))

    def num_weights(self) -> int:
        """Rows of the weight table."""
        return len(self._chain.weights)

    def get_weight(self, index: int, offset: int = 0) -> float:
        """A weight.

        Args:
            index: a feature's hash times the sub-models' number, rounded up to a power of two; only its low bits count.
            offset: 0, or the place of another number of the row, such as the sum of squared gradients.
        """
        weight: float = self._chain.weights.item(index & (len(self._chain.weights) - 1), offset)
        return weight

    def get_weight_from_name(self, feature_name: str, namespace_name: str = " ") -> float:
        """The weight of a feature by its names."""
        return self.get_weight(self.hash_feature(feature_name, self.hash_space(namespace_name)))

    def hash_space(self, name: str) -> int:
        """The hash of a namespace, which is the seed for its features."""
        return hash_namespace(name, self._chain.parser.hash_seed, self._chain.parser.hash)

    def hash_feature(self, name: str, space: int) -> int:
        """The index of a feature.

        Args:
            name: of the feature.
            space: a result of `hash_space`.
        """
        return hash_text(name, space, self._chain.parser.hash) & (len(self._chain.weights) - 1)

    def get_prediction_type(self) -> PredictionType:
        """The kind of `predict`'s results."""
        return self._kind

    def get_label_type(self) -> LabelType:
        """The kind of labels in lines."""
        return _LABELS[self._chain.takes.value]

    def get_sum_loss(self) -> float:
        """The sum of losses before learning, times importance."""
        return float(self._chain.shared["sum_loss"][0])

    def get_weighted_examples(self) -> float:
        """The sum of importance of all examples that are finished."""
        seen = self._chain.shared[0]
        return float(seen["weighted_labeled"] + seen["weighted_unlabeled"])

    def batch_of(self, lines: Sequence[str]) -> Batch:
        """Lines as a batch, valid until the next call.

        Raises:
            DataError: a class that `--named_labels` does not name.
        """
        texts = [line.encode() for line in lines]
        if self._json is not None:
            return self._json.parse(b"\n".join(texts), self._parser)  # type: ignore[no-any-return]
        if self._reader is not None:
            texts = [self._reader.with_number(text, "<example>", k) for k, text in enumerate(texts, 1)]
        return self._parser.parse(b"\n".join(texts) + b"\n")

    def _run(self, ec: Any, learn: bool) -> list[Example]:
        """Run one example or one decision; returns its lines, each with its prediction."""
        if type(ec) is Example and self._fast:
            before = self._counts.now
            one = self._one.run(ec.line, learn, stays=False)
            if one is not None:
                ec.prediction = self._number(one.predictions.item(0))
                ec.counted = self._counts.taken_back(before)
                return [ec]
        made = isinstance(ec, Example) or (not isinstance(ec, str) and bool(ec) and isinstance(ec[0], Example))
        if not isinstance(ec, str | Example | list | tuple):
            raise TypeError(f"expecting string, example object, or list of example objects, got {type(ec)}")
        if not isinstance(ec, str | Example) and not self._multiline:
            raise TypeError("Expecting a multiline learner.")
        if not isinstance(ec, Example) and not ec:
            raise ValueError("An empty list is invalid")
        found = self.parse(ec)
        examples: list[Example] = [found] if isinstance(found, Example) else list(found)
        batch = self.batch_of([example.line for example in examples])
        if self._multiline and len(batch) and batch.group[0] != batch.group[-1]:
            raise DataError("<example>: got an empty line between actions, wanted one decision")
        before = self._counts.now
        outputs, _ = self._chain.run_batch(batch, learn=learn, scores=True)
        if made:
            examples[0].counted = self._counts.taken_back(before)
        if not len(batch):
            raise DataError(f"<example>: got {examples[0].line!r}, which is not an example")
        self._tell(examples, batch, outputs)
        return examples

    def _tell(self, examples: list[Example], batch: Batch, outputs: Outputs) -> None:
        """Give each line its prediction."""
        values: list[Prediction]
        lists = (PredictionType.ACTION_SCORES, PredictionType.ACTION_PROBS, PredictionType.SCALARS)
        if self._kind is PredictionType.SCALARS and not self._chain.predicts.of_actions:
            values = outputs.scores.tolist()
        elif self._chain.takes.of_slots:
            [slots] = slots_of(batch, outputs)
            pairs: Any = [list(zip(ranked, likely, strict=True)) for _, ranked, likely in slots]
            values = [pairs] * len(examples)
        elif self._kind in lists:
            [(_, _, scores)] = ranked_actions(batch, outputs)
            values = [scores] * len(examples)
        elif self._chain.takes.value == "action_costs":
            values = [classes_of(batch)[int(outputs.ranked[0])], *[0] * (len(examples) - 1)]  # as VW: in its first line
        elif self._chain.takes.value == "logged_class":
            [(_, ranked, _)] = ranked_actions(batch, outputs)
            values = [ranked[0] + 1]
        else:
            values = [self._number(value) for value in outputs.predictions.tolist()]
        for example, value in zip(examples, values, strict=False):
            example.prediction = value


class _Counts:
    """The counters of a chain that VW changes when an example is finished.

    Args:
        shared: the chain's SHARED record.
    """

    def __init__(self, shared: NDArray[Any]) -> None:
        names = list(SHARED.names or ())
        self._names = names[names.index(_COUNTED[0]) : names.index(_COUNTED[1]) + 1]
        self._shared = shared
        self._bytes = shared.view(np.uint8).data
        fields: Any = SHARED.fields
        self._place = slice(fields[self._names[0]][1], fields[self._names[-1]][1] + 8)

    @property
    def now(self) -> bytes:
        """Their values."""
        return bytes(self._bytes[self._place])

    def taken_back(self, before: bytes) -> tuple[bytes, bytes]:
        """Reset the counters to `before`; returns both values."""
        after = self.now
        self._bytes[self._place] = before
        return before, after

    def add(self, change: tuple[bytes, bytes]) -> None:
        """Let them change as they did between two values."""
        before, after = change
        if not before:
            return  # it was never run
        if self.now == before:
            self._bytes[self._place] = after
            return
        kind = np.dtype([(name, SHARED[name]) for name in self._names])
        old, new = (np.frombuffer(values, kind) for values in (before, after))
        for name in self._names:
            self._shared[name] += new[name] - old[name]


def _words(text: str | None, words: Sequence[str] | None, options: Mapping[str, Any]) -> list[str]:
    """The words of a command line.

    >>> _words("--oaa 3", ["-q", "ab"], {"b": 10, "quiet": True, "noconstant": False, "ignore": ["a", "b"]})
    ['--oaa', '3', '-q', 'ab', '-b', '10', '--quiet', '--ignore', 'a', 'b']
    """
    found = [*(text or "").split(), *(words or ())]
    for name, value in options.items():
        if value is not False:
            found.append(f"-{name}" if len(name) == 1 else f"--{name}")
            found += [] if value is True else [str(each) for each in value] if isinstance(value, list) else [str(value)]
    return found
