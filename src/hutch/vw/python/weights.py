"""The weights of a workspace, by row and by name."""

from typing import Any

from hutch.core.text.hashing import hash_namespace, hash_text
from hutch.core.text.parser import ParserOptions
from hutch.vw.python.kinds import KindNames


class Weights(KindNames):
    """The part of VW's `Workspace` that reads and changes weights.

    Attributes:
        chain: that has them.
    """

    chain: Any

    def num_weights(self) -> int:
        """Rows of the weight table."""
        return len(self.chain.weights)

    def get_weight(self, index: int, offset: int = 0) -> float:
        """A weight.

        Args:
            index: a feature's hash times the sub-models' number, rounded up to a power of two; only its low bits count.
            offset: 0, or the place of another number of the row, such as the sum of squared gradients.
        """
        weight: float = self.chain.weights.item(index & (len(self.chain.weights) - 1), offset)
        return weight

    def set_weight(self, index: int, offset: int, value: float) -> None:
        """Change a weight; `index` and `offset` as in `get_weight`."""
        self.chain.weights[index & (len(self.chain.weights) - 1), offset] = value

    def get_stride(self) -> int:
        """Numbers that the weight table has per row."""
        return int(self.chain.weights.shape[1])

    @property
    def parser_options(self) -> ParserOptions:
        """How lines are read."""
        options: ParserOptions = self.chain.parser
        return options

    def get_weight_from_name(self, feature_name: str, namespace_name: str = " ") -> float:
        """The weight of a feature by its names."""
        return self.get_weight(self.hash_feature(feature_name, self.hash_space(namespace_name)))

    def hash_space(self, name: str) -> int:
        """The hash of a namespace, which is the seed for its features."""
        return hash_namespace(name, self.chain.parser.hash_seed, self.chain.parser.hash)

    def hash_feature(self, name: str, space: int) -> int:
        """The index of a feature.

        Args:
            name: of the feature.
            space: a result of `hash_space`.
        """
        return hash_text(name, space, self.chain.parser.hash) & (len(self.chain.weights) - 1)
