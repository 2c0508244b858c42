"""Composable reductions, one a file."""
