"""Probabilistic principal component analysis in closed form, in batches, with missing values."""

from hutch.core.moved import names_of

__getattr__ = names_of(__name__, "hutch.em.ppca.model")
