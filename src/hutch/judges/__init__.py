"""The worth of judges: reports on the logs of evaluations."""

from hutch.core.callable_package import make_callable

make_callable(__name__)
