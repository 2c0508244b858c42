"""A chain of reductions over one weight table, and the file that it is saved in."""
