"""Hook specifications, the plugin manager and the tuple of default plugins."""
