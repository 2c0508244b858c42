"""`--name LABEL=NAME`: what people read instead of labels."""

from collections.abc import Sequence

from hutch.core.errors import UsageError


def label_names(pairs: Sequence[str], labels: Sequence[str]) -> dict[str, str]:
    """What people read instead of labels, from LABEL=NAME, in the order given.

    Args:
        pairs: the options.
        labels: that may be given, in canonical form; empty: any number.

    Raises:
        UsageError: no LABEL=NAME, no such label, or one name for two labels.
    """
    from hutch.durable.records import canonical_label

    found: dict[str, str] = {}
    for pair in pairs:
        label, equals, text = pair.partition("=")
        canonical = canonical_label(label)
        if not equals or not text or canonical is None or canonical not in (labels or (canonical,)):
            wanted = ", ".join(labels) or "a number"
            raise UsageError(f"--name: got {pair!r}, wanted LABEL=NAME with a label of {wanted}")
        if text in found.values():
            raise UsageError(f"--name: got {text!r} for two labels, wanted different names")
        found[canonical] = text
    return found
