"""Evaluation of logs: with probabilities that are estimated, and with several slots per decision."""
