"""Active learning: which labels to ask for."""
