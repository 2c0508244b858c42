"""Installed items by name: reductions, losses, readers, models and commands, each with the plugin it came from."""

import re
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from hutch.core.errors import PluginError, did_you_mean

if TYPE_CHECKING:  # commands are looked up without NumPy
    from hutch.core.chain.reduction import Reduction
    from hutch.core.loss.losses import Loss

Item = TypeVar("Item")

_NAME = re.compile(r"\.?\w[\w.-]*")
_PLACE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


class Place(NamedTuple):
    """An item that its plugin names by its place, `module:Name`, and that is imported when it is looked up."""

    kind: str
    name: str
    module: str
    attribute: str
    origin: str

    @classmethod
    def of(cls, kind: str, name: str, text: str, origin: str) -> "Place":
        """The place that a text spells.

        Raises:
            PluginError: it spells none.
        """
        if not _PLACE.fullmatch(text):
            raise PluginError(f"{_one(kind)} {name!r}: got the place {text!r}, wanted module:Name")
        module, _, attribute = text.partition(":")
        return cls(kind, name, module, attribute, origin)

    def load(self) -> Any:
        """Import the item.

        Raises:
            PluginError: it cannot be imported, it is not of its kind, or it calls itself by another name.
        """
        try:
            item = getattr(import_module(self.module), self.attribute)
        except (ImportError, AttributeError) as error:
            raise PluginError(f"{_one(self.kind)} {self.name!r} of {self.origin}: {error}") from error
        _check(self.kind, self.name, item)
        return item


class Table(MutableMapping[str, Item]):
    """Items by name. One that is given by its place is imported when it is looked up.

    Args:
        collect: registers all items; called before the table is first read.
    """

    def __init__(self, collect: Callable[[], None] | None = None) -> None:
        self._collect = collect
        self._items: dict[str, Item | Place] = {}

    def _known(self) -> dict[str, Item | Place]:
        if self._collect is not None:
            collect, self._collect = self._collect, None
            collect()
        return self._items

    def __getitem__(self, name: str) -> Item:
        item = self._known()[name]
        if isinstance(item, Place):
            item = self._items[name] = item.load()
        return item

    def __setitem__(self, name: str, item: Item | Place) -> None:
        self._known()[name] = item

    def __delitem__(self, name: str) -> None:
        del self._known()[name]

    def __contains__(self, name: object) -> bool:
        return name in self._known()

    def __iter__(self) -> Iterator[str]:
        return iter(self._known())

    def __len__(self) -> int:
        return len(self._known())

    def module_of(self, name: str) -> str:
        """The module that an item comes from; the item is not imported for it."""
        item = self._known()[name]
        return item.module if isinstance(item, Place) else str(getattr(item, "__module__", None) or "")


class Command(NamedTuple):
    """A command of `hutch`.

    Attributes:
        place: `module:name` of a function, whose annotations are its options, or of a group of them.
        help: its purpose, one line.
        group: the heading under which `hutch --help` lists it.
    """

    place: str
    help: str
    group: str = "More"

    @property
    def module(self) -> str:
        """The module of its function."""
        return self.place.partition(":")[0]

    def load(self) -> Any:
        """Import the function or the group."""
        return getattr(import_module(self.module), self.place.partition(":")[2])


class Warmup(NamedTuple):
    """A small run for which `hutch warmup` compiles.

    Attributes:
        command: command lines without `hutch`, with `&&` between them.
        files: those that it needs in its folder: text by name.
        usual: whether its kernels belong to those that every run of a chain needs.
    """

    command: str
    files: Mapping[str, str]
    usual: bool = False


@dataclass
class Registry:
    """All that plugins have registered.

    Attributes:
        reductions: reduction classes by their `name`.
        losses: losses by their `name`.
        readers: functions (path, parser options, columns) -> iterator of batches, by file ending (`.csv`).
        crowd_models: crowd models by name.
        em_models: models of online EM by name.
        commands: commands of `hutch` by name, that of a command in a group as `group command`.
        vw_layers: Vowpal Wabbit's view of layers, by the layer's name.
        checks: contract checks by the kind of item that they are for, the name of an attribute of this class: functions
            (item, registry) -> what each check runs, by the name of the check.
        inspectors: functions (path, registry) -> facts about a model beyond its arrays, by the kind of the model.
        warmups: the small runs of `hutch warmup` by their command line.
        origins: (kind, name) -> name of the plugin that registered it.
        left_out: plugins that are installed and not loaded, as `name (distribution version)` -> why.
    """

    reductions: MutableMapping[str, "type[Reduction]"] = field(default_factory=Table)
    losses: MutableMapping[str, "Loss"] = field(default_factory=Table)
    readers: MutableMapping[str, Callable[..., Any]] = field(default_factory=Table)
    crowd_models: MutableMapping[str, Any] = field(default_factory=Table)
    em_models: MutableMapping[str, Any] = field(default_factory=Table)
    commands: MutableMapping[str, Command] = field(default_factory=Table)
    vw_layers: MutableMapping[str, Any] = field(default_factory=Table)
    checks: MutableMapping[str, Callable[..., Mapping[str, Callable[[], None]]]] = field(default_factory=Table)
    inspectors: MutableMapping[str, Callable[..., Mapping[str, Any]]] = field(default_factory=Table)
    warmups: MutableMapping[str, Warmup] = field(default_factory=Table)
    origins: dict[tuple[str, str], str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def unknown(self, kind: str, name: str) -> str:
        """Message for a name that is not registered: the nearest one, and plugins that might have it."""
        text = did_you_mean(name, getattr(self, kind))
        missing = ", ".join(f"{plugin} ({why})" for plugin, why in self.left_out.items())
        return f"{text}; left out: {missing}" if missing else text

    def add(self, kind: str, name: str, item: Any, origin: str) -> None:
        """Register one item.

        Args:
            kind: one of `KINDS`.
            name: as users write it.
            item: of its kind; or its place, `module:Name`, which is imported when the name is looked up.
            origin: the plugin.

        Raises:
            PluginError: the name is taken, or the item is not of its kind.
        """
        if isinstance(item, str):
            item = Place.of(kind, name, item, origin)
        else:
            _check(kind, name, item)
        if kind in _NAMED and not _NAME.fullmatch(name):
            raise PluginError(f"{_one(kind)}: got the name {name!r}, wanted letters, digits, '_', '-' and '.'")
        table = getattr(self, kind)
        if name in table:
            raise PluginError(f"{_one(kind)} {name!r} is already registered by {self.origins[kind, name]}")
        table[name] = item
        self.origins[kind, name] = origin


KINDS = tuple(each.name for each in fields(Registry) if each.name not in ("origins", "left_out"))
"""The kinds of items."""
_NAMED = ("reductions", "losses", "readers", "crowd_models", "em_models")
"""Kinds of items whose names users write in files."""


def _one(kind: str) -> str:
    if kind == "vw_layers":
        return "names of VW for the layer"
    return "loss" if kind == "losses" else kind[:-1].replace("_", " ")


def _check(kind: str, name: str, item: Any) -> None:
    """Refuse an item that is not of its kind.

    Raises:
        PluginError: it is not.
    """
    if kind in ("reductions", "losses"):
        from hutch.core.chain.reduction import Reduction
        from hutch.core.loss.losses import Loss
    is_class, wanted = isinstance(item, type), ""
    if kind == "reductions" and not (is_class and issubclass(item, Reduction)):
        wanted = "a subclass of hutch.core.chain.reduction.Reduction"
    elif kind == "losses" and not isinstance(item, Loss):
        wanted = "a hutch.core.loss.losses.Loss"
    elif kind == "crowd_models" and not (is_class and hasattr(item, "fit")):
        wanted = "a subclass of hutch.crowd.models.model.CrowdModel"
    elif kind in ("readers", "checks", "inspectors") and not callable(item):
        wanted = "a function"
    elif kind == "vw_layers" and not hasattr(item, "learner"):
        wanted = "a hutch.plugin.VwLayer"
    if wanted:
        raise PluginError(f"{_one(kind)} {name!r}: got {item!r}, wanted {wanted}")
    own = getattr(item, "name", name) if kind in ("reductions", "losses", "crowd_models", "em_models") else name
    if isinstance(own, str) and own != name and is_class:
        raise PluginError(f"{_one(kind)} {name!r}: got {item!r}, which calls itself {own!r}")
