"""`python -m minidecoder check-schema FILE`: what of a JSON Schema is enforced, and what is not.

A table with a line for each keyword: its JSON pointer, whether it is enforced, an annotation or unsupported,
and a note where that needs one. FILE may be `-`, or the name of a shipped example (`review`).

Left out: the report itself (`schema.check`). Exit code 1 where something is unsupported, or no value at all
satisfies the schema.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from minidecoder.errors import UnsatisfiableConstraintError, UsageError
from minidecoder.schema.check import Status, check_schema
from minidecoder.schema.compiler import compile_schema
from minidecoder.schema.parse import load_schema
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["BYTES", "add_parser", "example_names", "read_schema", "run"]

_STATUSES: Final[tuple[Status, ...]] = ("enforced", "annotation", "unsupported")
_EXAMPLES: Final = files("minidecoder").joinpath("schema", "examples")

BYTES: Final = Vocabulary.from_tokens([*(bytes([byte]) for byte in range(256)), "</s>"], eos=256)
"""The smallest vocabulary that spells everything, to try a schema on."""


def add_parser(subparsers: Any) -> None:
    """Register `check-schema` and its options."""
    parser = subparsers.add_parser(
        "check-schema", help="what of a JSON Schema is enforced, keyword by keyword"
    )
    parser.add_argument("schema", metavar="FILE", help="a JSON file, - for stdin, or the name of an example")
    parser.add_argument("--enforce-formats", action="store_true", help="check the formats that are known")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Print the report; 1 where compiling would refuse the schema."""
    schema = read_schema(args.schema)
    report = check_schema(schema, enforce_formats=args.enforce_formats)
    print(report)
    counts = Counter(row.status for row in report.keywords)
    print("\n" + ", ".join(f"{counts[status]} {status}" for status in _STATUSES))
    if report.unsupported:
        print("✕ compiling refuses what is unsupported; lenient=True leaves it out and says so")
        return 1
    try:
        compile_schema(schema, BYTES, enforce_formats=args.enforce_formats)
    except UnsatisfiableConstraintError as fault:
        print(f"✕ {fault}")
        return 1
    print("✓ the schema compiles, and is enforced as a whole")
    return 0


def example_names() -> list[str]:
    """The names of the shipped schemas."""
    return sorted(
        file.name.removesuffix(".json") for file in _EXAMPLES.iterdir() if file.name.endswith(".json")
    )


def read_schema(name: str) -> Any:
    """The schema in a file, in stdin (`-`), or in the shipped example of that name; numbers are exact.

    Raises `UsageError` where there is no such file, `SchemaError` where it is not JSON, or no schema.
    """
    if name == "-":
        return load_schema(sys.stdin.buffer.read())
    if name in example_names():
        return load_schema(_EXAMPLES.joinpath(f"{name}.json").read_bytes())
    try:
        return load_schema(Path(name).read_bytes())
    except (FileNotFoundError, IsADirectoryError):
        shown = ", ".join(example_names())
        raise UsageError(f"there is no schema file {name!r}; the shipped examples are {shown}") from None
