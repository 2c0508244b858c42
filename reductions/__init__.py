"""Composable reductions, one per file."""
