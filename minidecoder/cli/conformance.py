"""`python -m minidecoder conformance PATH`: the public JSON Schema suite, and how much of it is exact.

PATH is `tests/draft2020-12` of github.com/json-schema-org/JSON-Schema-Test-Suite, or one of its files. A
table has a line for each file, which is a keyword; below it stand the reasons why schemas were refused, and
every test that went wrong. `--record` writes the outcome of each test as JSON.

Left out: the rules of counting (`conformance_suite`). Exit code 1 where an invalid instance was accepted or
a valid one refused. Cost: some seconds, a few more to read the vocabulary.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from minidecoder.cli.bench_vocabulary import load_tekken
from minidecoder.cli.conformance_suite import OUTCOMES, Result, Tokens, read_remotes, run_suite
from minidecoder.errors import UsageError
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["add_parser", "byte_tokens", "recorded", "run", "table"]


def add_parser(subparsers: Any) -> None:
    """Register `conformance` and its options."""
    parser = subparsers.add_parser("conformance", help="run the public JSON Schema suite, a line per keyword")
    parser.add_argument("path", type=Path, metavar="PATH", help="the suite's folder tests/draft2020-12")
    parser.add_argument("--remotes", type=Path, metavar="DIR", help="its folder remotes, to hand over")
    parser.add_argument(
        "--vocabulary",
        choices=["tekken", "bytes"],
        default="tekken",
        help="131,072 tokens out of mistral-common (the default), or the bytes alone",
    )
    parser.add_argument("--record", type=Path, metavar="FILE", help="write the outcome of each test as JSON")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Run the suite and print the table; 1 where an outcome is wrong."""
    for path in filter(None, (args.path, args.remotes)):
        if not path.exists():
            raise UsageError(f"{path} does not exist: name a folder of the JSON Schema test suite")
    resources = None if args.remotes is None else read_remotes(args.remotes)
    results = list(run_suite(args.path, _tokens(args.vocabulary), resources))
    print(table(results))
    for result in (result for result in results if result.outcome.startswith("false")):
        print(f"✕ {result.outcome}: {result.file}: {result.group}: {result.test}")
    if args.record is not None:
        args.record.write_text(recorded(results), encoding="utf-8")
    return int(any(result.outcome.startswith("false") for result in results))


def _tokens(name: str) -> Tokens:
    if name == "bytes":
        return byte_tokens()
    tekken = load_tekken()
    return Tokens(tekken.vocabulary, tekken.encode)


def byte_tokens() -> Tokens:
    """A vocabulary of the 256 bytes and EOS."""
    vocabulary = Vocabulary.from_tokens([*(bytes([byte]) for byte in range(256)), "</s>"], eos=256)
    return Tokens(vocabulary, lambda text: list(text.encode()))


def table(results: Iterable[Result]) -> str:
    """A line per file, the totals, and why schemas were refused."""
    results = list(results)
    files = list(dict.fromkeys(result.file for result in results))
    rows = [_row(file.removesuffix(".json"), (r for r in results if r.file == file)) for file in files]
    header = f"{'keyword':<26} {'tests':>6}" + "".join(f" {outcome:>15}" for outcome in OUTCOMES)
    line = "─" * len(header)
    return "\n".join([header, line, *rows, line, _row("all", results), *_reasons(results)])


def _row(name: str, results: Iterable[Result]) -> str:
    counts = Counter(result.outcome for result in results)
    cells = "".join(f" {counts[outcome] or '·':>15}" for outcome in OUTCOMES)
    return f"{name:<26} {counts.total():>6}{cells}"


def _reasons(results: Iterable[Result]) -> list[str]:
    counts = Counter(f"{result.file}: {result.reason}" for result in results if result.reason)
    return [f"{number:>6} × {reason}" for reason, number in counts.items()]


def recorded(results: Iterable[Result]) -> str:
    """JSON: file → group → outcome → the tests that have it."""
    found: dict[str, dict[str, dict[str, list[str]]]] = {}
    for result in results:
        group = found.setdefault(result.file, {}).setdefault(result.group, {})
        group.setdefault(result.outcome, []).append(result.test)
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"
