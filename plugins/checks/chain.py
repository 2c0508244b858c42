"""A small chain around a reduction under test, examples for it, and helpers that report got and wanted."""

import tempfile
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.chain.capabilities import FindsArcs, WeighsMetrics, has
from hutch.core.chain.engine import Engine, Outputs
from hutch.core.chain.model_file import load_compact, save_model
from hutch.core.chain.reduction import Labels, LayerConfig, Reduction
from hutch.core.chain.registry import Registry
from hutch.core.config.adapter import checked
from hutch.core.data.sources import to_batches
from hutch.core.errors import ConfigError
from hutch.core.parameters import Parameters, parameters_of
from hutch.core.run.decisions import slots_of

NAMESPACES = ("left", "right", "words")
"""Namespaces of the examples; a required parameter that is a text is filled with its own name if it is one of these."""
CLASSES = 3
_BITS = 12

Example = dict[str, Any]
_OF_DECISION = ("label", "group", "importance", "tag")


@dataclass(frozen=True, slots=True)
class Bench:
    """A reduction in a chain that can be built any number of times.

    Attributes:
        layers: from the reduction down to the base learner.
        registry: the installed plugins, the reduction included.
        labels: the two labels of a chain that takes simple ones.
    """

    layers: tuple[LayerConfig, ...]
    registry: Registry
    labels: tuple[float, float] = (-1.0, 1.0)

    def engine(self, seed: int = 1) -> Engine:
        """A new chain."""
        return Engine(self.layers, self.registry, bits=_BITS, seed=seed)

    def trained(self, count: int = 240) -> tuple[Engine, list[Example]]:
        """A new chain that has learned the first examples, and all of these."""
        engine, records = self.engine(), self.records()
        run(engine, records[:count])
        return engine, records

    def with_layer(self, layer: type[Reduction], above: int = 0) -> "Bench":
        """The same with one more layer, which has no parameters, below the first so many."""
        known = Registry({**self.registry.reductions, layer.name: layer}, dict(self.registry.losses))
        layers = (*self.layers[:above], LayerConfig(layer.name, None), *self.layers[above:])
        return replace(self, layers=layers, registry=known)

    def records(self, count: int = 240, seed: int = 0) -> list[Example]:
        """Examples in groups of three with one label per group, learnable from the namespace `words`."""
        engine = self.engine()
        found = list(_examples(engine.takes, _classes(engine), self.labels, count, seed))
        return (
            [_with_arc(record, i % 3) for i, record in enumerate(found)] if has(engine.layers[0], FindsArcs) else found
        )

    def every_label(self) -> dict[int, Any]:
        """For a chain of classes: the label that names each class as the right one."""
        takes, classes = self.engine().takes, _classes(self.engine())
        return {truth + 1: _label(takes, truth, classes) for truth in range(classes)}

    def unlabeled(self, records: Sequence[Example]) -> list[Example]:
        """The same without labels."""
        return [{name: value for name, value in record.items() if name != "label"} for record in records]


def _classes(engine: Engine) -> int:
    return engine.layers[0].answers.classes or (2 if engine.takes == Labels.SIMPLE else CLASSES)


@cache  # a third of the time of all checks otherwise
def _examples(takes: Labels, classes: int, labels: tuple[float, float], count: int, seed: int) -> tuple[Example, ...]:
    random = np.random.default_rng(seed)
    found = []
    for i in range(count):
        if i % 3 == 0 or takes.of_decisions:
            truth = int(random.integers(classes))
        noise = [f"n{k}" for k in random.integers(0, 20, 3)]
        words = {f"w{truth}": 1.0, **{name: float(random.integers(1, 4)) / 2 for name in noise}}
        sides = {"left": {f"l{random.integers(6)}": 1.0}, "right": {f"r{i // 3 % 15}": 1.0}}
        label: Any = labels[truth] if takes == Labels.SIMPLE else _label(takes, truth, classes)
        own = {} if takes == Labels.NONE else {"label": label}
        found.append({**own, "group": i // 3, "tag": f"t{i // 3}", **sides, "words": words})
    return tuple(found)


def _label(takes: Labels, truth: int, classes: int) -> Any:
    if takes.of_one_line == Labels.MULTICLASS:
        return truth + 1
    if takes is Labels.NUMBERS_OF_LINES:
        return [truth + 1]
    if takes.of_decisions:  # the cost of an action; each line is one
        return float(truth > 0)
    if takes == Labels.MULTILABEL:
        return sorted({truth, (truth + 1) % classes})
    if takes == Labels.LOGGED_CLASS:
        return {"class": truth + 1, "cost": float(truth == 0), "probability": 1 / classes}
    if takes == Labels.LOGGED_NUMBER:  # logged numbers are from 0 to 1, see the example values of ranges
        return {"number": (truth + 0.5) / classes, "cost": float(truth > 0), "density": 1.0}
    return {k + 1: float(k != truth) for k in range(classes)}


def _with_arc(record: Example, place: int) -> Example:
    """A record whose label is an arc, with the number that was its label; the head follows from it and the place."""
    [number] = record["label"]
    return {**record, "label": [((0, 1, 1), (2, 0, 2))[number % 2][place], number]}


def run(engine: Engine, records: Sequence[Example], learn: bool = True) -> NDArray[np.float32]:
    """Predictions of all records, learned one after the other or only predicted."""
    found = [outputs.predictions for outputs in outcomes(engine, records, learn)]
    return np.concatenate([*found, np.zeros(0, np.float32)])


def outcomes(engine: Engine, records: Sequence[Example], learn: bool = True) -> list[Outputs]:
    """The outputs of each batch; 0 for lines without a prediction, because their group continues."""
    found = []
    for batch in batches(engine, records):
        outputs, _ = engine.run_batch(batch, learn=learn, scores=engine.takes.of_slots)
        if engine.takes.of_slots:
            outputs = replace(outputs, predictions=_of_actions(batch, outputs))
        elif engine.whole_groups:
            outputs.predictions[:-1][np.diff(batch.group) == 0] = 0
        found.append(outputs)
    return found


def batches(engine: Engine, records: Sequence[Example]) -> list[Batch]:
    """The records as batches for this chain, with the numbers of groups that they carry."""
    if engine.takes.of_slots:
        return list(to_batches("\n".join(_slots(engine.takes, records)), engine.parser))
    if engine.takes.of_decisions and not engine.takes.of_lines:
        return list(to_batches(list(_decisions(engine.takes, records)), engine.parser))
    found = list(to_batches(_with_metrics(engine, records), engine.parser))
    groups = iter(record["group"] for record in records)
    for batch in found:
        batch.group[:] = [next(groups) for _ in range(len(batch))]
    return found


def _with_metrics(engine: Engine, records: Sequence[Example]) -> list[Example]:
    """The records; for a layer that weighs metrics the labels as one of these, which is worth as much."""
    layer = next((layer for layer in engine.layers if has(layer, WeighsMetrics)), None)
    if layer is None:
        return list(records)
    name, weight = next(iter(layer.metrics.items()))
    return [layer.with_metrics(each, {name: -each["label"] / weight}) if "label" in each else each for each in records]


def _decisions(takes: Labels, records: Sequence[Example]) -> Iterator[Example]:
    """Each group of records as a decision, every one of them an action of it."""
    for number, group in groupby(records, key=lambda record: record["group"]):
        lines = list(group)
        actions = [{name: value for name, value in line.items() if name not in _OF_DECISION} for line in lines]
        actions = [action or {"words": {"nothing": 0.0}} for action in actions]
        found: Example = {"actions": actions, "importance": lines[0].get("importance", 1.0), "tag": lines[0]["tag"]}
        if "label" in lines[0] and takes == Labels.ACTION_COSTS:
            found["costs"] = [line["label"] for line in lines]
        elif "label" in lines[0]:
            chosen = number % len(lines)
            found |= {"chosen": chosen, "cost": lines[chosen]["label"], "probability": 1 / len(lines)}
        yield found


def _slots(takes: Labels, records: Sequence[Example]) -> Iterator[str]:
    """Each group of records as the actions of a decision with a slot, in Vowpal Wabbit's words."""
    slate = takes == Labels.LOGGED_SLATE
    word = "slates" if slate else "ccb"
    for number, group in groupby(records, key=lambda record: record["group"]):
        lines = list(group)
        chosen, likely = number % len(lines), 1 / len(lines)
        cost = lines[chosen].get("label")
        yield f"{word} shared{'' if cost is None or not slate else f' {cost}'} |"
        for line in lines:
            spaces = {name: line[name] for name in NAMESPACES if name in line}
            text = " ".join(f"|{name} " + " ".join(f"{k}:{v}" for k, v in spaces[name].items()) for name in spaces)
            yield f"{word} action{' 0' if slate else ''} {text or '|words'}"
        label = f" {chosen}:{likely}" if slate else f" {chosen}:{cost}:{likely}"
        yield f"{word} slot{'' if cost is None else label} |"
        yield ""


def _of_actions(batch: Batch, outputs: Outputs) -> NDArray[np.float32]:
    """The probability of each action in the one slot of its decision."""
    found = [np.array(likely, np.float32)[np.argsort(ranked)] for [(_, ranked, likely)] in slots_of(batch, outputs)]
    return np.concatenate(found)


def learned(engine: Engine) -> dict[str, NDArray[Any]]:
    """Copies of all that an engine has learned, without the counters."""
    return {name: array.copy() for name, array in engine.arrays().items() if not name.startswith("shared.")}


def reload(source: Engine, target: Engine) -> None:
    """Save one engine and load it into another."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        save_model(path, source.arrays(), {})
        target.restore(load_compact(path)[0])


def bench(
    reduction: type[Reduction],
    registry: Registry,
    parameters: Mapping[str, Any] | None = None,
    below: Sequence[Mapping[str, Any] | str] | None = None,
) -> Bench:
    """A chain around a reduction.

    Args:
        reduction: the class under test.
        registry: the installed plugins; the reduction need not be among them.
        parameters: its parameters; None: its defaults, and plausible values for those without one.
        below: the layers below it as in YAML; None: found by the requirements of the reduction.

    Raises:
        ConfigError: the parameters are not valid, or no installed layer fits below.
    """
    known = Registry({**registry.reductions, reduction.name: reduction}, dict(registry.losses))
    given = plausible(reduction.Parameters) if parameters is None else parameters
    top = LayerConfig(reduction.name, checked(reduction.Parameters, given))
    if below is not None or reduction.is_base:
        return Bench((top, *(_layer(entry, known) for entry in below or ())), known)
    why = ""
    stacks, classes = _stacks(known, reduction), getattr(top.parameters, "classes", None)
    for stack in [*stacks, *(_of_classes(known, stack, classes) for stack in stacks if classes)]:
        try:
            candidate = Bench((top, *(_layer(name, known) for name in stack)), known)
            candidate.engine()
        except (ConfigError, ValueError) as error:
            why = why or f"; with {', '.join(map(str, stack))} below it: {error}"
            continue
        return candidate
    raise ConfigError(f"no installed layer fits below {reduction.name!r}; give `below`{why}")


def _layer(entry: Mapping[str, Any] | str, registry: Registry) -> LayerConfig:
    name, given = (entry, None) if isinstance(entry, str) else next(iter(entry.items()))
    kind = registry.reductions[name].Parameters
    return LayerConfig(name, checked(kind, plausible(kind) if given is None else given))


def _of_classes(
    registry: Registry, stack: Sequence[Mapping[str, Any] | str], classes: int
) -> Sequence[Mapping[str, Any] | str]:
    """Layers with so many classes, where they have a parameter for that."""
    found: list[Mapping[str, Any] | str] = []
    for entry in stack:
        kind = registry.reductions[entry].Parameters if isinstance(entry, str) else Parameters
        if isinstance(entry, str) and any(each.name == "classes" for each in parameters_of(kind)):
            entry = {entry: {**plausible(kind), "classes": classes}}
        found.append(entry)
    return found


def _stacks(registry: Registry, reduction: type[Reduction]) -> list[Sequence[Mapping[str, Any] | str]]:
    """One base learner, `linear` first, and each with other losses, too; what it asks for; one layer on a learner."""
    bases = sorted(
        (name for name, cls in registry.reductions.items() if cls.is_base), key=lambda name: name != "linear"
    )
    others = [name for name, cls in _telling(registry) if not cls.is_base and cls is not reduction]
    stacks: list[Sequence[Mapping[str, Any] | str]] = []
    for base in bases:
        given = plausible(registry.reductions[base].Parameters)
        stacks += [[base], *([{base: {**given, "loss": loss}}] for loss in ("logistic", "squared"))]
    stacks += _asked(registry, reduction)
    return stacks + [[other, base] for other in others for base in bases]


def _telling(registry: Registry) -> list[tuple[str, type[Reduction]]]:
    """All layers, last those whose predictions are known to show nothing of what is learned below them."""
    return sorted(registry.reductions.items(), key=lambda each: "learns" in each[1].known_failures)


def _asked(registry: Registry, reduction: type[Reduction], above: tuple[str, ...] = ()) -> Iterator[list[str]]:
    """Stacks of layers, each as required by the one above it; base learners where one is required, `linear` first."""
    labels, predictions = reduction.asks or (None, None)
    fitting = [
        (name, cls)
        for name, cls in _telling(registry)
        if cls.takes is not None and cls.takes == labels and predictions in (None, cls.predicts)
    ]
    bases = sorted(([name] for name, cls in fitting if cls.is_base), key=lambda stack: stack != ["linear"])
    yield from bases
    for name, cls in fitting if ["linear"] not in bases else []:
        if not cls.is_base and cls.asks is not None and cls.asks != reduction.asks and name not in above:
            yield from ([name, *rest] for rest in _asked(registry, cls, (*above, name)))


def plausible(kind: type[Any]) -> dict[str, Any]:
    """Values for the parameters that have no default: their `ExampleValue` if they have one, else by type and name."""
    return {
        parameter.name: (*parameter.examples, _value(parameter.name, parameter.annotation))[0]
        for parameter in parameters_of(kind)
        if parameter.required
    }


def _value(name: str, annotation: Any) -> Any:
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType, typing.Annotated):
        return _value(name, inner[0])
    if origin in (tuple, list):
        return list(NAMESPACES[:2]) if inner[0] is str else [_value(name, inner[0])]
    if isinstance(annotation, type) and is_dataclass(annotation):
        return plausible(annotation)
    if annotation in (int, float):
        return CLASSES if annotation is int else 0.5
    return name if name in NAMESPACES else NAMESPACES[0]


def expect(good: bool, what: str, got: Any, wanted: Any) -> None:
    """Fail unless `good`."""
    if not good:
        raise AssertionError(f"{what}: got {got}, wanted {wanted}")


def finite(predictions: NDArray[np.float32], what: str) -> None:
    """Fail if a prediction is NaN or infinite."""
    bad = predictions[~np.isfinite(predictions)]
    expect(not len(bad), what, bad[:1], "finite predictions")


def same(left: dict[str, NDArray[Any]], right: dict[str, NDArray[Any]], what: str) -> None:
    """Fail if the learned arrays of two engines differ in any bit."""
    for name, array in left.items():
        expect(bool(np.array_equal(array, right[name], equal_nan=True)), f"{what}: {name}", "other bits", "the same")


def identical(got: NDArray[np.float32], wanted: NDArray[np.float32], what: str) -> None:
    """Fail at the first prediction that is not the same."""
    different = np.flatnonzero(got != wanted)
    if len(different):
        i = int(different[0])
        raise AssertionError(f"{what}: example {i}: got {got[i]!s}, wanted {wanted[i]!s}")
