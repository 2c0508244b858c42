"""The importance-aware dyadic learner and its arithmetic."""
