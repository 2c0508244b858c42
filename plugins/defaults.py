"""The plugins that come with Hutch, registered through the same door as third-party ones.

Each is a light module of `register(...)` calls that names its items by their places, so that nothing else is imported
before it is used.
"""

DEFAULT_PLUGINS = (
    "hutch.demo.plugin",
    "hutch.crowd.plugin",
    "hutch.judges.plugin",
    "hutch.estimate.plugin",
    "hutch.label.plugin",
    "hutch.active.plugin",
    "hutch.cli.plugin",
    "hutch.core.loss.plugin",
    "hutch.core.data.plugin",
    "hutch.reductions.plugin",
    "hutch.vw.plugin",
    "hutch.serve.plugin",
    "hutch.em.plugin",
    "hutch.reproduce.plugin",
    "hutch.plugins.plugin",
)
"""Modules; a plugin's name is that of its package. `hutch --help` lists the commands in this order."""
