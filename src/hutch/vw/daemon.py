"""`hutch vw --daemon`: Vowpal Wabbit's protocol over TCP; a line is learned if it has a label, and always answered.

Where VW forks children that share the weights without locks, one process answers all connections in turn: with the same
lines in the same order the model is the same. Nothing is logged, as in VW; `hutch serve --vw-port` is durable.
"""

import os
import re
import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

from hutch.core.atomic import check_writable, kept_from_servers, write_text
from hutch.core.errors import HutchError, at
from hutch.core.run.one import OneExample
from hutch.core.run.predictions import number_line
from hutch.core.text.parser import TextParser
from hutch.net.lines import run_in_loop, run_lines
from hutch.net.web import listen
from hutch.vw.options.table import NAMED
from hutch.vw.outputs import is_bounded, prediction_lines, writes_numbers
from hutch.vw.run import build_chain

PORT: int = NAMED["port"].default
HOST = "127.0.0.1"
_SAVE = re.compile(rb"^[^|\n]*?'?(save(?:_[^ |\n]*)?) ?\|.*\n", re.MULTILINE)


class Daemon:
    """Answers lines as the command line asks.

    Args:
        options: the command line.

    Raises:
        HutchError: the command line is wrong.
    """

    def __init__(self, options: Namespace) -> None:
        if options.classweight:
            raise HutchError("--classweight: got it with --daemon, wanted importances in the lines")
        self.chain = build_chain(options)
        self._options = options
        self._parser = TextParser(replace(self.chain.parser, strict=options.strict_parse), "<client>")
        self._json: Any = None
        if options.json or options.dsjson:
            from hutch.vw.json.reader import reader_of

            self._json = reader_of(options, self._parser.options)
        self._lines = prediction_lines(self.chain, options)
        self._scores = self.chain.score_count > 0 and bool(
            options.scores or options.probabilities or is_bounded(self.chain)
        )
        self._one = OneExample(self.chain) if self._json is None and writes_numbers(self.chain, options) else None
        self._told = 0
        if options.final_regressor:
            check_writable(options.final_regressor)

    @property
    def blocks(self) -> bool:
        """Whether an example is a block of lines that ends with an empty one."""
        return self._json is None and bool(self.chain.whole_groups or self.chain.takes.of_decisions)

    def answer(self, lines: bytes) -> bytes:
        """Learn and predict some lines."""
        found, start = [], 0
        if b"save" in lines and self._json is None:
            for command in _SAVE.finditer(lines):
                found.append(self._run(lines[start : command.start()]))
                self._save(command[1].decode(errors="replace"))
                start = command.end()
        found.append(self._run(lines[start:]))
        return b"".join(found)

    def _run(self, lines: bytes) -> bytes:
        if not lines.strip():
            return b""
        try:
            if self._one is not None and lines.find(b"\n") == len(lines) - 1:
                alone = self._one.run(lines, not self._options.testonly, stays=False)
                if alone is not None:
                    return number_line(alone.predictions.item(0), self._one.tag)
            batch = self._parser.parse(lines) if self._json is None else self._json.parse(lines, self._parser)
            for problem in self._parser.problems.kept[self._told :]:
                print(problem, file=sys.stderr, flush=True)
            self._told = len(self._parser.problems.kept)
            if not len(batch):
                return b""
            learn = not self._options.testonly
            outputs, _ = self.chain.run_batch(batch, learn=learn, scores=self._scores, reuse=True)
        except HutchError as error:
            return f"error: {error}\n".encode(errors="replace")
        return bytes(self._lines(batch, outputs))

    def _save(self, command: str) -> None:
        """Save the model under the tag of a line: `save`, or `save_NAME` in the working directory."""
        name = command.removeprefix("save").removeprefix("_") or self._options.final_regressor
        try:
            if not name:
                raise HutchError("save: got no name, wanted -f FILE or the tag save_FILE")
            if command != "save" and Path(name).name != name:
                raise HutchError(f"{command}: got a path, wanted a name: a client cannot choose the directory")
            self.chain.save(name)
        except HutchError as error:
            print(error, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Save the model if `-f` names a file."""
        if self._options.final_regressor:
            self.chain.save(self._options.final_regressor)


def run(options: Namespace) -> int:
    """Serve until a signal stops it; returns the exit status.

    Without `--foreground` the server is a separate process, and this one returns once it listens.

    Raises:
        HutchError: the command line is wrong, or the port is taken.
    """
    daemon = Daemon(options)
    port = PORT if options.port is None else options.port
    with kept_from_servers(options.final_regressor), listen(HOST, port) as listening:
        if not options.foreground and _left_to_a_child():
            return 0

        def ready() -> None:
            for path, number in ((options.pid_file, os.getpid()), (options.port_file, listening.getsockname()[1])):
                if path:
                    write_text(path, f"{number}\n")

        try:
            run_in_loop(run_lines(daemon.answer, listening, ready, blocks=daemon.blocks))
        finally:
            daemon.close()
            if options.pid_file:
                Path(options.pid_file).unlink(missing_ok=True)
    return 0


def _left_to_a_child() -> bool:
    """Continue as a process without a terminal; True in the process that is left behind."""
    try:
        if os.fork():
            return True
    except AttributeError:
        raise HutchError(at("--daemon", None, None, "this system cannot fork, wanted --foreground")) from None
    os.setsid()
    return False
