"""The sections of a chain's YAML beside its layers."""

from dataclasses import field, fields
from typing import Annotated, Literal

from hutch.core.data.roles import Roles
from hutch.core.parameters import Parameters, Within
from hutch.core.text.made.options import Affix, Dictionary, Made


class WeightOptions(Parameters):
    """The hashed weight table.

    Attributes:
        bits: the table has 2^bits rows.
    """

    bits: Annotated[int, Within(ge=1, le=31)] = 18


class InputOptions(Parameters):
    """How text becomes features.

    Attributes:
        namespaces: distinguish namespaces by full name, or by first letter as VW does.
        hash: `strings`: a name that is a number is its own index; `all`: hash it too.
        hash_seed: seed of the feature hash.
        constant: add the constant feature to every example.
        ignore: namespaces to leave out.
        keep: namespaces to keep; all others are left out.
        matrix: namespace of a matrix's columns, if `columns` divides them into none.
        longest_line: bytes that a line may have; a longer one is refused.
        columns: roles of the columns of tables and matrices.
        affixes: of text: new features, the first or last bytes of the names of a namespace's features.
        shapes: of text: namespaces whose features' names become new features, all digits and all letters alike.
        dictionaries: of text: new features, looked up by the names of a namespace's features.
        renamed: of text: namespaces that count as another, listed by the other's name.
    """

    namespaces: Literal["name", "letter"] = "name"
    hash: Literal["strings", "all"] = "strings"
    hash_seed: Annotated[int, Within(ge=0, lt=1 << 32)] = 0
    constant: bool = True
    ignore: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    matrix: str = "x"
    longest_line: Annotated[int, Within(ge=1 << 10, lt=1 << 32)] = 1 << 26
    columns: Roles = Roles()
    affixes: tuple[Affix, ...] = ()
    shapes: tuple[str, ...] = ()
    dictionaries: tuple[Dictionary, ...] = ()
    renamed: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def made(self) -> Made:
        """What is made of the names of features."""
        return Made(
            affixes=self.affixes, shapes=self.shapes, dictionaries=self.dictionaries, renamed=self.renamed or None
        )


class PluginOptions(Parameters):
    """Which plugins this chain loads.

    Attributes:
        block: plugins or distributions to leave out.
    """

    block: tuple[str, ...] = ()


class Frame(Parameters):
    """Everything but the layers.

    Attributes:
        weights: the weight table.
        input: how text becomes features.
        seed: of every random decision.
        plugins: which plugins are loaded.
    """

    weights: WeightOptions = WeightOptions()
    input: InputOptions = InputOptions()
    seed: Annotated[int, Within(ge=0, lt=1 << 63)] = 0
    plugins: PluginOptions = PluginOptions()


SECTIONS = (*(field.name for field in fields(Frame)), "chain")
"""The keys at the top of a chain's YAML."""
