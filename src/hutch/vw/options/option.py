"""Options of Vowpal Wabbit, and its names for layers.

`hutch.vw.options.layers` declares those of Hutch's layers; a plugin declares its own by the hook
`hutch_register_vw_layers`. `hutch vw`, its help and its documentation are made from that.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["flag", "int", "float", "text", "texts", "words"]
Reads = Literal["value", "size", "letters", "terms", "loss"]

EXPLORING = ("cb_explore_adf", "cb_explore", "cbify")
"""The options that ask for a layer that explores."""

NUMBERS = ("cats", "cats_pdf", "cbify_reg")
"""The options that ask for a decision for a number of a range."""

LEARNER = ("weights", "input", "seed", "base")
"""The parts of a chain that VW's options of `hutch train` can set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option of VW.

    Attributes:
        name: the long name without dashes.
        short: the short name, empty for none.
        kind: of its value; `texts` can be given several times, `words` several times with several values each.
        help: what it does; if it begins with a small letter, "With" and the options that it needs are put before it.
        metavar: placeholder for its value in help texts.
        default: the value if it is not given, None for none.
        choices: the allowed values; empty for any.
        least: the smallest value, None for any.
        sets: the place in a chain that it sets: a key such as `weights.bits` or `seed`, `base.PARAMETER` of the base
            learner, or `LAYER.PARAMETER` or `LAYER` of another layer; empty if it sets none. In a layer's declaration
            the parameter alone.
        reads: how a value becomes one of the chain: unchanged, by its size, as namespaces, as interactions, or as part
            of a loss.
        value: set by a flag.
        means: the chain's value for each of some values.
        needs: options, one of which it needs to have a meaning; without any, an option for a layer adds that layer.
        note: differences from VW; or, where Hutch does not have the option, the alternative.
        supported: False if Hutch refuses it.
    """

    name: str
    short: str = ""
    kind: Kind = "flag"
    help: str = ""
    metavar: str = ""
    default: Any = None
    choices: tuple[str, ...] = ()
    least: float | None = None
    sets: str = ""
    reads: Reads = "value"
    value: Any = True
    means: tuple[tuple[str, Any], ...] = ()
    needs: tuple[str, ...] = ()
    note: str = ""
    supported: bool = True

    @property
    def verdict(self) -> str:
        """`same`, `different` or `not supported`."""
        return "not supported" if not self.supported else ("different" if self.note else "same")

    @property
    def part(self) -> str:
        """The section or the layer of a chain that it sets."""
        return self.sets.partition(".")[0]

    @property
    def key(self) -> str:
        """The parameter that it sets; empty if a layer's presence is all."""
        return self.sets.partition(".")[2]

    @property
    def layer(self) -> str:
        """The layer above the base learner that it belongs to, empty without one."""
        return "" if self.part in LEARNER else self.part

    @property
    def brings_layer(self) -> bool:
        """Whether the layer is part of the chain because of this option."""
        return bool(self.layer) and not self.needs

    def given(self, values: Any) -> Any:
        """Its value among those that `hutch.vw.parse.parse` returns; None if it was not given."""
        value = getattr(values, self.name)
        if value is None or value is False or value == []:
            return None
        return self.value if self.kind == "flag" else value

    def meant(self, values: Any) -> Any:
        """The chain's value for the given value; None if it was not given."""
        value = self.given(values)
        if value is not None and self.reads == "size":
            return abs(value)
        return dict(self.means).get(value, value) if self.means else value


@dataclass(frozen=True, slots=True, kw_only=True)
class VwLayer:
    """Vowpal Wabbit's view of a layer.

    Attributes:
        learner: its name among the enabled learners.
        options: its options, in the order of the help text.
        beside: options that other layers have, each with the parameter that it sets here, too.
        explores: whether it is one of the explorers, which exclude each other: the first option asks for it.
        makes_actions: whether it makes actions from examples without any, so that no shared features reach it.
        in_place_of: the layer whose place it takes: the first option asks for it.
    """

    learner: str
    options: tuple[Option, ...] = ()
    beside: tuple[tuple[str, str], ...] = ()
    explores: bool = False
    makes_actions: bool = False
    in_place_of: str = ""


def new_flag(name: str, help: str, **more: Any) -> Option:
    """An option without a value."""
    return Option(name=name, help=help, **more)


def new_int(name: str, help: str, **more: Any) -> Option:
    """An option whose value is a whole number."""
    return Option(name=name, kind="int", help=help, **({"metavar": "N"} | more))


def new_float(name: str, help: str, **more: Any) -> Option:
    """An option whose value is a number."""
    return Option(name=name, kind="float", help=help, **({"metavar": "X"} | more))


def new_text(name: str, metavar: str, help: str, **more: Any) -> Option:
    """An option whose value is a text, given once."""
    return Option(name=name, kind="text", metavar=metavar, help=help, **more)


def new_choice(name: str, help: str, means: Mapping[str, Any], **more: Any) -> Option:
    """An option with one of a few texts, the first of them by default, each of which means a value of the chain."""
    texts = tuple(means)
    given = {"metavar": "|".join(texts), "choices": texts, "default": texts[0], "means": tuple(means.items())}
    return Option(name=name, kind="text", help=help, **(given | more))


def new_words(name: str, metavar: str, help: str, **more: Any) -> Option:
    """An option that is given several times, each with several values."""
    return Option(name=name, kind="words", metavar=metavar, help=help, **more)
