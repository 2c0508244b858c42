"""The linear base learner."""

from hutch.core.moved import names_of

__getattr__ = names_of(__name__, "hutch.reductions.linear.layer")
