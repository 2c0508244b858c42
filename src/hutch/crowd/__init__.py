"""Crowd models: the skill of workers, and the true labels."""

from hutch.core.callable_package import make_callable

make_callable(__name__)
