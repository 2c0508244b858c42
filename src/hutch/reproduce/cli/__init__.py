"""The demonstration, and the commands that reproduce published tables."""
