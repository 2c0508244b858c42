"""Label requests: the store, its loops and the page."""
