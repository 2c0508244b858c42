"""The base of the parameters of layers."""

from pydantic import BaseModel, ConfigDict


class Parameters(BaseModel):
    """Base of the parameters of a layer; unknown keys are errors, values are checked against their annotations."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
