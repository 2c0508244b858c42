"""Checks of the contracts that plugins keep; a plugin's own tests call them."""

from hutch.plugins.checks.run import check_crowd_model as check_crowd_model
from hutch.plugins.checks.run import check_loss as check_loss
from hutch.plugins.checks.run import check_reduction as check_reduction
from hutch.plugins.checks.run import checks_of as checks_of
from hutch.plugins.checks.run import checks_of_crowd_model as checks_of_crowd_model
from hutch.plugins.checks.run import checks_of_loss as checks_of_loss
from hutch.plugins.checks.run import checks_of_reduction as checks_of_reduction
