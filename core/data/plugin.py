"""The readers that come with Hutch, but for those of Vowpal Wabbit's formats."""

from collections.abc import Callable

from hutch.core.hooks import hookimpl


@hookimpl
def hutch_register_readers(register: Callable[..., None]) -> None:
    """Register each reader by its place."""
    register("hutch.core.data.csv:read_csv", name=".csv")
    register("hutch.core.data.csv:read_ssv", name=".ssv")
    register("hutch.core.data.csv:read_tsv", name=".tsv")
    register("hutch.core.data.json_lines:read_json_lines", name=".jsonl")
    register("hutch.core.data.json_lines:read_json_lines", name=".ndjson")
    register("hutch.core.data.arrow_files:read_parquet", name=".parquet")
    register("hutch.core.data.arrow_files:read_feather", name=".feather")
    register("hutch.core.data.arrow_files:read_feather", name=".arrow")
