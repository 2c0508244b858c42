"""Installed items by name: reductions, losses, readers and models, each with the plugin it came from."""

import re
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from hutch.core.chain.reduction import Reduction
from hutch.core.errors import PluginError, did_you_mean
from hutch.core.loss.losses import Loss

Item = TypeVar("Item")


_NAME = re.compile(r"\.?\w[\w.-]*")


def _one(kind: str) -> str:
    return "loss" if kind == "losses" else kind[:-1].replace("_", " ")


class _Expected:
    """Placeholder for an item whose plugin has not been loaded yet."""

    def __init__(self, load: Callable[[], None]) -> None:
        self.load = load


class Table(MutableMapping[str, Item]):
    """Items by name; expected ones are registered when they are looked up."""

    def __init__(self) -> None:
        self._items: dict[str, Item | _Expected] = {}

    def __getitem__(self, name: str) -> Item:
        item = self._items[name]
        if isinstance(item, _Expected):
            item.load()
            item = self._items[name]
            if isinstance(item, _Expected):
                raise PluginError(f"{name!r} was not registered by the plugin that should")
        return item

    def __setitem__(self, name: str, item: Item) -> None:
        self._items[name] = item

    def __delitem__(self, name: str) -> None:
        del self._items[name]

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def expect(self, names: Iterable[str], load: Callable[[], None]) -> None:
        """Know names whose items `load` registers."""
        self._items |= dict.fromkeys(names, _Expected(load))

    def expects(self, name: str) -> bool:
        """Whether the item of a name has not been registered yet."""
        return isinstance(self._items.get(name), _Expected)


@dataclass(slots=True)
class Registry:
    """All that plugins have registered.

    Attributes:
        reductions: reduction classes by their `name`.
        losses: losses by their `name`.
        readers: functions (path, parser options, columns) -> iterator of batches, by file ending (`.csv`).
        crowd_models: crowd models by name.
        em_models: models of online EM by name.
        origins: (kind, name) -> name of the plugin that registered it.
        left_out: plugins that are installed and not loaded, as `name (distribution version)` -> why.
    """

    reductions: MutableMapping[str, type[Reduction]] = field(default_factory=Table)
    losses: MutableMapping[str, Loss] = field(default_factory=Table)
    readers: MutableMapping[str, Callable[..., Any]] = field(default_factory=Table)
    crowd_models: dict[str, Any] = field(default_factory=dict)
    em_models: MutableMapping[str, Any] = field(default_factory=Table)
    origins: dict[tuple[str, str], str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def unknown(self, kind: str, name: str) -> str:
        """Message for a name that is not registered: the nearest one, and plugins that might have it."""
        text = did_you_mean(name, getattr(self, kind))
        missing = ", ".join(f"{plugin} ({why})" for plugin, why in self.left_out.items())
        return f"{text}; left out: {missing}" if missing else text

    def expect(self, kind: str, names: Iterable[str], origin: str, load: Callable[[], None]) -> None:
        """Announce the names that a plugin registers when it is loaded, which happens when one of them is looked up.

        Args:
            kind, origin: as for `add`.
            names: as users write them.
            load: loads the plugin.
        """
        cast(Table[Any], getattr(self, kind)).expect(names, load)
        self.origins |= {(kind, name): origin for name in names}

    def add(self, kind: str, name: str, item: Any, origin: str) -> None:
        """Register one item.

        Args:
            kind: `reductions`, `losses`, `readers`, `crowd_models` or `em_models`.
            name: as users write it.
            item: the class, loss or function.
            origin: the plugin.

        Raises:
            PluginError: the name is taken, or the item is not of its kind.
        """
        if kind == "reductions" and not (isinstance(item, type) and issubclass(item, Reduction)):
            raise PluginError(
                f"reduction {name!r}: got {item!r}, wanted a subclass of hutch.core.chain.reduction.Reduction"
            )
        if kind == "losses" and not isinstance(item, Loss):
            raise PluginError(f"loss {name!r}: got {item!r}, wanted a hutch.core.loss.losses.Loss")
        if kind == "crowd_models" and not (isinstance(item, type) and hasattr(item, "fit")):
            raise PluginError(
                f"crowd model {name!r}: got {item!r}, wanted a subclass of hutch.crowd.models.model.CrowdModel"
            )
        if not _NAME.fullmatch(name):
            raise PluginError(f"{_one(kind)}: got the name {name!r}, wanted letters, digits, '_', '-' and '.'")
        table = getattr(self, kind)
        expected = isinstance(table, Table) and table.expects(name) and self.origins[kind, name] == origin
        if name in table and not expected:
            raise PluginError(f"{_one(kind)} {name!r} is already registered by {self.origins[kind, name]}")
        table[name] = item
        self.origins[kind, name] = origin
