"""What is installed, by name: reductions, losses, readers and models, each with the plugin it came from."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hutch.core.errors import PluginError, did_you_mean
from hutch.core.losses import Loss
from hutch.core.reduction import Reduction


@dataclass(slots=True)
class Registry:
    """All that plugins have registered.

    Attributes:
        reductions: reduction classes by their `name`.
        losses: losses by their `name`.
        readers: functions (path, parser options, columns) -> iterator of batches, by file ending (`.svm`).
        crowd_models: crowd models by name.
        em_models: models of online EM by name.
        origins: (kind, name) -> name of the plugin that registered it.
        left_out: plugins that are installed and not loaded, as `name (distribution version)` -> why.
    """

    reductions: dict[str, type[Reduction]] = field(default_factory=dict)
    losses: dict[str, Loss] = field(default_factory=dict)
    readers: dict[str, Callable[..., Any]] = field(default_factory=dict)
    crowd_models: dict[str, Any] = field(default_factory=dict)
    em_models: dict[str, Any] = field(default_factory=dict)
    origins: dict[tuple[str, str], str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def unknown(self, kind: str, name: str) -> str:
        """What to say of a name that nobody has registered: the nearest one, and plugins that might have."""
        text = did_you_mean(name, getattr(self, kind))
        missing = ", ".join(f"{plugin} ({why})" for plugin, why in self.left_out.items())
        return f"{text}; left out: {missing}" if missing else text

    def add(self, kind: str, name: str, item: Any, origin: str) -> None:
        """Register one item.

        Args:
            kind: `reductions`, `losses`, `readers`, `crowd_models` or `em_models`.
            name: what users write.
            item: the class, loss or function.
            origin: the plugin.

        Raises:
            PluginError: the name is taken, or the item is not of its kind.
        """
        if kind == "reductions" and not (isinstance(item, type) and issubclass(item, Reduction)):
            raise PluginError(f"reduction {name!r}: got {item!r}, wanted a subclass of hutch.core.reduction.Reduction")
        if kind == "losses" and not isinstance(item, Loss):
            raise PluginError(f"loss {name!r}: got {item!r}, wanted a hutch.core.losses.Loss")
        table = getattr(self, kind)
        if name in table:
            what = "loss" if kind == "losses" else kind[:-1].replace("_", " ")
            raise PluginError(f"{what} {name!r} is already registered by {self.origins[kind, name]}")
        table[name] = item
        self.origins[kind, name] = origin
