"""The plugins that come with Hutch: modules registered through the same door as a stranger's."""

DEFAULT_PLUGINS: tuple[str, ...] = (
    "hutch.core.losses",
    "hutch.reductions.linear",
)
