"""The names of VW's module `pyvw`, for scripts that say `from vowpalwabbit import pyvw`."""

from hutch.core.version import version
from hutch.vw.example import Example as Example
from hutch.vw.example import LabelType as LabelType
from hutch.vw.example import PredictionType as PredictionType
from hutch.vw.workspace import Workspace as Workspace

vw, example, __version__ = Workspace, Example, version()
