"""Which closed forms hold for a loss: the values of `kind` in its LOSS record.

Every loss has a value and a derivative; a kind other than `GENERIC` promises more, so that kernels may use the
formula made for it instead of the derivative.
"""

GENERIC = 0
"""Only value and derivative are known."""
SQUARED = 1
"""Squared error with the prediction clipped to the label range."""
HINGE = 2
"""max(0, 1 - y p), y = ±1."""
LOGISTIC = 3
"""ln(1 + e^(-y p)), y = ±1."""
QUANTILE = 4
"""Pinball loss; the record's parameter is tau."""
EXPECTILE = 5
"""Squared error weighted by tau where p < y and 1 - tau where p > y."""
POISSON = 6
"""e^p - y p, y ≥ 0."""
CLASSIC = 7
"""Squared error, never clipped."""
