"""What is not wrong in the data of a chain, but most likely not meant: labels and names that do not fit it."""

from collections.abc import Iterator

from hutch.core.batch import Batch
from hutch.core.chain.engine import Engine
from hutch.core.chain.namespaces import NamedNamespaces


class Unexpected:
    """Gathers the labels that a chain is not made for, and the namespaces that it names and no example has.

    Each is told once.

    Args:
        engine: the chain.

    Attributes:
        labels: how many such labels were seen.
        first: the first of them, None before it.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        named = NamedNamespaces(engine.layers, engine.parser.namespaces)
        self._named: NamedNamespaces | None = named if any(named.missing()) else None
        self.labels = 0
        self.first: float | None = None
        self._told = self._doubted = False

    @property
    def watches_namespaces(self) -> bool:
        """Whether some namespace is still looked out for."""
        return self._named is not None

    def see(self, batch: Batch) -> None:
        """Look at a batch that was learned."""
        if self._named is not None:
            self._named.see(batch)
        labels = self._engine.unexpected_labels(batch)
        self.labels += len(labels)
        if len(labels) and self.first is None:
            self.first = float(labels[0])

    def about_labels(self) -> Iterator[str]:
        """What to tell people of the labels."""
        if self.first is not None and not self._told:
            self._told = True
            such = f"{self.labels} labels such as {self.first:g}"
            yield f"{such}: this chain is not made for them, and learned from them all the same"
        if not self._doubted and (doubt := self._engine.doubtful_labels()):
            self._doubted = True
            yield doubt

    def about_namespaces(self) -> Iterator[str]:
        """What to tell people of namespaces, a sentence each."""
        if self._named is not None:
            missing, self._named = self._named.missing(), None
            yield from missing
