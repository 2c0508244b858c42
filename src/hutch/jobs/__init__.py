"""Where shards of a job run: here, in processes, on Ray."""
