"""How good is it: rates, means and differences over all items, from the few that people labelled."""
