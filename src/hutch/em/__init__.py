"""Online EM over sufficient statistics, and its natural constraint."""
