"""Vowpal Wabbit's JSON: single examples, decisions, logs of decisions."""
