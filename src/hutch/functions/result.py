"""What the functions return: it reads in a notebook as the command reads in a terminal."""

from abc import ABC, abstractmethod
from html import escape


class Result(ABC):
    """A result with a text, which `repr` and notebooks show."""

    @property
    @abstractmethod
    def text(self) -> str:
        """What the command prints."""

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text)}</pre>"
