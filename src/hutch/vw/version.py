"""The name of VW's module `version`."""

from hutch.core.version import version

__version__ = version()
