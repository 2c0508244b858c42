"""What the process ends with: an error that is the user's becomes one message and an exit status."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from hutch.core.errors import HutchError, PluginError


@contextmanager
def one_message() -> Iterator[None]:
    """Turn errors that are the user's into one message, and leave with their status.

    Raises:
        SystemExit: there was one.
    """
    try:
        with _plugins_named():
            yield
        sys.stdout.flush()
    except HutchError as error:
        print(error, file=sys.stderr)
        raise SystemExit(error.exit_code) from None
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(141) from None
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        raise SystemExit(130) from None


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
