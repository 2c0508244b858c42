"""Examples of Vowpal Wabbit's Python interface: a line of text with its predictions, whose features can be changed."""

from collections.abc import Iterator, Mapping
from typing import Any

from hutch.core.batch import CONSTANT_NAMESPACE, Batch
from hutch.vw.python.kinds import LabelType, PredictionType
from hutch.vw.python.labels import AbstractLabel, get_label_class_from_enum, label_class
from hutch.vw.python.spaces import (
    CONSTANT_PAIR,
    ExampleNamespace,
    NamespaceId,
    Space,
    Spaces,
    line_of,
    pairs_of,
)

Prediction = float | int | list[float] | tuple[float, ...] | list[tuple[float, ...]]
Named = NamespaceId | str | int
"""A namespace: an object, its name, or its place."""

_FIRST = {PredictionType.SCALAR: 0.0, PredictionType.MULTICLASS: 0}


class Example:
    """An example that can be learned and predicted, and is then finished; made by `Workspace.example`.

    Args:
        vw: the workspace that it belongs to.
        content: a line; or features by namespace, as a mapping or a list of names, rows and (name or row, value); None
            for nothing.
        labelType: of no effect: the chain determines the kind of labels.

    Attributes:
        vw: its workspace.
        finished: whether it was counted.
        setup_done: whether the constant is among its features; learning and predicting see to that.
        prediction: the latest one.
        outcome: partial prediction and loss of the latest run.
        counted: the counters before and after its latest run.

    Raises:
        TypeError: content of another kind.
        DataError: a value that is not a number.
    """

    seen: Any = None
    """Its latest run, for the reports of the workspace; None without any."""
    updated: float | None = 0.0
    """The prediction after it was last learned; None if the workspace was not asked for it by then."""

    def __init__(self, vw: Any, content: str | Mapping[str, Any] | None = None, labelType: Any = None) -> None:
        self.vw = vw
        self.finished = False
        self.counted = b"", b""
        self.outcome = 0.0, 0.0
        self._spaces: Spaces | None = None
        self.prediction: Prediction = _FIRST.get(vw.get_prediction_type(), [])
        self.setup_done = isinstance(content, str)
        if isinstance(content, str):
            label, bar, features = content.partition("|")
            self._label, self._features = label, bar + features
            return
        if content is not None and not isinstance(content, Mapping):
            raise TypeError("expecting string or dict as argument for example construction")
        self._label = ""
        line = "|" if content is None else line_of(content)
        self._features = line or ""
        if content is not None and line is None:
            self._spaces = Spaces(vw.parser_options)
            self.push_feature_dict(vw, content)

    @property
    def line(self) -> str:
        """The example as a line of text."""
        return self._label + (self._features or self._write())

    def _write(self) -> str:
        if self._spaces is not None:
            self._features = self._spaces.text()
        return self._features

    @property
    def has_run(self) -> bool:
        """Whether it was learned or predicted."""
        return bool(self.counted[0])

    @property
    def labelType(self) -> LabelType:
        """The kind of its label."""
        kind: LabelType = self.vw.get_label_type()
        return kind

    @property
    def label_text(self) -> str:
        """Its label as text, without the tag."""
        text = self._label
        return text if not text or text[-1].isspace() else " ".join(text.split()[:-1])

    @property
    def stride(self) -> int:
        """The numbers that the weight table has per row."""
        return int(self.vw.get_stride())

    def set_label_string(self, string: str) -> None:
        """Set its label, in the form before the bar of a line."""
        self._label = f"{string} "

    def get_label(self, label_class_: Any = None) -> AbstractLabel:
        """Its label, of the kind that the chain takes; VW's largest float means a missing number.

        Args:
            label_class_: a class of `hutch.vw.python.labels` or a `LabelType`; None: the chain's own kind.

        Raises:
            TypeError: the chain takes labels of another kind.
        """
        kind = label_class(label_class_) or get_label_class_from_enum(self.vw.get_label_type())
        return kind.from_example(self)

    def as_batch(self) -> Batch:
        """The example as a batch of one row, valid until the workspace reads another line."""
        batch: Batch = self.vw.batch_of([self.line])
        return batch

    def learn(self) -> None:
        """Learn it."""
        self.vw.learn(self)

    # Predictions

    def get_prediction(self, prediction_type: int | None = None) -> Prediction:
        """The latest prediction.

        Args:
            prediction_type: a `PredictionType`; None: the chain's own.

        Raises:
            TypeError: the chain predicts another kind.
        """
        kind = self.vw.get_prediction_type()
        wanted = kind if prediction_type is None else PredictionType(prediction_type)
        alike = (PredictionType.ACTION_SCORES, PredictionType.ACTION_PROBS)
        if wanted != kind and not (wanted in alike and kind in alike):
            raise TypeError(f"got prediction type {wanted.name}, but the chain predicts {kind.name}")
        return self.prediction

    def get_simplelabel_prediction(self) -> float:
        """The prediction of a number."""
        return self.get_prediction(PredictionType.SCALAR)  # type: ignore[return-value]

    def get_multiclass_prediction(self) -> int:
        """The prediction of a class."""
        return self.get_prediction(PredictionType.MULTICLASS)  # type: ignore[return-value]

    get_costsensitive_prediction = get_multiclass_prediction
    get_cbandits_prediction = get_multiclass_prediction

    def get_scalars(self) -> list[float]:
        """The scores or probabilities of all classes."""
        return self.get_prediction(PredictionType.SCALARS)  # type: ignore[return-value]

    def get_action_scores(self) -> list[float]:
        """The scores or probabilities of all actions."""
        return self.get_prediction(PredictionType.ACTION_SCORES)  # type: ignore[return-value]

    def get_decision_scores(self) -> list[list[tuple[int, float]]]:
        """For each slot its actions with their probabilities."""
        return self.get_prediction(PredictionType.DECISION_SCORES)  # type: ignore[return-value]

    def get_partial_prediction(self) -> float:
        """The latest prediction of a number, before clipping and link; 0 before there is one.

        Raises:
            TypeError: the chain predicts another kind.
        """
        self.get_simplelabel_prediction()
        return self.outcome[0]

    def get_loss(self) -> float:
        """The loss of its latest learning or prediction, times its importance; 0 before there is one.

        Raises:
            TypeError: it is a line of a decision, which has no loss of its own.
        """
        if self.vw.multiline:
            raise TypeError("get_loss: a line of a decision has none, wanted Workspace.get_sum_loss()")
        return self.outcome[1]

    def get_updated_prediction(self) -> float:
        """The prediction, before clipping and link, that learning the example last has led to; 0 before that.

        The first call asks the workspace for it, and must directly follow the learning of the example. From then on the
        workspace predicts each example again once it is learned, which takes as long as a prediction.

        Raises:
            TypeError: the chain does not predict numbers.
            RuntimeError: something else was learned since, and nobody had asked before.
        """
        self.get_simplelabel_prediction()
        return float(self.vw.updated_prediction(self))

    # Features

    def get_tag(self) -> str:
        """Its tag."""
        return str(self.as_batch().tag(0), errors="replace")

    def get_feature_number(self) -> int:
        """Number of its features, the constant included once it is set up, interactions not."""
        return sum(1 for _ in self.iter_features())

    def iter_features(self) -> Iterator[tuple[int, float]]:
        """Row and value of each feature, interactions not included.

        Once the example is set up, rows are those that `Workspace.get_weight` takes, of the first sub-model.
        """
        times = self._rows_per_feature
        for row, value in self._edited().pairs():
            yield row * times, value
        if self._has_constant:
            yield CONSTANT_PAIR[0] * times, CONSTANT_PAIR[1]

    def setup_example(self) -> None:
        """Add the constant to its features.

        Raises:
            RuntimeError: it is among them.
        """
        if self.setup_done:
            raise RuntimeError("setup_example: the example is set up already")
        self.setup_done = True

    def unsetup_example(self) -> None:
        """Remove the constant from its features, until the next learning or prediction.

        Raises:
            RuntimeError: it is not among them.
        """
        if not self.setup_done:
            raise RuntimeError("unsetup_example: the example is not set up")
        self.setup_done = False

    @property
    def _rows_per_feature(self) -> int:
        return int(self.vw.chain.shared["multiplier"][0]) if self.setup_done else 1

    @property
    def _has_constant(self) -> bool:
        return self.setup_done and bool(self.vw.parser_options.constant)

    def _edited(self) -> Spaces:
        """Its namespaces, read from its line when they are first asked for."""
        if self._spaces is None:
            self._spaces = Spaces.of_line(self.vw.parser_options, self.line, self.as_batch())
        return self._spaces

    def _changed(self) -> Spaces:
        spaces = self._edited()
        self._features, self.setup_done = "", False
        return spaces

    def get_ns(self, id: Named) -> NamespaceId:
        """A namespace by its place or name."""
        return id if isinstance(id, NamespaceId) else NamespaceId(self, id)

    def __getitem__(self, id: Named) -> ExampleNamespace:
        return ExampleNamespace(self, self.get_ns(id))

    def num_namespaces(self) -> int:
        """Number of its namespaces, that of the constant included once it is set up."""
        return len(self._edited().found) + self._has_constant

    def namespace(self, place: int) -> int:
        """The number of the letter of a namespace; 128 is that of the constant."""
        found = self._edited().found
        return found[place].id if place < len(found) else CONSTANT_NAMESPACE

    def _pairs(self, ns: Named) -> list[tuple[int, float]]:
        named = self.get_ns(ns)
        if named.ord_ns == CONSTANT_NAMESPACE and named.full is None and self._has_constant:
            return [CONSTANT_PAIR]
        space = self._edited().get(self._name(named))
        return [] if space is None else list(zip(space.indices, space.values, strict=True))

    def _name(self, ns: NamespaceId) -> str:
        if ns.full is not None:
            return ns.full
        found = self._edited().found
        return next((space.name for space in found if space.id == ns.ord_ns), ns.ns)

    def num_features_in(self, ns: Named) -> int:
        """Number of features of a namespace."""
        return len(self._pairs(ns))

    def feature(self, ns: Named, i: int) -> int:
        """The row of a feature of a namespace, as in `iter_features`."""
        return self._pairs(ns)[i][0] * self._rows_per_feature

    def feature_weight(self, ns: Named, i: int) -> float:
        """The value of a feature of a namespace."""
        return self._pairs(ns)[i][1]

    def sum_feat_sq(self, ns: Named) -> float:
        """The sum of the squared values of a namespace."""
        return sum(value * value for _, value in self._pairs(ns))

    def get_total_sum_feat_sq(self) -> float:
        """The sum of the squared values of all features, the constant's included once it is set up."""
        return sum(value * value for _, value in self.iter_features())

    def get_feature_id(self, ns: Named, feature: str | int, ns_hash: int | None = None) -> int:
        """The row of a feature.

        Args:
            ns: its namespace.
            feature: its name, or the row itself.
            ns_hash: the namespace's hash; None: that of its name.

        Raises:
            TypeError: neither a name nor a row.
        """
        if isinstance(feature, int):
            return feature
        if not isinstance(feature, str):
            raise TypeError(f"feature: got {feature!r}, wanted a name or a row")
        named = self.get_ns(ns)
        seed = self.vw.hash_space(named.full or named.ns) if ns_hash is None else ns_hash
        return int(self.vw.hash_feature(feature, seed))

    def push_hashed_feature(self, ns: Named, f: int, v: float = 1.0) -> None:
        """Add a feature by its row."""
        self._push(self._space(ns), [(f, v)])

    def push_feature(self, ns: Named, feature: str | int, v: float = 1.0, ns_hash: int | None = None) -> None:
        """Add a feature by its name or row; `ns_hash` as in `get_feature_id`."""
        self.push_hashed_feature(ns, self.get_feature_id(ns, feature, ns_hash), v)

    def push_features(self, ns: Named, featureList: Any) -> None:
        """Add features: a mapping, or a list of names, rows, and (name or row, value).

        Raises:
            DataError: a value is not a number.

        >>> from hutch.vw import Workspace
        >>> example = Workspace("--quiet").example("1 |a x")
        >>> example.push_features("b", ["y", ("z", 0.5), 17])
        >>> example.num_features_in("b"), example["b"][1][1]
        (3, 0.5)
        """
        named = self.get_ns(ns)
        pairs = [(self.get_feature_id(named, name), value) for name, value in pairs_of(featureList)]
        self._push(self._space(named), pairs)

    def push_feature_dict(self, vw: Any, namespaces: Mapping[str, Any]) -> None:
        """Add features by namespace, as in the constructor."""
        for namespace, features in namespaces.items():
            self.push_features(namespace, features)

    def _space(self, ns: Named) -> Space:
        space = self._edited().sure(self._name(self.get_ns(ns)))
        self._changed()
        return space

    @staticmethod
    def _push(space: Space, pairs: list[tuple[int, float]]) -> None:
        space.indices += [index for index, value in pairs if value]
        space.values += [float(value) for _, value in pairs if value]

    def pop_feature(self, ns: Named) -> bool:
        """Remove the last feature of a namespace; returns whether there was one."""
        space = self._changed().get(self._name(self.get_ns(ns)))
        if space is None or not space.indices:
            return False
        del space.indices[-1], space.values[-1]
        return True

    def push_namespace(self, ns: Named) -> None:
        """Add a namespace without features."""
        self.ensure_namespace_exists(ns)

    def ensure_namespace_exists(self, ns: Named) -> None:
        """Add a namespace without features if there is none of this name."""
        self._space(ns)

    def pop_namespace(self) -> bool:
        """Remove the last namespace with its features; returns whether there was one."""
        found = self._changed().found
        if not found:
            return False
        del found[-1]
        return True

    def erase_namespace(self, ns: Named) -> bool:
        """Remove a namespace with its features; returns whether there was one."""
        spaces = self._changed()
        space = spaces.get(self._name(self.get_ns(ns)))
        spaces.found = [each for each in spaces.found if each is not space]
        return space is not None
