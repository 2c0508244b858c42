"""Loading plugins: the default tuple, then everything installed under the entry-point group `hutch`."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pluggy

from hutch.core.chain.registry import KINDS, Command, Registry, Table, Warmup
from hutch.core.errors import HutchError, PluginError
from hutch.core.hooks import MARK, PROJECT
from hutch.core.kernel.decorators import INTERPRETED
from hutch.core.version import version
from hutch.plugins import hookspecs
from hutch.plugins.defaults import DEFAULT_PLUGINS
from hutch.plugins.third_party import failure, printable, reason

if TYPE_CHECKING:
    from importlib.metadata import Distribution  # imported where third parties are looked for: it takes a while

_BLOCKED = "blocked under plugins: in the chain"
_loaded: list["Plugins"] = []  # by `installed`


@dataclass(frozen=True, slots=True)
class Plugin:
    """One loaded plugin.

    Attributes:
        name: the entry point's name, or the module's for a built-in plugin.
        distribution: the installed distribution.
        version: the distribution's version.
        hooks: names of the hooks it implements.
        file: of its code.
        failure: the hook in which it failed, and the error; empty without a failure.
    """

    name: str
    distribution: str
    version: str
    hooks: tuple[str, ...]
    file: str
    failure: str = ""


Add = Callable[[str, Any], None]


def _item(add: Add) -> Callable[..., None]:
    """`register` of items that know their name, or are given with it."""

    def register(item: Any, name: str | None = None) -> None:
        if name is None and isinstance(item, str):
            raise PluginError(f'{item!r}: a place needs a name, as in register({item!r}, name="bag")')
        if name is None and isinstance(item, type) and not hasattr(item, "name"):
            raise PluginError(f"{item!r}: no attribute 'name', wanted the key in YAML, as in name = \"bag\"")
        add(str(name or getattr(item, "name", item)), item)

    return register


def _named(add: Add) -> Callable[..., None]:
    """`register` of items by a name of somebody else."""

    def register(name: str, item: Any) -> None:
        add(name, item)

    return register


def _command(add: Add) -> Callable[..., None]:
    """`register` of commands."""

    def register(name: str, place: str, help: str, group: str = "More") -> None:
        add(name, Command(place, help, group))

    return register


def _warmup(add: Add) -> Callable[..., None]:
    """`register` of small runs."""

    def register(command: str, files: Mapping[str, str], usual: bool = False) -> None:
        add(command, Warmup(command, files, usual))

    return register


_REGISTER: dict[str, Callable[[Add], Callable[..., None]]] = {
    "commands": _command,
    "vw_layers": _named,
    "checks": _named,
    "inspectors": _named,
    "warmups": _warmup,
}
"""What a hook is given to call, by the kind of items; for the others it is `_item`."""


API = 1
"""The number of the interface of plugins: another one means that plugins of before may not work."""


def _warn(text: str) -> None:
    """Print one line on stderr."""
    print(f"hutch: {printable(text)}", file=sys.stderr)


class _Manager(pluggy.PluginManager):
    """Knows hooks by our marker, too."""

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        """See pluggy."""
        if getattr(getattr(plugin, name, None), MARK, False):
            return pluggy.HookimplOpts(
                wrapper=False, hookwrapper=False, optionalhook=False, tryfirst=False, trylast=False, specname=None
            )
        return super().parse_hookimpl_opts(plugin, name)


class Plugins:
    """The plugins of this process and what they have registered.

    Args:
        only: names of third-party plugins or distributions to load; None loads all.
        block: names of plugins or distributions to leave out.
        trace: print every hook call on stderr.
        third_parties: False leaves all of them out without looking for them.
    """

    def __init__(
        self,
        only: Iterable[str] | None = None,
        block: Iterable[str] = (),
        trace: bool = False,
        third_parties: bool = True,
    ) -> None:
        self.manager = _Manager(PROJECT)
        self.manager.add_hookspecs(hookspecs)
        tables: dict[str, Any] = {kind: Table(partial(self._collect, kind)) for kind in KINDS}
        self.registry = Registry(**tables)
        self.failures: dict[str, str] = {}
        self._origins: dict[str, Distribution | None] = {}  # None: Hutch itself
        self._trace = trace
        self._blocked = frozenset(block)
        for module in DEFAULT_PLUGINS:
            name = module.removesuffix(".plugin")
            if self._blocked & {name, module}:
                self.registry.left_out[name] = _BLOCKED
                continue
            try:
                self.manager.register(import_module(module), name=name)
            except ImportError as error:
                raise HutchError(f"this installation of hutch is incomplete: {error}") from error
            self._origins[name] = None
        if INTERPRETED:
            import_module("hutch.core.interpreted.run")
        if third_parties:
            self._load_third_parties(None if only is None else set(only))

    def _load_third_parties(self, wanted: set[str] | None) -> None:
        from importlib.metadata import entry_points

        for entry in entry_points(group=PROJECT):
            distribution = entry.dist
            assert distribution is not None
            names = {entry.name, distribution.metadata["Name"]}
            if names & self._blocked:
                self.registry.left_out[f"{entry.name} ({_title(distribution)})"] = _BLOCKED
                continue
            if wanted is not None and not names & wanted:
                self.registry.left_out[f"{entry.name} ({_title(distribution)})"] = "not named in HUTCH_LOAD_PLUGINS"
                continue
            try:
                with redirect_stdout(sys.stderr):  # standard output may be data
                    plugin = entry.load()
            except (Exception, SystemExit) as error:
                self._leave_out(entry.name, distribution, reason(error))
                continue
            if (made_for := getattr(plugin, "hutch_api", API)) != API:
                why = f"it is made for hutch_api {made_for!r}, and this version of Hutch has {API}: upgrade one of them"
                self._leave_out(entry.name, distribution, why)
                continue
            self._add(entry.name, plugin, distribution)

    def _add(self, name: str, plugin: Any, distribution: "Distribution") -> None:
        if name in self._origins:
            self._leave_out(name, distribution, f"{_title(self._distribution(name))} has a plugin of that name")
            return
        try:
            self.manager.register(plugin, name=name)
            self.manager.check_pending()
        except (pluggy.PluginValidationError, ValueError) as error:
            self.manager.unregister(name=name) if self.manager.has_plugin(name) else None
            self._leave_out(name, distribution, str(error))
            return
        self._origins[name] = distribution

    def _leave_out(self, name: str, distribution: "Distribution", why: str) -> None:
        _warn(f"plugin {name!r} ({_title(distribution)}) left out: {why}")
        self.registry.left_out[f"{name} ({_title(distribution)})"] = printable(why)

    def _collect(self, kind: str) -> None:
        """Have every plugin register its items of a kind."""
        hook = f"hutch_register_{kind}"
        for name in self._origins:
            plugin = self.manager.get_plugin(name)
            implementation = getattr(plugin, hook, None)
            if implementation is None:
                continue
            if self._trace:
                _warn(f"{hook}(register=...) of {name}")
            others = [other for _, other in self.manager.list_name_plugin() if other is not plugin]
            register = _REGISTER.get(kind, _item)(partial(self._take, name, kind))
            try:
                with redirect_stdout(sys.stderr):
                    self.manager.subset_hook_caller(hook, others)(register=register)
            except (Exception, SystemExit) as error:
                self._blame(name, implementation, error)

    def _take(self, plugin_name: str, kind: str, name: str, item: Any) -> None:
        """Register an item, unless the module that it comes from is blocked."""
        module = item.partition(":")[0] if isinstance(item, str) else str(getattr(item, "__module__", ""))
        if self._blocked & {module, module.removesuffix(".layer").rpartition(".")[2]}:
            self.registry.left_out[module] = _BLOCKED
        else:
            self.registry.add(kind, name, item, plugin_name)

    def _collect_all(self) -> None:
        for kind in KINDS:
            len(getattr(self.registry, kind))

    def _blame(self, plugin_name: str, function: Any, error: BaseException) -> None:
        from inspect import signature

        what = f"failed in {function.__name__}{signature(function)}: {reason(error)}"
        _warn(f"{self._named(plugin_name)} {what}")
        self.failures.setdefault(plugin_name, printable(what))

    def _named(self, plugin_name: str) -> str:
        return f"plugin {plugin_name!r} ({_title(self._distribution(plugin_name))})"

    def module_of(self, plugin_name: str) -> str:
        """The name of a plugin's module."""
        plugin = self.manager.get_plugin(plugin_name)
        return str(getattr(plugin, "__name__", None) or type(plugin).__module__)

    def packages(self) -> dict[str, str]:
        """The top-level packages of third-party plugins, each with the name of its plugin in messages."""
        found = {}
        for name, distribution in self._origins.items():
            if distribution is not None:
                found[self.module_of(name).partition(".")[0]] = self._named(name)
        for (kind, item), name in self.registry.origins.items():
            if self._origins.get(name) is not None:
                module = getattr(self.registry, kind).module_of(item)
                found.setdefault(module.partition(".")[0], self._named(name))
        return {package: plugin for package, plugin in found.items() if package not in ("", "hutch", "builtins")}

    def on_progress(self, event: Any) -> None:
        """Pass a progress event to every plugin; one that raises is named and not called again."""
        for hook in list(self.manager.hook.hutch_on_progress.get_hookimpls()):
            if self._trace:
                _warn(f"hutch_on_progress(event={event!r}) of {hook.plugin_name}")
            try:
                hook.function(**({"event": event} if hook.argnames else {}))
            except (Exception, SystemExit) as error:
                self._blame(hook.plugin_name, hook.function, error)
                self.manager.hook.hutch_on_progress._remove_plugin(hook.plugin)

    def __iter__(self) -> Iterator[Plugin]:
        from inspect import getfile

        self._collect_all()
        for name in self._origins:
            plugin, distribution = self.manager.get_plugin(name), self._distribution(name)
            hooks = tuple(sorted(hook.name for hook in self.manager.get_hookcallers(plugin) or ()))
            yield Plugin(
                name,
                distribution.metadata["Name"],
                distribution.version,
                hooks,
                str(getattr(plugin, "__file__", None) or getfile(type(plugin))),
                self.failures.get(name, ""),
            )

    def versions(self, of: Set[str] | None = None) -> dict[str, str]:
        """Version of every distribution that has a plugin loaded.

        Args:
            of: names of plugins; None for all.
        """
        names = self._origins.keys() if of is None else self._origins.keys() & of
        found = {id(self._origins[name]): self._origins[name] for name in names}
        return dict(sorted((PROJECT, version()) if each is None else _told(each) for each in found.values()))

    def _distribution(self, name: str) -> "Distribution":
        """The distribution that a plugin belongs to."""
        return self._origins[name] or _own()


@cache
def _own() -> "Distribution":
    """The distribution that this file belongs to; to find it all folders of packages are searched."""
    from importlib.metadata import Distribution

    return Distribution.from_name(PROJECT)


@cache
def _told(distribution: "Distribution") -> tuple[str, str]:
    """Name and version of a distribution, which are read from its files each time they are asked for."""
    return distribution.metadata["Name"], distribution.version


def _title(distribution: "Distribution") -> str:
    return f"{distribution.metadata['Name']} {distribution.version}"


@cache
def _installed(block: frozenset[str]) -> Plugins:
    only = os.environ.get("HUTCH_LOAD_PLUGINS")
    names = None if only is None else [name.strip() for name in only.split(",") if name.strip()]
    plugins = Plugins(names, block, os.environ.get("HUTCH_TRACE_PLUGINS", "") not in ("", "0"))
    _loaded.append(plugins)
    return plugins


def installed(block: Iterable[str] = ()) -> Plugins:
    """The plugins of this process, loaded once; those that come with Hutch only on the first use of a name of theirs.

    `HUTCH_LOAD_PLUGINS=a,b` loads only the third-party plugins named, `HUTCH_TRACE_PLUGINS=1` prints every hook call.

    Args:
        block: names of plugins or distributions to leave out.

    >>> "linear" in installed().registry.reductions
    True
    """
    return _installed(frozenset(block))


def failure_of(error: BaseException) -> str | None:
    """Message about an exception raised in the code of a plugin of this process; None for any other.

    Args:
        error: any exception.
    """
    return next((text for plugins in _loaded if (text := failure(error, plugins.packages()))), None)
