"""The dispatcher: words to a command, an error to one clear message, and an exit code.

Exit codes: 0 done, 1 the command says no, 2 wrong usage, a `MiniDecoderError` or what the system refuses
(a full disk), 130 after Ctrl-C, 141 when whoever read the output has left (`| head`). Any other exception
is a bug and shows its traceback. A character that the terminal's encoding lacks is printed as `?`.

Left out: the commands themselves, each in its own module beside this one.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Iterator, Sequence
from typing import NoReturn, TextIO

from minidecoder import __version__
from minidecoder.cli import bench, check_schema, compare, conformance, demo, doctor, model, show
from minidecoder.errors import MiniDecoderError

__all__ = ["build_parser", "main"]

COMMANDS = (demo, show, compare, bench, check_schema, conformance, doctor, model)


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line; argparse would print the usage above it."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"minidecoder: {message} (help: {self.prog} --help)\n")


def build_parser() -> argparse.ArgumentParser:
    """The parser with every command in it."""
    parser = _Parser(
        prog="python -m minidecoder",
        description="An automaton decides which tokens a language model may say next.",
    )
    parser.add_argument("--version", action="version", version=f"minidecoder {__version__}")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    for command in COMMANDS:
        command.add_parser(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (`sys.argv` by default) and return its exit code."""
    _prepare_streams()
    try:
        with _flushed():
            args = build_parser().parse_args(argv)
            return int(args.func(args))
    except MiniDecoderError as error:
        return _complain(str(error))  # a caret line below the message stays a line
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _discard_output()
        return 141
    except OSError as error:
        _complain(f"the system refuses to read or write: {error}")
        _discard_output()
        return 2


def _prepare_streams() -> None:
    """Make both streams take whatever is printed: a closed one (`>&-`) is None, an ASCII one refuses `✓`."""
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a notebook's is another, and needs no help
            stream.reconfigure(errors="replace")


def _nowhere() -> TextIO:
    # A file and not a StringIO: it takes the free number 1 or 2, which else the next opened file would get.
    return open(os.devnull, "w", encoding="utf-8")


@contextlib.contextmanager
def _flushed() -> Iterator[None]:
    """Write what is buffered before leaving, so that a closed pipe shows where it is handled."""
    try:
        yield
    finally:
        sys.stdout.flush()


def _complain(message: str) -> int:
    try:
        print(f"minidecoder: {message}", file=sys.stderr, flush=True)
    except OSError:  # stderr itself cannot be written
        _discard_output()
    return 2


def _discard_output() -> None:
    """Let what cannot be written go nowhere: the interpreter would try once more at exit, and complain."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
