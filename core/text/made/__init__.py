"""Features made of the names of features, which only text has."""
