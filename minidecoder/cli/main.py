"""The dispatcher: words to a command, an error to one clear message, and an exit code.

Exit codes: 0 done, 1 the command says no, 2 wrong usage or a `MiniDecoderError`, 130 after Ctrl-C,
141 when whoever read the output has left (`| head`). Any other exception is a bug and shows its traceback.

Left out: the commands themselves, each in its own module beside this one.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from minidecoder import __version__
from minidecoder.cli import demo, doctor, model
from minidecoder.errors import MiniDecoderError

__all__ = ["build_parser", "main"]

COMMANDS = (demo, doctor, model)


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
    args = build_parser().parse_args(argv)
    try:
        code: int = args.func(args)
        sys.stdout.flush()  # so that a closed pipe shows here, where it is handled
        return code
    except MiniDecoderError as error:
        print(f"minidecoder: {error}", file=sys.stderr)  # a caret line below the message stays a line
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _discard_output()
        return 141


def _discard_output() -> None:
    """Let what is still buffered go nowhere: the interpreter would try to write it once more at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
