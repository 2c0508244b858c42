"""What a layer can do beyond the contract; a layer has an ability if its class has the methods.

Rooms ask for these, never for a layer's name, so that a plugin's layer gets all that Hutch's own get.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.chain.reduction import Reduction

Ability = TypeVar("Ability")


class AsksForLabels(Protocol):
    """A layer on top of a chain that chooses which examples to ask labels of.

    Attributes:
        parameters: with `rule`, `weighted` and `labels`; see `active`.
        progress: structured array of length 1 with `bought`, labels so far, and what a store of answers notes in it:
            `store`, its identity, and `learned`, the number of the last answer learned.
    """

    parameters: Any
    progress: NDArray[Any]

    @property
    def threshold(self) -> float:
        """Scalar predictions above it mean the upper label."""

    @property
    def simulation(self) -> bool:
        """Whether labels stay hidden until asked for; settable."""

    @property
    def examples_per_label(self) -> float:
        """Examples that each label stands for where labels are answers; settable."""

    def trace(self, size: int) -> NDArray[Any]:
        """Record the next decisions in an array of so many entries, which it returns."""

    def pool_probabilities(
        self, scores: NDArray[np.float64], count: int, out: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """The probability of asking for each example of a pool."""

    def loss_sums(self) -> tuple[float, float, float, float, float]:
        """Sums from which the loss over all examples is estimated."""


class KeepsScales(Protocol):
    """A base learner that keeps the scale of each feature's values in the table of weights."""

    @property
    def scale_column(self) -> int | None:
        """The column of the scales; None where it keeps none, or makes features of its own beside those it is given."""


class Rescales(Protocol):
    """A base learner that can predict on another scale of labels with all that it has learned."""

    @property
    def can_rescale(self) -> bool:
        """Whether it can with its parameters, where it has a constant and one sub-model."""

    def rescale(self, weights: NDArray[np.float32], ratio: float, shift: float) -> None:
        """Predict ratio p + shift where it predicted p.

        Args:
            weights: the chain's table.
            ratio, shift: of the scales.
        """


class SumsWeights(Protocol):
    """A base learner whose prediction is the sum over the features gathered of a weight times a value."""

    def regularized(self, weights: NDArray[np.float32]) -> NDArray[np.float32]:
        """Weights of the table's first column as predictions see them."""

    def gathered(self) -> tuple[NDArray[np.uint32], NDArray[np.float32], list[list[int]]]:
        """The rows and values of the last example's features, interactions included."""


class SumsPairs(Protocol):
    """A base learner whose prediction is a sum of weights times values, and of a part for each pair of namespaces."""

    def unit(self, submodel: int) -> tuple[float, float]:
        """Mean and deviation of the labels that a sub-model learned, by which it predicts mean + deviation · sum."""

    def pair_parts(self, batch: Batch) -> list[tuple[int, int, list[float]]]:
        """Each pair of namespaces, by id, with its part of every sub-model's sum.

        Args:
            batch: the example that was predicted last, alone.
        """


class AddsFeatures(Protocol):
    """A layer that adds features to a namespace, which have names made of those that are there."""

    def added(self, names: list[str]) -> Iterable[str]:
        """Names of the features that it adds to a namespace.

        Args:
            names: of the namespace's features, in order.
        """


METRICS = "metrics"
"""The namespace of a chosen action that holds what was seen of its metrics."""


class WeighsMetrics(Protocol):
    """A layer that learns several metrics of a decision, and weighs its predictions of them.

    Attributes:
        metrics: the weight of each, by name.
        incomplete: decisions so far of which some metrics were not seen.
    """

    metrics: Mapping[str, float]
    incomplete: int

    def with_seen(self, batch: Batch, row: int, seen: Mapping[str, float]) -> Batch:
        """A batch in which a row that has none holds what was seen of its metrics.

        Args:
            batch: stays as it is.
            row: of the chosen action.
            seen: the value of each metric that was seen, by name.
        """

    def with_metrics(self, action: Mapping[str, Any], seen: Mapping[str, float]) -> dict[str, Any]:
        """The chosen action of a decision with what was seen of its metrics.

        Args:
            action: by namespace.
            seen: the value of each metric that was seen, by name.
        """


class FitsScale(Protocol):
    """A layer on top of a chain that learns the centre and the unit of each column."""

    def columns(self, submodel: int = 0) -> dict[int, tuple[float, float]]:
        """Mean and deviation of each column met, by the index of its feature."""


class KnowsNoise(Protocol):
    """A base learner of numbers that knows how far off its predictions are likely to be."""

    def numbers_posterior(self) -> Any:
        """None if it does not know; else an object with methods for a batch and the chain's weights.

        `variances(batch, weights)` is that of each label, and `half_widths(batch, weights, level)` how far an interval
        about each prediction reaches.
        """


class FarValue(NamedTuple):
    """A value so far outside those learned of its column that a prediction did not follow it.

    Attributes:
        feature: its index.
        value: the value.
        low, high: the least and the greatest that had been learned.
        values: how many such values there have been, of which this was the first.
    """

    feature: int
    value: float
    low: float
    high: float
    values: int

    @property
    def nearest(self) -> float:
        """What it counts as."""
        return self.high if self.value > self.high else self.low


class BoundsColumns(Protocol):
    """A base learner whose predictions do not follow a column far outside the values learned."""

    @property
    def far(self) -> FarValue | None:
        """The first value that was not followed; None: all were."""


class KeepsTargets(Protocol):
    """A base learner that may keep the target of each example as it was when it came."""

    @property
    def keeps_targets(self) -> bool:
        """Whether it does with its parameters, so that targets of different times must fit together."""


class LearnsFromPasses(Protocol):
    """A base learner that takes a step at the end of each whole pass, in a search that lasts for several."""

    def take_step(self) -> bool:
        """Take the step that the pass just made leads to; returns whether a further pass may help."""

    def forget_search(self) -> None:
        """Discard what the search has summed up and remembers; the weights stay."""


class FindsTopics(Protocol):
    """A base learner of topics, whose scores are the topics of a document."""

    def topic_weights(self, weights: NDArray[np.float32]) -> NDArray[np.float32]:
        """The weight of each row of the table in each topic, float32 (rows, topics)."""

    def top_words(
        self, weights: NDArray[np.float32], names: Mapping[int, Mapping[str, None]], count: int
    ) -> list[dict[str, Any]]:
        """Of each topic its number, its share of all weight, and so many of its heaviest words."""

    def learn_waiting(self) -> None:
        """Learn the documents that wait for others to be learned with."""


class SearchesLabels(Protocol):
    """A layer on top of a chain that finds labels by a search."""

    def order(self) -> list[int]:
        """All labels, in the order in which the search comes to them."""


class FindsArcs(Protocol):
    """A layer on top of a chain that gives each line of a block a head and the label of the arc to it."""

    def arcs(self, predictions: NDArray[np.float32], raw: NDArray[np.float32]) -> NDArray[np.int64]:
        """Both, int64 (lines, 2), of the predictions and raw scores of lines."""


class GivesPlaces(Protocol):
    """A base learner whose features have places in a row of limited length, in the order in which they are met."""

    @property
    def can_give_places(self) -> bool:
        """Whether it can with its parameters."""

    def give_places(self, features: NDArray[np.uint32]) -> None:
        """Give features places before they are met.

        Args:
            features: their indices.
        """


def has(layer: Reduction | type[Reduction], ability: type[Ability]) -> TypeGuard[Ability]:
    """Whether a layer, or every layer of a class, has an ability.

    Args:
        layer: the layer or the class.
        ability: one of the protocols of this module.
    """
    owner = layer if isinstance(layer, type) else type(layer)
    return all(hasattr(owner, name) for name in vars(ability) if not name.startswith("_"))
