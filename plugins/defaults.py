"""The plugins that come with Hutch, registered through the same door as third-party ones.

Each is a light module of `register(...)` calls that names its items by their places, so that nothing else is imported
before it is used.
"""

DEFAULT_PLUGINS = (
    "hutch.cli.plugin",
    "hutch.core.loss.plugin",
    "hutch.core.data.plugin",
    "hutch.reductions.plugin",
    "hutch.vw.plugin",
    "hutch.serve.plugin",
    "hutch.active.plugin",
    "hutch.crowd.plugin",
    "hutch.label.plugin",
    "hutch.estimate.plugin",
    "hutch.judges.plugin",
    "hutch.em.plugin",
    "hutch.reproduce.plugin",
    "hutch.plugins.plugin",
)
"""Modules; a plugin's name is that of its package. `hutch --help` lists the commands in this order."""
