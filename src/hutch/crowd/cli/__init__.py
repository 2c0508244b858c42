"""Further commands about crowds: preferences, and numbers over all items."""
