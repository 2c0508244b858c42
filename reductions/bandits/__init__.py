"""Decisions: layers that choose one of several actions, learn from what the choice has cost, and explore."""
