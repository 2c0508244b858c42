"""The marker by which a plugin, built in or third party, says which of its functions are hooks."""

import pluggy

PROJECT = "hutch"
hookimpl = pluggy.HookimplMarker(PROJECT)
"""Decorates a hook implementation; the hooks are in `hutch.plugins.hookspecs`."""
