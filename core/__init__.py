"""The foundation of everything else; it does not depend on any reduction."""

from hutch.core.moved import install

install()
