"""The probabilities with which a log's actions were chosen, estimated where the log does not hold them."""
