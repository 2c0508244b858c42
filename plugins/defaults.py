"""The plugins that come with Hutch: modules registered through the same door as a stranger's."""

DEFAULT_PLUGINS: tuple[str, ...] = (
    "hutch.core.losses",
    "hutch.core.readers_csv",
    "hutch.core.readers_parquet",
    "hutch.core.readers_svmlight",
    "hutch.em.models",
    "hutch.reductions.active",
    "hutch.reductions.binary",
    "hutch.reductions.cost_sensitive_one_against_all",
    "hutch.reductions.crowd_em",
    "hutch.reductions.error_correcting_tournament",
    "hutch.reductions.dyadic",
    "hutch.reductions.filter_tree",
    "hutch.reductions.linear",
    "hutch.reductions.scoring_filter_tree",
    "hutch.reductions.link",
    "hutch.reductions.low_rank_quadratic",
    "hutch.reductions.ngrams",
    "hutch.reductions.nat_oem",
    "hutch.reductions.one_against_all",
    "hutch.reductions.ppca",
)
