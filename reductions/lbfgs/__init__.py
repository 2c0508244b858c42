"""A linear learner that takes its steps at the end of whole passes."""
