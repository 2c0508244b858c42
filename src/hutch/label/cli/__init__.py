"""`hutch label`: what it prints, and what it asks for."""
