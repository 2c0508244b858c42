"""Base learners whose weights follow from sums of gradients: FTRL-Proximal, PiSTOL, coin betting, FreeGrad, SVRG."""
