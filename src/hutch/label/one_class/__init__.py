"""The items of one class, found with the fewest labels, and a certificate of recall, precision or F1."""
