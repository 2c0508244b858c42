"""Pairs of any number of namespaces, by importance-aware updates."""
