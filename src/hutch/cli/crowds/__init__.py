"""Commands about crowds of their own: preferences, and numbers over all items."""
