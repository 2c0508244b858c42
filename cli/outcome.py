"""What the process ends with: an error that is the user's becomes one message and an exit status."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from hutch.core.errors import HutchError, PluginError, at


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
    except HutchError as error:
        _leave(str(error), error.exit_code)
    except BrokenPipeError:
        raise SystemExit(141) from None
    except OSError as error:
        _leave(at(str(error.filename or ""), None, None, error.strerror or str(error)), 1)
    except MemoryError as error:
        _leave(f"out of memory{f': {error}' if str(error) else ''}", 1)
    except KeyboardInterrupt:
        _leave("interrupted", 130)


def _leave(message: str, status: int) -> None:
    print(message, file=sys.stderr)
    raise SystemExit(status) from None


def end_at_interrupts() -> None:
    """Let SIGINT end the process at once: there is nothing to say or to save, while modules are imported."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not if whoever started us ignores it
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
        manager = sys.modules.get("hutch.plugins.manager")  # not imported here: it may not be what failed
        text = manager.failure_of(error) if manager else None
        if text is None:
            raise
        raise PluginError(text) from error
