"""Vowpal Wabbit's options: what each means, and the part of a chain that it sets, one file for each kind."""
