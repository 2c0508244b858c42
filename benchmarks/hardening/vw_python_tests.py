"""How many of Vowpal Wabbit's own Python tests pass with one import changed.

    git clone --depth 1 https://github.com/VowpalWabbit/vowpal_wabbit
    pip install pytest pandas scikit-learn scipy
    python benchmarks/hardening/vw_python_tests.py vowpal_wabbit              # by hutch.vw
    python benchmarks/hardening/vw_python_tests.py vowpal_wabbit --peer       # by vowpalwabbit itself

The tests are those of the files in python/tests that import `vowpalwabbit`. In a copy, `import vowpalwabbit` becomes
`import hutch.vw as vowpalwabbit`, and `from vowpalwabbit` becomes `from hutch.vw`. Each test that fails is listed with
the end of its message.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_CHANGES = (
    (r"(?m)^(\s*)import vowpalwabbit$", r"\1import hutch.vw as vowpalwabbit"),
    (r"(?m)^(\s*)from vowpalwabbit\b", r"\1from hutch.vw"),
)


def copied(checkout: Path, place: Path, *, peer: bool) -> list[str]:
    """Copy Vowpal Wabbit's tests with their inputs; returns those that import its package.

    Args:
        checkout: the root of Vowpal Wabbit's repository.
        place: a new folder.
        peer: leave the imports as they are.
    """
    shutil.copytree(checkout / "python/tests", place / "python/tests")
    shutil.copytree(checkout / "test", place / "test")
    found = []
    for file in sorted((place / "python/tests").glob("test_*.py")):
        text = file.read_text()
        changed = text
        for pattern, imports in _CHANGES:
            changed = re.sub(pattern, imports, changed)
        if changed != text:
            found.append(str(file.relative_to(place)))
            file.write_text(text if peer else changed)
    return found


def main() -> None:
    """Run the tests and print their counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="root of Vowpal Wabbit's repository")
    parser.add_argument("--peer", action="store_true", help="run them under vowpalwabbit itself")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tests = copied(given.checkout, Path(folder), peer=given.peer)
        command = [sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider", *tests]
        print(subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout.partition("short test")[2])


if __name__ == "__main__":
    main()
