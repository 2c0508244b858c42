"""The commands of Vowpal Wabbit's formats."""
