"""Optional declarations of layers, in groups with defaults: a layer without them works, and does not take part."""

from collections.abc import Mapping
from dataclasses import dataclass

from hutch.core.loss.losses import LossChoice


@dataclass(frozen=True, slots=True)
class Inputs:
    """A layer's requirements on examples.

    Attributes:
        namespaces: names of the namespaces that its parameters name; a warning follows if no example has one of them.
        made_namespaces: names of the namespaces that it makes for the layers below.
        joins: True if it wants a namespace that an action and the shared line of its decision both have as two pieces
            with the same id, one behind the other, and makes one of them.
        whole_groups: True if no batch may end within a group of lines: readers then cut between groups.
        passes_decisions: True for a layer without `takes` that never looks at an example's features, so that it may
            stand above layers that take decisions.
        learns_any_label: False if nothing is learned from a label that is not one of its classes.
        soft_labels: True for a layer of classes that learns a soft label, the shares in EXAMPLE.targets, from a call of
            `learn` whose label is UNLABELED, and for a layer above one that hands the two on. Others get one hard label
            per class, weighted by its share.
        one_pass: True for a learner that keeps all it has learned of an example, and to which the same example again is
            a second observation: layers above do not show it an example twice on their own.
        buys_labels: True for a layer that pays for the labels it learns: a second pass would pay for them again.
        fits_scale: True for a layer that learns the scale of the columns of tables, which it is shown before they are
            learned from; see `hutch.core.chain.capabilities.FitsScale`.
        keeps_zeros: True if a feature of value 0 differs from a missing one: readers then keep it.
        pairs_namespaces: True for a learner of pairs of namespaces: words of a stream's rows, which have none, are then
            namespaces of their own.
        adds_examples: True for a layer that has those below learn examples of its own making, whose losses count: what
            a constant would lose does not follow from the labels.
    """

    namespaces: tuple[str, ...] = ()
    made_namespaces: tuple[str, ...] = ()
    joins: bool = False
    whole_groups: bool = False
    passes_decisions: bool = False
    learns_any_label: bool = True
    soft_labels: bool = False
    one_pass: bool = False
    buys_labels: bool = False
    fits_scale: bool = False
    keeps_zeros: bool = False
    pairs_namespaces: bool = False
    adds_examples: bool = False


@dataclass(frozen=True, slots=True)
class Answers:
    """The meaning of the predictions of a layer, or of the nearest layer below that declares it.

    Attributes:
        classes: number of classes; None if unknown.
        score_count: number of scores per example on request; 0 if it has none.
        scores_are_probabilities: True if these scores are probabilities of the classes.
        decision_threshold: the prediction above which it means the upper of two labels.
        linked: True if a function was applied to what the base learner predicts.
        labels: the only labels that it is made for; None: those of its classes, or of its loss.
        label_range: the least and the greatest number that may have been chosen, where labels are logged numbers.
        loss: the loss by which it learns; None if unknown.
        loss_kind: of that loss, one of `hutch.core.loss.kinds`; None if unknown.
        sensitivity_is_variance: True if the kernel `sensitivity` returns the posterior variance of the prediction.
    """

    classes: int | None = None
    score_count: int = 0
    scores_are_probabilities: bool = False
    decision_threshold: float = 0.0
    linked: bool = False
    labels: tuple[float, ...] | None = None
    label_range: tuple[float, float] | None = None
    loss: LossChoice | None = None
    loss_kind: int | None = None
    sensitivity_is_variance: bool = False


@dataclass(frozen=True, slots=True)
class Shortcuts:
    """Promises of a base learner beyond the contract, so that layers above or the driver save work.

    Attributes:
        differences: True if the offset that `learn` and `importance_to` get may name two sub-models, the offset of the
            first in the low 32 bits, 1 + that of the second in the high ones: they then see and move the difference of
            the two predictions, EXAMPLE.base added once.
        exact_updates: True if learning in one sub-model changes the predictions of no other, and if EXAMPLE.raw is then
            what `predict` returned before for this one, and EXAMPLE.updated the prediction now.
        updates_at: address of an int64 that grows whenever its predictions may change by learning; 0 without one.
        loss_at: where its kernels find the address of their LOSS record, which a layer above may exchange; 0: nowhere.
        looks_ahead: True if it fetches the rows of the next example itself where it stands alone (EXAMPLE.next_length
            tells how many); else the driver does.
    """

    differences: bool = False
    exact_updates: bool = False
    updates_at: int = 0
    loss_at: int = 0
    looks_ahead: bool = False


@dataclass(frozen=True, slots=True)
class Parallel:
    """How several chains over shards of the data merge a layer.

    Attributes:
        merging: how the states of chains over shards of the data become one state, for each array of `saved`: `add`
            (what the shards added), `mean`, `least`, `greatest`, `keep` (it does not change while a pass lasts), or
            `mean:W` and `squares:W:M` for the mean M and the sum of squares about it of values whose weights add up in
            W. An empty mapping if there are no arrays; None: the chain cannot be divided.
        scaled: of a base learner: how many columns of its rows, the first, may be moved further than shards moved them
            on average; None: all.
    """

    merging: Mapping[str, str] | None = None
    scaled: int | None = None
