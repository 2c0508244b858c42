"""Jobs in shards: what is computed is fixed by the shards, where by an engine; see docs/machines.md."""
