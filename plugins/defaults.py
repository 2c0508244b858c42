"""The plugins that come with Hutch: modules registered through the same door as a stranger's."""

DEFAULT_PLUGINS: tuple[str, ...] = (
    "hutch.core.losses",
    "hutch.core.readers_csv",
    "hutch.core.readers_parquet",
    "hutch.core.readers_svmlight",
    "hutch.em.models",
    "hutch.reductions.active",
    "hutch.reductions.linear",
)
