"""`hutch active` and `hutch label-studio`: label requests, and the pages on which people answer them."""
