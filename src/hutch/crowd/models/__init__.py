"""Crowd models, batch and online, and the table of the built-in ones."""
