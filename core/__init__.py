"""The foundation of everything else; it does not depend on any reduction."""
