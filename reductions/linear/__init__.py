"""The linear base learner."""
