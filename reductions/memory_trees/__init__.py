"""Trees of examples that are kept: the label of one that is found again is the prediction."""
