"""Crowd models: who labels well, and what is true."""
