"""Vowpal Wabbit's text format: from bytes to a batch."""
