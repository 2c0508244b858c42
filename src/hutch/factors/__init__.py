"""Factors of a table of answers, and what a few answers say of a new row of it."""
