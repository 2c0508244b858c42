"""The Bayesian linear learner of a dense namespace: a Gaussian posterior of the weights, one pass over the data."""
