"""Probabilistic principal component analysis as a base learner."""
