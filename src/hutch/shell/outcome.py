"""The end of the process: a user's error becomes one message and an exit status."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from hutch.core.errors import HutchError, PluginError, at

_NO_MEMORY = ("failed to map segment", "cannot allocate memory", "Cannot allocate memory", "can't start new thread")


@contextmanager
def one_message() -> Iterator[None]:
    """Turn errors that are the user's into one message, and exit with their status.

    Raises:
        SystemExit: there was one.
    """
    try:
        listen_for_interrupts()
        with _plugins_named():
            yield
        sys.stdout.flush()
    except Exception as error:
        message, status = _said_of(error)
        if message is None:
            raise
        _leave(message, status)
    except KeyboardInterrupt:
        _leave("interrupted", 130)


def _said_of(error: Exception) -> tuple[str | None, int]:
    """The message of an error, and the exit status; None if it is not the user's fault, "" if no reader is left."""
    if _lacked_memory(error):
        return "out of memory: a library cannot be loaded, or a thread not be started", 1
    if isinstance(error, HutchError):
        return str(error), error.exit_code
    if isinstance(error, BrokenPipeError):
        return "", 141
    if isinstance(error, OSError):
        return at(str(error.filename or ""), None, None, error.strerror or str(error)), 1
    if isinstance(error, EOFError):
        return f"ended too soon: {str(error) or 'what was read'}", 1
    if isinstance(error, MemoryError):
        return f"out of memory{f': {error}' if str(error) else ''}", 1
    return None, 1


def _lacked_memory(error: BaseException | None) -> bool:
    """Whether the loader of libraries or of threads failed for want of memory, and so caused this error."""
    while error is not None:
        if isinstance(error, ImportError | OSError | RuntimeError) and any(each in str(error) for each in _NO_MEMORY):
            return True
        if isinstance(error, AttributeError | SystemError | ImportError) and isinstance(error.__context__, MemoryError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _leave(message: str, status: int) -> None:
    if message:
        print(message, file=sys.stderr)
    raise SystemExit(status) from None


def end_at_interrupts() -> None:
    """Let SIGINT end the process at once: there is nothing to report or to save while modules are imported."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not if the parent process ignores it
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def listen_for_interrupts() -> None:
    """Let SIGINT raise KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def _plugins_named() -> Iterator[None]:
    """Turn an exception from a plugin's code into an error that names the plugin."""
    try:
        yield
    except HutchError:
        raise
    except Exception as error:
        manager = sys.modules.get("hutch.plugins.manager")  # not imported here: another module may have failed
        text = manager.failure_of(error) if manager else None
        if text is None:
            raise
        raise PluginError(text) from error
