"""Preferences: votes on pairs, and how strong, how tied and how reliably judged what was voted on is."""
