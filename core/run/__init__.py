"""A run over data: passes, progress, predictions."""
