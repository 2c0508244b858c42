"""A chain as YAML: read, overridden, checked, written."""
