"""Labels at the lowest cost: who labels what next, and a certificate that shows when it is enough."""
