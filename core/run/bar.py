"""A live bar on a terminal, below the rows of the progress table."""

from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text


class _Rate(ProgressColumn):
    """Examples per second."""

    def render(self, task: Task) -> Text:
        seconds = task.elapsed or 0.0
        return Text(f"{task.fields['examples'] / seconds:,.0f}/s" if seconds > 0 else "")


class ProgressBar:
    """Progress of a run, its rate and the time left; a context manager.

    Args:
        total: bytes of a pass.
        passes: over the data.
        console: where to draw; None: stderr.
    """

    def __init__(self, total: int, passes: int = 1, console: Console | None = None) -> None:
        columns = (TextColumn("{task.percentage:3.0f}%"), BarColumn(None), _Rate(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=console or Console(stderr=True), transient=True, expand=True)
        self._total = total
        self._task = self._bar.add_task("", total=total * passes, examples=0)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._bar.stop()

    def update(self, pass_number: int, position: int, examples: int) -> None:
        """Draw the progress of the run.

        Args:
            pass_number: counted from 1.
            position: bytes read in this pass.
            examples: seen in the whole run.
        """
        self._bar.update(self._task, completed=(pass_number - 1) * self._total + position, examples=examples)

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)
