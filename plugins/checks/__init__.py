"""Checks of the contracts that plugins keep; a plugin's own tests call them."""

from hutch.plugins.checks.run import (
    check_loss,
    check_reduction,
    checks_of,
    checks_of_loss,
    checks_of_reduction,
)

__all__ = [
    "check_loss",
    "check_reduction",
    "checks_of",
    "checks_of_loss",
    "checks_of_reduction",
]
