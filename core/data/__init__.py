"""Everything else that examples come from, and the reading of files ahead of the learner."""
