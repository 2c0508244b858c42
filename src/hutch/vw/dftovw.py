"""Tables as lines of Vowpal Wabbit's text, with the names of `vowpalwabbit.dftovw`: `DFtoVW(...).convert_df()`."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


def valid_name(name: Any) -> str:
    """A name without blanks, colons and bars.

    >>> valid_name("a: b|c")
    'a__b_c'
    """
    return str(name).replace(":", " ").replace("|", " ").strip().replace(" ", "_")


def _error(kind: type[Exception], text: str, place: str) -> Exception:
    """An error with the text of VW's own, for programs that compare it, and a note of the place and what was wanted."""
    error = kind(text)
    error.add_note(place)
    return error


def _texts(table: Any, column: Hashable) -> Any:
    """A column as text, empty where it has no value."""
    return table[column].astype(object).where(table[column].notna(), "").astype(str)


@dataclass(frozen=True)
class _Wanted:
    """Values that a column of a label must have.

    Attributes:
        what: in words.
        kinds: of its type, as NumPy's letters.
        least, most: of its numbers; None for any.
    """

    what: str
    kinds: str
    least: float | None = None
    most: float | None = None

    @property
    def _types(self) -> str:
        names = {"iuf": ("int", "float"), "iu": ("int",), "f": ("float",)}[self.kinds]
        return ", ".join(map(repr, names))

    @property
    def _range(self) -> str:
        return f">= {self.least}" + (f" and <= {self.most}" if self.most is not None else "")

    def check(self, table: Any, column: Hashable, name: str) -> None:
        """Check a column.

        Args:
            table: that has it.
            column: its name.
            name: of the label and its argument, with a point between.

        Raises:
            TypeError: it has another type.
            ValueError: a number is too small or too large, or missing.
        """
        values, (label, _, argument) = table[column], name.partition(".")
        where = f"In argument {argument!r} of {label!r}, column {column!r}"
        if values.dtype.kind not in self.kinds or str(values.dtype) == "category":
            text = f"{where} should be either of the following type(s): {self._types}."
            raise _error(TypeError, text, f"{name}: column {column!r}: got {values.dtype}, wanted {self.what}")
        bad = values.isna() & (self.least is not None)
        bad |= (values < self.least).fillna(False) if self.least is not None else False
        bad |= (values > self.most).fillna(False) if self.most is not None else False
        if bad.any():
            row = int(bad.to_numpy().argmax())
            place = f"{name}: column {column!r}, row {row}: got {values.iloc[row]}, wanted {self.what}"
            raise _error(ValueError, f"{where} must be {self._range}.", place)


class _Label(ABC):
    """A label of one or more columns."""

    _wanted: ClassVar[Mapping[str, _Wanted]]

    def columns(self) -> list[tuple[str, Hashable]]:
        """The columns, with the names of what they are."""
        found = []
        for name in self._wanted:
            given = getattr(self, name)
            found += [(name, each) for each in (given if isinstance(given, list) else [given]) if each is not None]
        return found

    @abstractmethod
    def process(self, table: Any) -> Any:
        """The column of labels."""

    def check(self, table: Any) -> None:
        """Check the values of the columns, which the table has.

        Raises:
            TypeError, ValueError: a column has others.
        """
        for name, column in self.columns():
            self._wanted[name].check(table, column, f"{type(self).__name__}.{name}")


@dataclass
class SimpleLabel(_Label):
    """A number, and its importance if a column has that."""

    label: Hashable
    weight: Hashable | None = None
    _wanted = {"label": _Wanted("numbers", "iuf"), "weight": _Wanted("numbers", "iuf")}

    def process(self, table: Any) -> Any:
        """The column of labels."""
        found = _texts(table, self.label)
        return found if self.weight is None else found + " " + _texts(table, self.weight)


class MulticlassLabel(SimpleLabel):
    """A class, and its importance if a column has that."""

    _wanted = {"label": _Wanted("whole numbers from 1", "iu", 1), "weight": _Wanted("numbers from 0", "iuf", 0)}


@dataclass
class MultiLabel(_Label):
    """All classes of an example, a column each."""

    label: Hashable | list[Hashable]
    _wanted = {"label": _Wanted("whole numbers from 1", "iu", 1)}

    def process(self, table: Any) -> Any:
        """The column of labels."""
        first, *others = (_texts(table, column) for _, column in self.columns())
        return sum((("," + other) for other in others), first)


@dataclass
class ContextualbanditLabel(_Label):
    """Action, cost and probability, a column each."""

    action: Hashable
    cost: Hashable
    probability: Hashable
    _wanted = {
        "action": _Wanted("whole numbers from 1", "iu", 1),
        "cost": _Wanted("numbers", "iuf"),
        "probability": _Wanted("numbers with a point from 0 to 1", "f", 0, 1),
    }

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
            without = "without a 'name' argument or an empty string 'name' argument"
            text = f"Namespace can't have a 'value' argument {without}"
            raise _error(ValueError, text, "Namespace: got a value without a name, wanted both")
        for key, given, wanted in (("name", self.name, (str, int, float)), ("value", self.value, (int, float))):
            if given is not None and not isinstance(given, wanted):
                kinds = " or ".join(kind.__name__ for kind in wanted)
                raise TypeError(f"Namespace.{key}: got {type(given).__name__}, wanted {kinds}")
        self.features = _all_of("Namespace.features", self.features, Feature)

    def process(self, table: Any) -> Any:
        """The column of the namespace."""
        value = "" if self.value is None else f":{self.value}"
        found: Any = "|" + (valid_name(self.name) if self.name else "") + value
        for feature in self.features:  # type: ignore[union-attr]
            found = found + " " + feature.process(table)
        return found


def _all_of(name: str, given: Any, kind: type) -> list[Any]:
    """One or more objects as a list.

    Raises:
        TypeError: one is of another kind.
    """
    found = list(given) if isinstance(given, list | tuple | set) else [given]
    for each in found:
        if not isinstance(each, kind):
            wanted = kind.__name__.strip("_")
            text = f"Argument {name!r} should be a {wanted} or a list of {wanted}."
            raise _error(TypeError, text, f"{name}: got {type(each).__name__}, wanted {wanted} or a list of these")
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
        TypeError: arguments of another kind, or columns of labels of another type.
        ValueError: neither or both of features and namespaces, columns that the table does not have, or numbers that a
            label cannot have: class 0, probability 1.1.

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
        self.df, self.tag = df, tag
        if features is not None:
            namespaces = Namespace(_all_of("features", features, Feature))
        self.namespaces: Any = _all_of("namespaces", namespaces, Namespace)
        self.labels: list[_Label] = [] if label is None else _all_of("label", label, _Label)
        kinds = {type(each) for each in self.labels}
        if isinstance(label, list) and (len(kinds) > 1 or not kinds <= {ContextualbanditLabel, MultiLabel}):
            got = ", ".join(sorted(kind.__name__ for kind in kinds))
            place = f"label: got a list of {got}, wanted one label, or a list of ContextualbanditLabel"
            alike = "The only labels that can be used with list are 'ContextualbanditLabel', 'MultiLabel'."
            text = "The list passed in 'label' has mixed label types." if len(kinds) > 1 else alike
            raise _error(TypeError, text, place)
        self._check()

    def _check(self) -> None:
        """Check the columns.

        Raises:
            TypeError, ValueError: the table lacks some, or a label cannot have their values.
        """
        used = [(type(each).__name__, column) for each in self.labels for _, column in each.columns()]
        used += [("tag", self.tag)] if self.tag is not None else []
        used += [("Feature", feature.value) for space in self.namespaces for feature in space.features]
        if absent := [(name, column) for name, column in used if column not in self.df.columns]:
            kinds = {kind: [repr(column) for name, column in absent if name == kind] for kind, _ in absent}
            parts = [
                f"In {kind!r}: column(s) {', '.join(columns)} not found in dataframe."
                for kind, columns in kinds.items()
            ]
            place = "; ".join(f"{name}: got column {column!r}" for name, column in absent)
            wanted = ", ".join(map(str, self.df.columns))
            raise _error(ValueError, " ".join(parts), f"{place}, wanted columns of {wanted}")
        for label in self.labels:
            label.check(self.df)

    @classmethod
    def from_colnames(cls, y: Any, x: Any, df: Any, label_type: str = "simple_label") -> "DFtoVW":
        """The same as `from_column_names`, with arguments by position."""
        return cls.from_column_names(y=y, x=x, df=df, label_type=label_type)

    @classmethod
    def from_column_names(cls, *, y: Any = None, x: Any, df: Any, label_type: str = "simple_label") -> "DFtoVW":
        """The columns `x` as features and `y` as the label, which `label_type` calls `simple_label`,
        `multiclass_label` or `multi_label`; without `y`, lines without labels.

        Raises:
            ValueError: another type of label.
            TypeError: several columns for one label.
        """
        kinds: dict[str, Any] = {"simple_label": SimpleLabel, "multiclass_label": MulticlassLabel}
        kinds["multi_label"] = MultiLabel
        if label_type not in kinds:
            raise ValueError(f"label_type: got {label_type!r}, wanted one of {', '.join(kinds)}")
        columns = y if isinstance(y, list) else [y] if y else []
        if len(columns) > 1 and label_type != "multi_label":
            raise TypeError(f"y: got {len(columns)} columns, wanted one for {label_type}")
        label = kinds[label_type](columns if label_type == "multi_label" else columns[0]) if columns else None
        return cls(df, [Feature(name) for name in (x if isinstance(x, list) else [x])], label=label)

    def convert_df(self) -> list[str]:
        """The lines."""
        several = isinstance(self.labels[0], MultiLabel) if self.labels else False
        lines: Any = ""
        for label in self.labels:
            lines = lines + label.process(self.df) + ("," if label is not self.labels[-1] and several else " ")
        if self.tag is not None:
            lines = lines + _texts(self.df, self.tag)
        for k, space in enumerate(self.namespaces):
            lines = lines + (" " if k else "") + space.process(self.df)
        found: list[str] = lines.to_list()
        return found
