"""How lines and examples go through the chain of a workspace: one at a time where nothing asks for more."""

from argparse import Namespace
from collections.abc import Sequence
from io import StringIO
from typing import Any

import numpy as np

from hutch.chain import Chain
from hutch.core.batch import Batch
from hutch.core.chain.engine import Outputs
from hutch.core.chain.reduction import Labels
from hutch.core.errors import DataError
from hutch.core.run.decisions import classes_of, ranked_actions, slots_of
from hutch.core.run.one import OneExample
from hutch.core.run.one_decision import OneDecision, text_of
from hutch.core.text.parser import TextParser
from hutch.vw.header import output_kind
from hutch.vw.lines import LineReader
from hutch.vw.outputs import layer_named
from hutch.vw.python.counts import Counts
from hutch.vw.python.example import Example, Prediction
from hutch.vw.python.kinds import PredictionType
from hutch.vw.python.weights import Weights
from hutch.vw.session import Session

REPORTS = ("predictions", "raw_predictions", "audit", "invert_hash", "extra_metrics")
"""Options that ask for reports on each example."""


class Running(Weights):
    """The part of VW's `Workspace` that reads, runs and finishes examples.

    Attributes:
        words: the command line.
        options: the same, read.
        parser_ran: whether data of `-d` was read.
        multiline: whether an example is a decision of several lines.
    """

    words: list[str]
    options: Namespace
    parser_ran: bool
    _log: StringIO | None

    def _begin(self, chain: Chain) -> None:
        """Prepare for examples."""
        self.chain, given = chain, self.options
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
        self._session = self._new_session()
        plain = self._reader is None and self._json is None and self._session is None
        single = not chain.takes.of_decisions and chain.takes is not Labels.LOGGED_CLASS
        self._fast = plain and single and kind in (PredictionType.SCALAR, PredictionType.MULTICLASS)
        decides = chain.takes.of_actions
        of_actions = kind in (PredictionType.ACTION_SCORES, PredictionType.ACTION_PROBS)
        self._decision = OneDecision(chain) if plain and decides and of_actions else None
        self._counts = Counts(chain.shared)
        self.multiline = bool(chain.takes.of_decisions)
        self._updates = False
        self._latest: Example | None = None
        if given.scores and (classes := layer_named(chain, "one_against_all")) is not None:
            classes.state["early"] = 1
        self.finished = False

    def _new_session(self) -> Any:
        """The reports of the examples, None if nothing asks for any: they need every example as a batch."""
        if self.parser_ran or not (
            self._log is not None or any(getattr(self.options, name) not in (None, False) for name in REPORTS)
        ):
            return None
        session = Session(self.chain, self.options, self._parser, shows=self._log is not None)
        if self._json is not None and session.watchers:
            self._json.watchers.append(lambda names, batch: session.look([], names, batch))
        return session

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
        if self.multiline:
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
        if several != self.multiline:
            raise ValueError(f"Learner is {'multi' if self.multiline else 'single'}line, got the other kind of example")
        first: Any = ex[0] if several else ex
        if first.finished:
            return
        self._counts.add(first.counted)
        if self._session is not None and first.seen is not None:
            self._session.count(first.seen)
        examples: Any = ex if several else [ex]
        for each in examples:
            each.finished = True

    def setup_example(self, example: Example) -> None:
        """The same as `Example.setup_example`."""
        example.setup_example()

    def unsetup_example(self, example: Example) -> None:
        """The same as `Example.unsetup_example`."""
        example.unsetup_example()

    def batch_of(self, lines: Sequence[str]) -> Batch:
        """Lines as a batch, valid until the next call.

        Raises:
            DataError: a class that `--named_labels` does not name.
        """
        texts = [line.encode() for line in lines]
        if self._json is not None and texts[0].lstrip().startswith(b"{"):
            batch: Batch = self._json.parse(b"\n".join(texts), self._parser)
            return batch
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
                ec.outcome = one.raw.item(0), one.losses.item(0)
                ec.counted, ec.setup_done = self._counts.taken_back(before), True
                if learn:
                    self._learned(ec)
                return [ec]
        if self._decision is not None and type(ec) is list and ec and type(ec[0]) is Example:
            before = self._counts.now
            text = text_of([each.line for each in ec])
            scores = self._decision.run(text, learn) if text else None
            if scores is not None:
                ec[0].counted, values = self._counts.taken_back(before), scores.tolist()
                for each in ec:
                    each.prediction, each.setup_done = values, True
                return ec
        made = isinstance(ec, Example) or (not isinstance(ec, str) and bool(ec) and isinstance(ec[0], Example))
        if not isinstance(ec, str | Example | list | tuple):
            raise TypeError(f"expecting string, example object, or list of example objects, got {type(ec)}")
        if not isinstance(ec, str | Example) and not self.multiline:
            raise TypeError("Expecting a multiline learner.")
        if not isinstance(ec, Example) and not ec:
            raise ValueError("An empty list is invalid")
        found = self.parse(ec)
        examples: list[Example] = [found] if isinstance(found, Example) else list(found)
        self._run_examples(examples, learn, made)
        return examples

    def _run_examples(self, examples: list[Example], learn: bool, made: bool) -> None:
        """Run the lines of an example or of a decision as a batch, and give each its prediction.

        Args:
            examples: the lines.
            learn: or only predict.
            made: they are objects, which count when they are finished.
        """
        lines = [example.line for example in examples]
        batch = self.batch_of(lines)
        if not len(batch):
            raise DataError(f"<example>: got {lines[0]!r}, which is not an example")
        if self.multiline and batch.group[0] != batch.group[-1]:
            raise DataError("<example>: got an empty line between actions, wanted one decision")
        session = self._session
        if session is None:
            before = self._counts.now
            outputs, _ = self.chain.run_batch(batch, learn=learn, scores=True)
        else:
            if self._json is None:
                session.look(lines, {}, batch)
            before = self._counts.now
            seen = session.run(batch, learn)
            outputs, examples[0].seen = seen.outputs, seen.kept() if made else None
        if made:
            examples[0].counted = self._counts.taken_back(before)
        self._tell(examples, batch, outputs)
        for example in examples if made else ():
            example.setup_done = True
        if made and learn and not self.multiline:
            self._learned(examples[0])
        if session is not None and not made:
            session.count(seen)

    def _learned(self, example: Example) -> None:
        self._latest = example
        example.updated = self._predicted_again(example) if self._updates else None

    def _predicted_again(self, example: Example) -> float:
        """The raw prediction of an example, without counting it."""
        one = self._one.run(example.line, False) if self._fast else None
        if one is None:
            before = self._counts.now
            one, _ = self.chain.run_batch(self.batch_of([example.line]), learn=False)
            self._counts.taken_back(before)
        return float(one.raw[0])

    def updated_prediction(self, example: Example) -> float:
        """See `Example.get_updated_prediction`."""
        self._updates = True
        if example.updated is None:
            if self._latest is not example:
                wanted = "it directly after the first learn()"
                raise RuntimeError(f"get_updated_prediction: another example was learned since, wanted {wanted}")
            example.updated = self._predicted_again(example)
        return example.updated

    def _tell(self, examples: list[Example], batch: Batch, outputs: Outputs) -> None:
        """Give each line its prediction."""
        values: list[Prediction]
        lists = (PredictionType.ACTION_SCORES, PredictionType.ACTION_PROBS, PredictionType.SCALARS)
        if self._kind is PredictionType.SCALARS and not self.chain.predicts.of_actions:
            values = outputs.scores.tolist()
        elif self._kind is PredictionType.ACTION_PDF_VALUE:
            values = [(float(outputs.predictions[0]), float(outputs.scores[0, 0]))]
        elif self._kind is PredictionType.PDF:
            known = outputs.scores[0][~np.isnan(outputs.scores[0])].reshape(-1, 3)
            values = [[tuple(segment) for segment in known.tolist()]]
        elif self.chain.takes.of_slots:
            [slots] = slots_of(batch, outputs)
            pairs: Any = [list(zip(ranked, likely, strict=True)) for _, ranked, likely in slots]
            values = [pairs] * len(examples)
        elif self._kind in lists:
            [(_, _, scores)] = ranked_actions(batch, outputs)
            values = [scores] * len(examples)
        elif self.chain.takes.value == "action_costs":
            values = [classes_of(batch)[int(outputs.ranked[0])], *[0] * (len(examples) - 1)]  # as VW: in its first line
        elif self.chain.takes.value == "logged_class":
            [(_, ranked, _)] = ranked_actions(batch, outputs)
            values = [ranked[0] + 1]
        else:
            values = [self._number(value) for value in outputs.predictions.tolist()]
        for example, value in zip(examples, values, strict=False):
            example.prediction = value
        if not self.multiline:
            examples[0].outcome = float(outputs.raw[0]), float(outputs.losses[0])
