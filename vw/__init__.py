"""Vowpal Wabbit's command line, its reports and its formats."""
