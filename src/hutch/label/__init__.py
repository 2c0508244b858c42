"""Labels for the least money: who labels what next, and a certificate that says when it is enough."""
