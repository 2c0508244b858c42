"""Probabilistic principal component analysis in closed form, in batches, with missing values."""
