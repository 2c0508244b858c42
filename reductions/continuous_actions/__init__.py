"""Decisions for a number in a range: a price, a bid, a threshold."""
