"""Pages and plots that reports are made of."""
