import io
import time

from rich.console import Console

from hutch.core.run.bar import ProgressBar


def test_a_bar_shows_share_rate_and_time_left_below_the_rows() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80, color_system=None)
    with ProgressBar(1000, passes=2, console=console) as bar:
        for position in range(0, 501, 100):
            time.sleep(0.01)  # the time left is estimated from several moments
            bar.update(pass_number=2, position=position, examples=12_345)
        bar.say("0.5 [red]row[/red]")
        bar._bar.refresh()
    shown = screen.getvalue()
    assert "75%" in shown and "/s" in shown and "0:0" in shown
    assert "0.5 [red]row[/red]\n" in shown
