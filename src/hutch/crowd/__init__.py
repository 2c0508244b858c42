"""Crowd models: who labels well, and what is true."""

import hutch.core  # noqa: F401 - modules are found by their old names from then on
