"""`python -m minidecoder bench`: how fast masks are, here and elsewhere, over 131,072 tokens.

Every installed engine gets the same regexes, grammars and schemas, vocabulary and samples, in a process of
its own; medians are compared. A case that passes the limit of time or memory is stopped and named, and the
rest goes on.

Left out: the clicks of the lab (`bench_lab`), the order of the runs (`bench_compare`), the clock
(`bench_measure`), the processes (`bench_worker`), the tables (`bench_report`). Exit code 1 where minidecoder
itself fails a case.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from minidecoder.cli.bench_cases import CASES, FAMILIES, Case
from minidecoder.cli.bench_compare import compare
from minidecoder.cli.bench_grammars import GRAMMARS
from minidecoder.cli.bench_peers import ENGINES
from minidecoder.cli.bench_report import render
from minidecoder.cli.bench_result import OURS
from minidecoder.cli.bench_schemas import SCHEMAS
from minidecoder.errors import MissingDependencyError, UsageError

__all__ = ["ALL_CASES", "add_parser", "run"]

ALL_CASES: Final[tuple[Case, ...]] = (*CASES, *GRAMMARS, *SCHEMAS)
RUNS: Final = 5
LIMIT_S: Final = 30.0
MEMORY_GB: Final = 4.0
LAB: Final = "lab"


def add_parser(subparsers: Any) -> None:
    """Register `bench` and its options."""
    parser = subparsers.add_parser("bench", help="masks over 131,072 tokens, compared with other engines")
    names = ", ".join(engine.name for engine in ENGINES)
    parser.add_argument("--engines", metavar="A,B", help=f"only these of {names}")
    parser.add_argument(
        "--family",
        choices=[*FAMILIES, "all", LAB],
        default="all",
        help="only cases of this kind (default all), or how quickly the lab answers a click",
    )
    cases = ", ".join(case.name for case in ALL_CASES)
    parser.add_argument("--cases", metavar="A,B", help=f"only these of {cases}")
    parser.add_argument(
        "--runs", type=int, default=RUNS, metavar="N", help=f"runs of a case (default {RUNS})"
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=LIMIT_S,
        metavar="SECONDS",
        help=f"stop an engine's run there, and its further runs of a case (default {LIMIT_S:.0f})",
    )
    parser.add_argument(
        "--memory",
        type=float,
        default=MEMORY_GB,
        metavar="GB",
        help=f"stop an engine there, on Linux (default {MEMORY_GB:.0f})",
    )
    parser.add_argument("--json", metavar="FILE", help="also write all figures there")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Measure, print, and write the file. Bad options raise before anything is measured."""
    if args.family == LAB:
        return _run_lab(args)
    engines = _chosen(ENGINES, args.engines, "--engines")
    family = [case for case in ALL_CASES if args.family in (case.family, "all")]
    cases = _chosen(family, args.cases, "--cases")
    for name in ("runs", "limit", "memory"):
        if not 0 < getattr(args, name) < math.inf:
            raise UsageError(f"--{name} {getattr(args, name)}: it must be a number above 0")
    _check_file(args.json)
    if importlib.util.find_spec("mistral_common") is None:
        raise MissingDependencyError("mistral-common", extra="peers")
    report = compare(
        engines, cases, runs=args.runs, limit_s=args.limit, memory_limit=round(args.memory * 1e9)
    )
    print(render(report))
    if args.json is not None:
        text = json.dumps(report.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
        Path(args.json).write_text(text + "\n", encoding="utf-8")
    takes_part = any(engine.name == OURS for engine in engines)
    return int(takes_part and any(report.outcome(OURS, case.name).status != "ok" for case in cases))


def _run_lab(args: argparse.Namespace) -> int:
    """No engines are compared, so what chooses and stops them means nothing."""
    from minidecoder.cli.bench_lab import run_lab

    for name, default in (
        ("engines", None),
        ("cases", None),
        ("limit", LIMIT_S),
        ("memory", MEMORY_GB),
        ("json", None),
    ):
        if getattr(args, name) != default:
            raise UsageError(f"--{name} means nothing for the lab, which is measured alone")
    if args.runs < 1:
        raise UsageError(f"--runs {args.runs}: it must be a number above 0")
    return run_lab(args.runs)


def _check_file(path: str | None) -> None:
    """What cannot become a file is said before minutes go by."""
    if path is not None and (Path(path).is_dir() or not Path(path).absolute().parent.is_dir()):
        fault = "is a folder" if Path(path).is_dir() else "lies in a folder that does not exist"
        raise UsageError(f"--json {path}: it {fault}")


def _chosen(things: Sequence[Any], names: str | None, option: str) -> list[Any]:
    """Those that a comma-separated list names, in our order; all without a list."""
    if names is None:
        return list(things)
    wanted = {name.strip() for name in names.split(",")}
    unknown = sorted(wanted - {thing.name for thing in things})
    if unknown:
        known = ", ".join(thing.name for thing in things)
        raise UsageError(f"{option}: there is no {unknown[0]!r}, only {known}")
    return [thing for thing in things if thing.name in wanted]
