"""Decisions: layers that choose one of several actions, learn from the cost of the choice, and explore."""
