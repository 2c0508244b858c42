"""Evaluation of logs: what another policy would have cost, slot by slot, and with probabilities that are estimated."""
