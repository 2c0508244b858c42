"""The ground that everything else stands on; it knows no reduction."""

from hutch.core.moved import install

install()
