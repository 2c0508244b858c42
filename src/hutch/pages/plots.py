"""Figures in files. Matplotlib is an extra, imported only when something is drawn."""

from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from hutch.core.atomic import atomic_write, make_directory
from hutch.core.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def require_matplotlib() -> None:
    """Refuse before a long computation rather than after it.

    Raises:
        UsageError: Matplotlib is not installed.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UsageError("plots need Matplotlib: pip install 'hutch[plots]'") from None


def new_figure(width: float, height: float) -> "Figure":
    """An empty figure.

    Args:
        width, height: in inches.

    Raises:
        UsageError: Matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def svg_of(figure: "Figure") -> str:
    """A figure as an `svg` element for a page, the same for the same figure."""
    import matplotlib

    buffer = StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "hutch", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def write_figure(figure: "Figure", path: Path) -> Path:
    """Write a figure as PNG, in one step.

    Args:
        figure: to write.
        path: of the file; its directory is made if it is missing.

    Returns:
        The path.

    Raises:
        HutchError: the file cannot be written.
    """
    make_directory(path.parent)
    with atomic_write(path) as file:
        figure.savefig(file, format="png", dpi=150)
    return path
