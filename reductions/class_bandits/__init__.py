"""Bandits whose actions are classes: single examples, each with the cost of the class that was chosen."""
