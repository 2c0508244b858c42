"""The parameters of `error_correcting_tournament`."""

from typing import Annotated

from pydantic import Field

from hutch.core.parameters import Parameters


class TournamentParameters(Parameters):
    """Parameters of `error_correcting_tournament`.

    Attributes:
        classes: how many; labels are 1 to this.
        errors: how many lost matches a class may survive.
    """

    classes: Annotated[int, Field(ge=2, le=1 << 20)]
    errors: Annotated[int, Field(ge=0, le=30)] = 0
