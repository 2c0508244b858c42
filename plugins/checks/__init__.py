"""Checks of the contracts that plugins keep; a plugin's own tests call them."""

from hutch.plugins.checks.run import check_em_model, check_loss, check_reduction, checks_of

__all__ = ["check_em_model", "check_loss", "check_reduction", "checks_of"]
