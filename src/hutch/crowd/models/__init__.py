"""Crowd models, batch and online, and the table of those that are built in."""
