"""The compositions of a layer: under and over every installed layer and loss that its declarations allow.

Each chain learns examples whose class stands in their words. It learns more than chance if its progressive loss in the
second half is lower than that of a twin whose labels were dealt out anew, or if a layer declares that it learns later.
It resumes if a saved half and the rest are, bit for bit, the whole. Where chance costs nothing, the loss cannot tell.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hutch.core.chain.label_check import counted_classes
from hutch.core.chain.reduction import Labels, LayerConfig, Reduction
from hutch.core.chain.registry import Registry
from hutch.core.config.adapter import checked
from hutch.core.errors import HutchError, UsageError
from hutch.core.loss.losses import LossLabels
from hutch.plugins.checks.chain import Bench, Example, bench, learned, outcomes, plausible, reload
from hutch.plugins.manager import installed

_COUNT, _GROUP = 480, 3  # examples, and those of a group, which share a label
_BETTER = 0.95  # a loss is below so much of that of chance


@dataclass(frozen=True, slots=True)
class Composition:
    """A chain that was tried.

    Attributes:
        chain: its layers from the top, with the loss of the last if it was set.
        loss: its mean progressive loss in the second half of the examples.
        chance: the same of the twin.
        problem: what is wrong; empty if nothing is.
    """

    chain: str
    loss: float
    chance: float
    problem: str = ""


def compositions(reduction: type[Reduction], registry: Registry) -> Iterator[Composition]:
    """Try all chains of a layer and one other layer or loss.

    Args:
        reduction: the layer.
        registry: the installed plugins.

    Raises:
        ConfigError: no installed layer fits below it.
    """
    own = bench(reduction, registry)
    seen = set()
    for made in [own, *_losses(own), *_below(own), *_above(own)]:
        chain = " over ".join(map(_called, made.layers))
        if chain not in seen and _fits(made):
            seen.add(chain)
            yield _tried(chain, made)


def compositions_of(name: str) -> Iterator[Composition]:
    """Try all chains of the layers that have a name, or that a plugin or a distribution of that name has.

    Raises:
        UsageError: there are none.
    """
    plugins, registry = installed(), installed().registry
    origins = {plugin.name for plugin in plugins if name in (plugin.name, plugin.distribution)}
    layers = [each for each in registry.reductions if each == name or registry.origins["reductions", each] in origins]
    if not layers:
        raise UsageError(f"--matrix: got {name!r}, wanted a layer, or a plugin with one")
    for layer in layers:
        yield from compositions(registry.reductions[layer], registry)


def _called(layer: LayerConfig) -> str:
    loss = getattr(getattr(layer.parameters, "loss", None), "name", None)
    return f"{layer.name} ({loss})" if loss else layer.name


def _losses(own: Bench) -> Iterator[Bench]:
    """The chain with each loss, if its last layer has one."""
    *above, base = own.layers
    kind = own.registry.reductions[base.name].Parameters
    if not hasattr(base.parameters, "loss"):
        return
    takes = own.engine().takes
    for name, loss in own.registry.losses.items():
        if loss.labels != LossLabels.REAL and takes not in (Labels.SIMPLE, Labels.MULTICLASS):
            continue  # costs are numbers
        try:
            last = LayerConfig(base.name, checked(kind, {**plausible(kind), "loss": name}))
        except (HutchError, ValueError):
            continue
        counts = loss.labels == LossLabels.COUNT
        yield replace(own, layers=(*above, last), labels=(0.0, 3.0) if counts else own.labels)


def _below(own: Bench) -> Iterator[Bench]:
    """The layer above each other one."""
    top = own.layers[0]
    if own.registry.reductions[top.name].is_base:
        return
    for name, other in own.registry.reductions.items():
        if name != top.name:
            try:
                below = bench(other, own.registry).layers
            except Exception:  # another plugin may raise anything, and is not the one that is tried
                continue
            yield replace(own, layers=(top, *below))


def _above(own: Bench) -> Iterator[Bench]:
    """The layer below each other one."""
    for name, other in own.registry.reductions.items():
        if not other.is_base and name != own.layers[0].name:
            try:
                above = LayerConfig(name, checked(other.Parameters, plausible(other.Parameters)))
            except (HutchError, ValueError):
                continue
            yield replace(own, layers=(above, *own.layers))


def _fits(made: Bench) -> bool:
    """Whether the declarations of the layers allow the chain, and its loss takes what they teach."""
    try:
        engine = made.engine()
    except Exception:  # a layer of another plugin may raise anything
        return False
    return counted_classes(engine.layers) is None


def _tried(chain: str, made: Bench) -> Composition:
    loss = chance = float("nan")
    try:
        records = made.records(_COUNT)
        loss, chance = _loss(made, records), _loss(made, _dealt(records))
        known = [made.registry.reductions[layer.name].known_failures for layer in made.layers]
        late = any("learns" in each or "lowers_loss" in each for each in known)
        late |= made.engine().takes is Labels.LOGGED_NUMBER  # the cost of a number is known where it was drawn
        problem = "" if loss < _BETTER * chance or not chance or late else "learns no more than chance"
        return Composition(chain, loss, chance, problem or _resumed(made, records))
    except Exception as error:  # third-party code may raise anything
        return Composition(chain, loss, chance, f"{type(error).__name__}: {error}")


def _loss(made: Bench, records: Sequence[Example]) -> float:
    """The mean loss of the second half, each example before it is learned."""
    found = outcomes(made.engine(), records, True)
    losses = np.concatenate([outputs.losses for outputs in found])
    return float(losses[len(losses) // 2 :].mean())


def _dealt(records: Sequence[Example]) -> list[Example]:
    """The same examples with labels of other groups."""
    labels = [record["label"] for record in records]
    order = np.random.default_rng(1).permutation(len(labels) // _GROUP)
    other = [labels[_GROUP * k + j] for k in order.tolist() for j in range(_GROUP)]
    return [{**record, "label": label} for record, label in zip(records, other, strict=True)]


def _resumed(made: Bench, records: Sequence[Example]) -> str:
    """What is wrong when a chain is saved halfway; empty if nothing is."""
    half = len(records) // 2 // _GROUP * _GROUP
    whole, first, second = made.engine(), made.engine(), made.engine()
    for engine, some in ((whole, records[:half]), (whole, records[half:]), (first, records[:half])):
        outcomes(engine, some, True)
    reload(first, second)
    outcomes(second, records[half:], True)
    wanted: dict[str, Any] = learned(whole)
    differing = [
        name for name, array in learned(second).items() if not np.array_equal(array, wanted[name], equal_nan=True)
    ]
    return f"a saved half and the rest are not the whole: {differing[0]} differs" if differing else ""
