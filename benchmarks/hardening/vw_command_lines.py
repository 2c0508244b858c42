"""How many command lines of Vowpal Wabbit's own test suite use only options that Hutch has.

    curl -O https://raw.githubusercontent.com/VowpalWabbit/vowpal_wabbit/master/test/core.vwtest.json
    python benchmarks/hardening/vw_command_lines.py core.vwtest.json

Each test with a `vw_command` is a line. A line that continues from a model (`depends_on`) needs the options of the line
that made it as well: the second figure counts these lines only if both are taken. A line that is not taken is refused
by name if the message says of every such option what to use instead. Last come the options that alone keep the most
lines from being taken.
"""

import argparse
import json
import shlex
import warnings
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hutch.core.errors import UsageError
from hutch.vw.idle import leave_out_idle
from hutch.vw.parse import parse
from hutch.vw.translate import chain_of


def refusal(command: str) -> str:
    """What `hutch vw` says against a command line; empty if it takes the options, and they make a chain."""
    words = shlex.split(command)
    if "--help" in words:
        return ""
    try:
        options = parse(words)
        if not options.initial_regressor:
            with warnings.catch_warnings(action="ignore"):  # options without a meaning are taken
                leave_out_idle(options)
                chain_of(options)
    except UsageError as error:
        return str(error)
    return ""


def _with_its_models(number: int, lines: Mapping[int, Any], refused: Mapping[int, str]) -> bool:
    """Whether a line is accepted, with all lines that make its models."""
    makers = (maker for maker in lines[number].get("depends_on", []) if maker in lines)
    return not refused[number] and all(_with_its_models(maker, lines, refused) for maker in makers)


def _named(message: str) -> list[str]:
    """The options that a message refuses."""
    return [word.strip(",") for word in message.split(" not supported")[0].split() if word.startswith("--")]


def main() -> None:
    """Read the tests, count and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", type=Path, help="test/core.vwtest.json of Vowpal Wabbit")
    tests = json.loads(parser.parse_args().tests.read_text())
    lines = {test["id"]: test for test in tests if "vw_command" in test}
    refused = {number: refusal(test["vw_command"]) for number, test in lines.items()}
    named = [message for message in refused.values() if message and "unknown option" not in message]
    alone = Counter(_named(message)[0] for message in named if len(_named(message)) == 1 and "\n" not in message)
    print(f"command lines                         {len(lines):5}")
    print(f"only options that Hutch has           {sum(not message for message in refused.values()):5}")
    print(f"and so has the line of its model      {sum(_with_its_models(n, lines, refused) for n in lines):5}")
    print(f"refused by name                       {len(named):5}")
    print(f"refused otherwise                     {sum('unknown option' in m for m in refused.values()):5}")
    print("alone in the way: " + ", ".join(f"{name} {count}" for name, count in alone.most_common(12)))


if __name__ == "__main__":
    main()
