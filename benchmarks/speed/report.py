"""The whole report of speed, benchmarks/results/speed.md, measured again with one command; half an hour.

    python benchmarks/speed/report.py [--folder DIR] [--scale X]

Runs what writes each section: `speed.py`, `start/commands.py`, `many.py`, and `start/rehearsal.py` with a wheel of this
clone without machine code and one with that of `.ci/ship_kernels`. Everything it needs is installed into environments
in DIR. The sections on serving, on 10^4 to 10^8 lines and on threads stay; their commands stand on the page.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(*words: str | Path) -> None:
    """Run a program of this clone; a failure ends the report."""
    print("$", *words, flush=True)
    subprocess.run([sys.executable, *words], check=True, cwd=ROOT)


def main() -> None:
    """Measure all sections."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=ROOT / ".speed", help="environments, inputs, caches")
    parser.add_argument("--scale", default="1", help="of the inputs beside Vowpal Wabbit")
    options = parser.parse_args()
    here, folder = ROOT / "benchmarks" / "speed", options.folder.resolve()
    run(here / "speed.py", "--folder", folder, "--scale", options.scale)
    run(here / "start" / "commands.py", "--folder", folder)
    run(here / "many.py", "--folder", folder)
    with tempfile.TemporaryDirectory() as made:
        run(ROOT / ".ci" / "build_distributions", made)
        [plain] = Path(made).glob("*.whl")
        run(ROOT / ".ci" / "ship_kernels", plain, Path(made) / "shipped")
        shipped = (Path(made) / "shipped").glob("*.whl")
        run(here / "start" / "rehearsal.py", "--page", "--wheel", plain, *shipped)


if __name__ == "__main__":
    main()
