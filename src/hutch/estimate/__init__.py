"""Rates, means and differences over all items, estimated from the few that people labelled."""

from hutch.core.callable_package import make_callable

make_callable(__name__)
