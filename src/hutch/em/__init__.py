"""Online EM over sufficient statistics, and its natural constraint."""

import hutch.core  # noqa: F401 - modules are found by their old names from then on
