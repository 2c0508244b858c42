"""Preferences: votes on pairs; strengths of the players, ties, and reliability of the workers."""
