"""A few actions that span all others, so that exploring them suffices."""
