"""The benchmark in a terminal: a table per family and quantity, cases down, engines across.

No line of a table is longer than 100 columns.

Each peer's cell is its median and its ratio to minidecoder: `12.3 ms 4.1×` took 4.1 times as long. Plain
text, so that it reads the same in a pipe. Below the tables stand memory and preparation, and a line for
each case that has no time and for each engine whose masks are not the same as ours.

Left out: the numbers themselves (`bench_result`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import geometric_mean
from typing import Final

from minidecoder.cli.bench_cases import SPELLING, Family
from minidecoder.cli.bench_result import METRICS, OURS, Contestant, Report

__all__ = ["format_ratio", "format_seconds", "render"]

_WORDS: Final = {
    "failed": "failed",
    "timeout": "too slow",
    "memory": "too large",
    "died": "died",
    "unsupported": "–",
}
"""What stands in a cell that has no time."""

_PLURALS: Final[dict[Family, str]] = {"regex": "regexes", "grammar": "grammars", "schema": "JSON schemas"}
_UNITS: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def render(report: Report) -> str:
    """The whole output, without a line break at its end."""
    shown = [engine for engine in report.engines if engine.version is not None and not engine.fault]
    blocks = [_head(report)]
    if shown:
        for family in report.families:
            taking_part = [engine for engine in shown if _takes_part(report, engine.name, family)]
            blocks += [_table(report, metric, taking_part, family) for metric in METRICS]
        blocks.append(_memory(shown))
    notes = [*_engine_notes(report), *_case_notes(report, shown)]
    return "\n\n".join([*blocks, "\n".join(notes)] if notes else blocks)


def _head(report: Report) -> str:
    width = f"{report.width:,} tokens" if report.width else "not loaded"
    runs = f"{report.runs} interleaved runs" if report.runs > 1 else "one run"
    spelling = f"{SPELLING}\n" if "regex" in report.families else ""
    return (
        f"Tekken, {width} · medians of {runs} · at most {report.limit_s:.3g} s and "
        f"{report.memory_limit / 1e9:.3g} GB a case\n"
        f"{spelling}"
        "× is a time over minidecoder's: above 1×, minidecoder is faster."
    )


def _takes_part(report: Report, engine: str, family: Family) -> bool:
    """Whether the engine knows the family."""
    cases = [case for case in report.cases if case.family == family]
    return engine == OURS or any(report.outcome(engine, case.name).status != "unsupported" for case in cases)


def _table(report: Report, metric: str, engines: Sequence[Contestant], family: Family) -> str:
    rows = [["", *(engine.name for engine in engines)]]
    cases = [case for case in report.cases if case.family == family]
    for case in cases:
        rows.append([case.name, *(_cell(report, metric, engine.name, case.name) for engine in engines)])
    means = [_mean(report, metric, engine.name, family) for engine in engines]
    if len(cases) > 1 and any(means):
        rows.append(["geo. mean", *means])
    return f"{_PLURALS[family]} · {METRICS[metric]}\n{_grid(rows)}"


def _cell(report: Report, metric: str, engine: str, case: str) -> str:
    outcome = report.outcome(engine, case)
    seconds = outcome.median(metric)
    if seconds is None:
        return _WORDS.get(outcome.status, "–")
    ratio = report.ratio(metric, engine, case)
    if engine == OURS or ratio is None:
        return format_seconds(seconds)
    return f"{format_seconds(seconds)} {format_ratio(ratio):>7}"


def _mean(report: Report, metric: str, engine: str, family: Family) -> str:
    """`2.6×`, and over how many cases where that is not all of them."""
    ratios = [] if engine == OURS else report.ratios(metric, engine, family)
    cases = sum(case.family == family for case in report.cases)
    if not ratios:
        return ""
    over = "" if len(ratios) == cases else f"{len(ratios)} of {cases} "
    return f"{over}{format_ratio(geometric_mean(ratios)):>7}"


def _memory(engines: Sequence[Contestant]) -> str:
    rows = [["", "time", "memory before", "after", "peak"]]
    for engine in engines:
        prepared = engine.prepared
        time = format_seconds(prepared.seconds) if prepared else "–"
        before = (prepared.loaded, prepared.ready) if prepared else (None, None)
        rows.append([f"{engine.name} {engine.version}", time, *map(_megabytes, (*before, engine.peak))])
    title = (
        "preparing the vocabulary, once; resident memory of the engine's process before it (libraries,\n"
        "token bytes), after it, and the peak over all cases"
    )
    return f"{title}\n{_grid(rows)}"


def _grid(rows: Sequence[Sequence[str]]) -> str:
    """Columns side by side: the first to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows
    )
    return "\n".join(lines)


def _engine_notes(report: Report) -> Iterator[str]:
    for engine in report.engines:
        if engine.version is None:
            yield f"{engine.name}: not installed, {engine.remedy}"
        elif engine.fault:
            yield f"{engine.name}: cannot be used, {engine.fault}"
        elif engine.note:
            yield f"{engine.name}: {engine.note}"


def _case_notes(report: Report, engines: Sequence[Contestant]) -> Iterator[str]:
    for engine in engines:
        outcomes = {case.name: report.outcome(engine.name, case.name) for case in report.cases}
        for case, outcome in outcomes.items():
            if outcome.reason:
                yield f"{engine.name}, {case}: {outcome.reason}"
        differing = {
            case: outcome.differing(report.outcome(OURS, case)) for case, outcome in outcomes.items()
        }
        if any(differing.values()):
            counts = ", ".join(f"{case} {states}" for case, states in differing.items() if states)
            yield f"{engine.name}: masks along the sample differ from minidecoder's in some states: {counts}"


def format_seconds(seconds: float) -> str:
    """Three digits and a unit: `1.23 ms`, `12.3 µs`, `123 s`."""
    scale, unit = next(((s, u) for s, u in _UNITS if seconds >= 0.9995 * s), _UNITS[-1])
    return f"{_three_digits(seconds / scale)} {unit}"


def format_ratio(ratio: float) -> str:
    """`0.031×`, `2.60×`, `1,234×`."""
    if ratio < 0.1:
        return f"{ratio:.2g}×"
    return f"{_three_digits(ratio)}×"


def _three_digits(number: float) -> str:
    decimals = 0 if number >= 99.95 else 1 if number >= 9.995 else 2
    return f"{number:,.{decimals}f}"


def _megabytes(size: int | None) -> str:
    return "–" if size is None else f"{size / 1e6:,.0f} MB"
