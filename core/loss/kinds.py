"""Which closed forms hold for a loss: the values of `kind` in its LOSS record.

Every loss has a value and a derivative; a kind other than `KIND_GENERIC` promises more, so that kernels may use the
formula made for it instead of the derivative.
"""

KIND_GENERIC = 0
"""Nothing is known but value and derivative."""
KIND_SQUARED = 1
"""Squared error with the prediction clipped to the label range."""
KIND_HINGE = 2
"""max(0, 1 - y p), y = ±1."""
KIND_LOGISTIC = 3
"""ln(1 + e^(-y p)), y = ±1."""
KIND_QUANTILE = 4
"""Pinball loss; the record's parameter is tau."""
KIND_EXPECTILE = 5
"""Squared error weighted by tau where p < y and 1 - tau where p > y."""
KIND_POISSON = 6
"""e^p - y p, y ≥ 0."""
KIND_CLASSIC = 7
"""Squared error, never clipped."""
