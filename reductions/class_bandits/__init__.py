"""Bandits over classes, each of which has its own weights for the features of an example."""
