"""The commands that reproduce published tables."""
