"""Warnings about data that are valid for a chain, but probably a mistake: labels and names that do not fit it."""

import weakref
from collections.abc import Callable, Iterator

import numpy as np

from hutch.core.batch import Batch
from hutch.core.chain.capabilities import BoundsColumns, has
from hutch.core.chain.derived import accepted, first_class
from hutch.core.chain.engine import Engine
from hutch.core.chain.label_check import counted_classes
from hutch.core.chain.m_step import MStepReduction
from hutch.core.chain.outputs import Outputs
from hutch.core.chain.reduction import Labels
from hutch.core.errors import at, counted
from hutch.core.text.hashing import namespace_id


def lacks_labels(engine: Engine, examples: int, labeled: float) -> bool:
    """Whether a chain that has seen examples, none with a label, has no layer that learns from those, too.

    Args:
        engine: the chain.
        examples, labeled: numbers of examples, and of those with a label by importance.
    """
    return bool(examples and not labeled) and not any(isinstance(layer, MStepReduction) for layer in engine.layers)


def about_no_labels(engine: Engine) -> str:
    """Message if `lacks_labels` holds."""
    costs = engine.takes is Labels.COST_SENSITIVE
    hint = "; a label of this chain gives classes their costs, as in 1:0 2:1" if costs else ""
    return f"no example had a label: nothing was learned{hint}"


def overflow_in(engine: Engine, batch: Batch, outputs: Outputs, before: int) -> str:
    """Message about the first example whose score or loss is beyond float32; empty without one.

    Args:
        engine: the chain.
        batch, outputs: learned last, and its outputs.
        before: number of earlier examples.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        wrong = ~np.isfinite(outputs.raw) | np.isinf(outputs.losses)
    if not wrong.any():
        return ""
    row = int(np.argmax(wrong))
    score, rated = float(outputs.raw[row]), hasattr(engine.layers[-1].parameters, "learning_rate")
    if np.isfinite(score):
        got = f"label {batch.labels[row]:g}, prediction {outputs.predictions[row]:g}: the loss is beyond float32"
    else:
        got = f"the score is {score:g}: weights, or their products with the features, have grown beyond float32"
    advice = "scale features, labels and importances down" + ", or lower the learning rate" * rated
    return f"example {before + row + 1}: {got}; {advice}"


def _named_namespaces(engine: Engine) -> dict[int, tuple[str, str]]:
    """The namespaces that layers name and no layer above makes, by id: name, and the layer that names it."""
    found: dict[int, tuple[str, str]] = {}
    made: set[str] = set()
    for name in engine.parser.made.namespaces if engine.parser.made else ():
        found[namespace_id(name, engine.parser.namespaces)] = name, "input"
    for k, layer in enumerate(engine.layers):
        for name in layer.inputs.namespaces:
            if name not in made:
                found.setdefault(namespace_id(name, engine.parser.namespaces), (name, f"chain[{k}].{layer.name}"))
        made.update(layer.inputs.made_namespaces)
    return found


class Unexpected:
    """Gathers the labels that do not fit a chain, and the namespaces that it names and no example has.

    Each is reported once.

    Args:
        engine: the chain.

    Attributes:
        labels: number of such labels seen.
        first: the first of them, None before it.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine: Engine = weakref.proxy(engine)  # which holds this: memory is freed without a search for cycles
        self._missing = _named_namespaces(engine)  # no example has had these yet: most likely they are misspelt
        self.labels = 0
        self.first: float | None = None
        self._told: set[str] = set()
        self._place = self._zero_place = ""  # of the first such label, and of the first label 0
        self._seen = self._example = self._zeros = 0

    @property
    def watches_namespaces(self) -> bool:
        """Whether some namespace is still being looked for."""
        return bool(self._missing)

    def see(self, batch: Batch, place_of: Callable[[int], str] = lambda row: "") -> None:
        """Look at a batch that was learned.

        Args:
            batch: the examples.
            place_of: file, line and column of a row, empty if they are unknown.
        """
        for found in [name for name in self._missing if np.any(batch.namespace_id == np.uint32(name))]:
            del self._missing[found]
        rows, labels = self._engine.label_check.unexpected(batch)
        self.labels += len(labels)
        if len(labels) and self.first is None:
            self.first, row = float(labels[0]), int(rows[0])
            self._place, self._example = place_of(row), self._seen + row + 1
        zeros = np.flatnonzero(batch.labels == 0)
        self._zeros += len(zeros)
        if len(zeros) == self._zeros > 0:
            self._zero_place = place_of(int(zeros[0]))
        self._seen += len(batch)

    def about_missing_labels(self) -> Iterator[str]:
        """Message if no example had a label."""
        seen = self._engine.statistics
        if lacks_labels(self._engine, seen.examples, seen.weighted_labeled) and self._is_new("no labels"):
            yield about_no_labels(self._engine)

    def about_labels(self, learned: bool = True) -> Iterator[str]:
        """Messages about the labels; `learned`: the chain has learned, not only predicted."""
        if self.first is not None and self._is_new("labels"):
            noun = "action" if self._engine.takes in (Labels.LOGGED_CLASS, Labels.LOGGED_NUMBER) else "label"
            such = f"{noun} {self.first:g}" if self.labels == 1 else f"{self.labels} {noun}s such as {self.first:g}"
            them = "it" if self.labels == 1 else "them"
            if not learned:
                done = ""
            elif all(layer.inputs.learns_any_label for layer in self._engine.layers) and not self._of_classes:
                done = f", but learned from {them} all the same"
            else:
                done = f", and learned nothing from {them}"
            such = such if self._place else f"{such} (example {self._example})"
            yield at(self._place, None, None, f"{such}: this chain is not made for {them}{done}{self._wanted()}")
        if np.isnan(self._engine.statistics.sum_loss) and self._is_new("loss"):
            choice = self._engine.layers[0].answers.loss
            whose = f"the loss {choice.name!r}" if choice else f"the loss of {self._engine.layers[0].name!r}"
            yield f"{whose} gave nan for an example: the mean loss is unknown, and learning from it may be wrong"
        if (doubt := self._engine.label_check.doubts()) and self._is_new("classes"):
            zeros = f"labels go from 0 to 1, {self._zeros} of them {'is' if self._zeros == 1 else 'are'} 0: {doubt}"
            yield at(self._zero_place, None, None, zeros)
        if (text := counted_classes(self._engine.layers)) and self._is_new("counted classes"):
            yield text
        for layer in self._engine.layers:
            if (text := layer.doubts()) and self._is_new(f"layer {layer.name}"):
                yield f"{layer.name}: {text}"
        if not learned:
            yield from self.about_far_values()

    def about_far_values(self) -> Iterator[str]:
        """Messages about values that predictions did not follow."""
        for layer in self._engine.layers:
            name = layer.name
            if has(layer, BoundsColumns) and (far := layer.far) and self._is_new(f"far values {name}"):
                some = f"{counted(far.values, 'value')} far outside those learned, first {far.value:g}"
                yield (
                    f"{name}.extrapolation: got {some}, where {far.low:g} to {far.high:g} were learned of its "
                    f"column; it counts as {far.nearest:g}"
                )

    def _is_new(self, what: str) -> bool:
        """Whether something is reported for the first time; records it."""
        new = what not in self._told
        self._told.add(what)
        return new

    @property
    def _of_classes(self) -> bool:
        """Whether labels name classes and their costs."""
        return self._engine.takes is Labels.LOGGED_CLASS or self._engine.takes.lists_classes

    def _wanted(self) -> str:
        """Which classes or numbers are wanted."""
        top = self._engine.layers[0]
        first, classes = min(first_class(top), 1), top.answers.classes or top.answers.score_count
        if classes and (self._of_classes or self._engine.takes is Labels.MULTICLASS):
            noun = "actions" if self._engine.takes is Labels.LOGGED_CLASS else "classes"
            return f", wanted {noun} from {first} to {first + classes - 1}"
        if top.answers.label_range is not None and self._engine.takes is Labels.LOGGED_NUMBER:
            low, high = top.answers.label_range
            return f", wanted a number from {low:g} to {high:g}"
        signs = accepted(top, np.array([-1, 0, 1], np.float32)).tolist()
        return ", wanted -1 or 1" if signs == [True, False, True] else ""

    def about_namespaces(self) -> Iterator[str]:
        """Messages about namespaces, one each."""
        missing, self._missing = self._missing, {}
        for name, layer in missing.values():
            yield f"{layer} names the namespace {name!r}, which no example has"
