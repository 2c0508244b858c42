"""Tables as lines of Vowpal Wabbit's text, with the names of `vowpalwabbit.dftovw`: `DFtoVW(...).convert_df()`."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any


def valid_name(name: Any) -> str:
    """A name without blanks, colons and bars.

    >>> valid_name("a: b|c")
    'a__b_c'
    """
    return str(name).replace(":", " ").replace("|", " ").strip().replace(" ", "_")


def _texts(table: Any, column: Hashable) -> Any:
    """A column as text, empty where it has no value.

    Raises:
        ValueError: the table does not have it.
    """
    if column not in table.columns:
        raise ValueError(f"got column {column!r}, wanted one of {', '.join(map(str, table.columns))}")
    return table[column].astype(object).where(table[column].notna(), "").astype(str)


@dataclass
class SimpleLabel:
    """A number, and its importance if a column has that."""

    label: Hashable
    weight: Hashable | None = None

    def process(self, table: Any) -> Any:
        """The column of labels."""
        found = _texts(table, self.label)
        return found if self.weight is None else found + " " + _texts(table, self.weight)


class MulticlassLabel(SimpleLabel):
    """A class, and its importance if a column has that."""


@dataclass
class ContextualbanditLabel:
    """Action, cost and probability, a column each."""

    action: Hashable
    cost: Hashable
    probability: Hashable

    def process(self, table: Any) -> Any:
        """The column of labels."""
        action, cost, probability = (_texts(table, name) for name in (self.action, self.cost, self.probability))
        return action + ":" + cost + ":" + probability


@dataclass
class Feature:
    """A column as a feature: `name:3` of numbers, `name=red` of texts.

    Attributes:
        value: the column.
        rename_feature: the feature's name; None: the column's.
        as_type: `numerical` or `categorical`; None: as the column is.
    """

    value: Hashable
    rename_feature: str | None = None
    as_type: str | None = None

    def __post_init__(self) -> None:
        if self.as_type not in (None, "numerical", "categorical"):
            raise ValueError(f"as_type: got {self.as_type!r}, wanted 'numerical' or 'categorical'")

    def process(self, table: Any) -> Any:
        """The column of features; empty for missing values."""
        values = _texts(table, self.value).map(valid_name)
        number = self.as_type == "numerical" or (self.as_type is None and table[self.value].dtype.kind in "iuf")
        name = valid_name(self.value if self.rename_feature is None else self.rename_feature)
        return values.where(values == "", name + (":" if number else "=") + values)


@dataclass
class Namespace:
    """Features with a name in common, and a number that multiplies their values."""

    features: Feature | Sequence[Feature]
    name: Hashable | None = None
    value: float | None = None

    def __post_init__(self) -> None:
        if self.value is not None and not self.name:
            raise ValueError("Namespace: got a value without a name, wanted both")
        self.features = [self.features] if isinstance(self.features, Feature) else list(self.features)

    def process(self, table: Any) -> Any:
        """The column of the namespace."""
        value = "" if self.value is None else f":{self.value}"
        found: Any = "|" + (valid_name(self.name) if self.name else "") + value
        for feature in self.features:  # type: ignore[union-attr]
            found = found + " " + feature.process(table)
        return found


class DFtoVW:
    """Converts a pandas table into lines of text, one per row.

    Args:
        df: the table.
        features: one or more; or
        namespaces: one or more.
        label: the beginning of the lines; several are written one after the other.
        tag: the column of tags.

    Raises:
        ValueError: neither or both of features and namespaces, or a column that the table does not have.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"y": [1, -1], "size": [0.5, 2], "colour": ["red", "light blue"]})
    >>> DFtoVW.from_colnames(y="y", x=["size", "colour"], df=table).convert_df()
    ['1 | size:0.5 colour=red', '-1 | size:2.0 colour=light_blue']
    """

    def __init__(
        self,
        df: Any,
        features: Feature | Sequence[Feature] | None = None,
        namespaces: Namespace | Sequence[Namespace] | None = None,
        label: Any = None,
        tag: Hashable | None = None,
    ) -> None:
        if (features is None) == (namespaces is None):
            raise ValueError("DFtoVW: wanted either features or namespaces")
        spaces = namespaces if features is None else Namespace(features)
        self.df, self.tag = df, tag
        self.namespaces: Any = [spaces] if isinstance(spaces, Namespace) else spaces
        self.labels = label if isinstance(label, list) else [] if label is None else [label]

    @classmethod
    def from_colnames(cls, y: Any, x: Any, df: Any, label_type: str = "simple_label") -> "DFtoVW":
        """The columns `x` as features and `y` as the label, which `label_type` calls `simple_label` or
        `multiclass_label`.

        Raises:
            ValueError: another type of label.
        """
        kinds = {"simple_label": SimpleLabel, "multiclass_label": MulticlassLabel}
        if label_type not in kinds:
            raise ValueError(f"label_type: got {label_type!r}, wanted one of {', '.join(kinds)}")
        label = kinds[label_type](y[0] if isinstance(y, list) else y) if y else None
        return cls(df, [Feature(name) for name in (x if isinstance(x, list) else [x])], label=label)

    from_column_names = from_colnames

    def convert_df(self) -> list[str]:
        """The lines."""
        lines: Any = ""
        for label in self.labels:
            lines = lines + label.process(self.df) + " "
        if self.tag is not None:
            lines = lines + _texts(self.df, self.tag)
        for k, space in enumerate(self.namespaces):
            lines = lines + (" " if k else "") + space.process(self.df)
        found: list[str] = lines.to_list()
        return found
