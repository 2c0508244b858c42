"""A crowd model above a learner."""
