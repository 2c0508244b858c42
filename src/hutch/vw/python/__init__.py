"""Examples, namespaces, labels and kinds of Vowpal Wabbit's Python interface."""
