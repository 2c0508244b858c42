"""What a chain's YAML says beside its layers, as pydantic's models."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from hutch.core.data.roles import Roles


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class WeightOptions(_Section):
    """The hashed weight table."""

    bits: Annotated[int, Field(ge=1, le=31, description="the table has 2^bits rows")] = 18


class InputOptions(_Section):
    """How text becomes features."""

    namespaces: Annotated[
        Literal["name", "letter"],
        Field(description="tell namespaces apart by full name, or by first letter as VW does"),
    ] = "name"
    hash: Annotated[
        Literal["strings", "all"],
        Field(description="strings: a name that is a number is its own index; all: hash it too"),
    ] = "strings"
    hash_seed: Annotated[int, Field(ge=0, lt=1 << 32, description="seed of the feature hash")] = 0
    constant: Annotated[bool, Field(description="add the constant feature to every example")] = True
    ignore: Annotated[tuple[str, ...], Field(description="namespaces to leave out")] = ()
    keep: Annotated[tuple[str, ...], Field(description="namespaces to keep; all others are left out")] = ()
    matrix: Annotated[
        str, Field(description="namespace of a matrix's columns, if `columns` divides them into none")
    ] = "x"
    longest_line: Annotated[
        int, Field(ge=1 << 10, lt=1 << 32, description="bytes that a line may have; a longer one is refused")
    ] = 1 << 26
    columns: Annotated[Roles, Field(description="what the columns of tables and matrices stand for")] = Roles()


class PluginOptions(_Section):
    """Which plugins this chain loads."""

    block: Annotated[tuple[str, ...], Field(description="plugins or distributions to leave out")] = ()


class Frame(_Section):
    """Everything but the layers."""

    weights: WeightOptions = WeightOptions()
    input: InputOptions = InputOptions()
    seed: Annotated[int, Field(ge=0, lt=1 << 63, description="of every random decision")] = 0
    plugins: PluginOptions = PluginOptions()
