"""Labels at the lowest cost: who labels what next, and a certificate that shows when it is enough."""

from hutch.core.callable_package import make_callable

make_callable(__name__)
