"""Base learners whose weights follow from sums of gradients: FTRL-Proximal, PiSTOL and coin betting."""
