"""Losses: values, derivatives and importance-aware updates."""
