"""Crowd models: the skill of workers, and the true labels."""
