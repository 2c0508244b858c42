"""A linear learner that takes Newton steps by a sketch of the curvature."""
