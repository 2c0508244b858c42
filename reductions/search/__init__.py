"""Learning to search: the parts of a structured label are predicted one after the other, each with those before it."""
