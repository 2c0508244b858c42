"""A plugin's kernels run by CPython: its lines in a debugger, in tracebacks, in coverage."""

import os
import sys
from pathlib import Path
from traceback import TracebackException
from types import FrameType, TracebackType
from typing import Any

from hutch.core.errors import PluginError, did_you_mean
from hutch.core.hooks import PROJECT
from hutch.core.interpreted import run
from hutch.core.kernel.decorators import INTERPRETED
from hutch.plugins.manager import Plugins

_HIDDEN = (str(Path(run.__file__).parent), os.path.join("core", "kernel"))
"""Where the files of the interpreter lie, in which no author looks for a mistake."""
_SKIPPED = ["hutch.core.interpreted.*", "hutch.core.kernel.*", "functools"]


def modules_of(name: str, plugins: Plugins) -> set[str]:
    """The modules and packages of everything that has a name.

    Args:
        name: of a loss, a reduction, a model, a plugin or a distribution.
        plugins: the installed plugins.

    Raises:
        PluginError: nothing of that name is installed.
    """
    distributions = {plugin.name: plugin.distribution for plugin in plugins}
    third = {origin for origin, distribution in distributions.items() if distribution != PROJECT}
    origins = {origin for origin in third if name in (origin, distributions[origin])}
    found = {plugins.module_of(origin).partition(".")[0] for origin in origins}
    known = {*third, *(distributions[origin] for origin in third)}
    for (kind, item), origin in plugins.registry.origins.items():
        known.add(item)
        if item == name or origin in origins:
            module = getattr(plugins.registry, kind).module_of(item)
            found.add(module.partition(".")[0] if origin in third else module.removesuffix(".layer"))
            found |= {plugins.module_of(origin).partition(".")[0]} if origin in third else set()
    if not found:
        raise PluginError(f"{name!r} is not installed; {did_you_mean(name, known)}")
    return found - {"hutch", "builtins", ""}


def interpret(modules: set[str], post_mortem: bool = False, quiet: bool = False) -> None:
    """Let CPython run the kernels of modules from now on, in this process and in those that it starts.

    Args:
        modules: of `modules_of`.
        post_mortem: begin a debugger where a kernel raises an exception.
        quiet: print no tracebacks.
    """
    INTERPRETED.update(modules)
    os.environ["HUTCH_INTERPRETED"] = ",".join(sorted(INTERPRETED))
    run.WATCHERS[:] = [_show] * (not quiet) + [_look] * post_mortem
    sys.breakpointhook = _breakpoint


def _show(error: BaseException) -> None:
    """Print the traceback of a kernel without the interpreter's own frames."""
    if type(error).__name__ == "BdbQuit":
        return
    told = TracebackException.from_exception(error, compact=True)
    told.stack[:] = [frame for frame in told.stack if not _is_hidden(frame.filename)]
    print("".join(told.format()), end="", file=sys.stderr)


def line_in(frame: FrameType | None) -> str:
    """The innermost line of a stack that is not the interpreter's."""
    while frame is not None and _is_hidden(frame.f_code.co_filename):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"


def _is_hidden(file: str) -> bool:
    return any(place in file for place in _HIDDEN)


def _debugger() -> Any:
    from pdb import Pdb

    return Pdb(skip=_SKIPPED, nosigint=True)


def _look(error: BaseException) -> None:
    """Begin a debugger where an exception was raised."""
    if type(error).__name__ == "BdbQuit":
        return
    debugger, last = _debugger(), error.__traceback__
    debugger.reset()
    debugger.interaction(None, _authors(last))


def _authors(first: TracebackType | None) -> TracebackType | None:
    """A traceback up to the last frame that is not the interpreter's."""
    links: list[TracebackType] = []
    while first is not None:
        links.append(first)
        first = first.tb_next
    while links and _is_hidden(links[-1].tb_frame.f_code.co_filename):
        links.pop()
    made: TracebackType | None = None
    for link in reversed(links):
        made = TracebackType(made, link.tb_frame, link.tb_lasti, link.tb_lineno)
    return made


def _breakpoint(*_: Any, **__: Any) -> None:
    """What `breakpoint()` does: a debugger that does not step into the interpreter."""
    _debugger().set_trace(sys._getframe(1))
