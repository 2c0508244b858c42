"""Rates, means and differences over all items, estimated from the few that people labelled."""
