"""The order of a benchmark: prepare all engines, then case by case a check and interleaved runs.

The runs of a case alternate between the engines and the order rotates, so that a slow moment of the
machine meets all of them. An engine without a result is not asked again for that case; one that takes
long is asked less often: no further run begins once its runs of a case add up to the limit.

Left out: options and output (`bench`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from time import monotonic
from typing import Any

from minidecoder.cli.bench_cases import Case
from minidecoder.cli.bench_engines import Engine
from minidecoder.cli.bench_result import Contestant, Report
from minidecoder.cli.bench_vocabulary import load_tekken
from minidecoder.cli.bench_worker import Failed, Loader, Worker

__all__ = ["compare"]


def compare(
    engines: Sequence[type[Engine]],
    cases: Sequence[Case],
    *,
    runs: int,
    limit_s: float,
    memory_limit: int,
    load: Loader = load_tekken,
) -> Report:
    """Measure every case on every installed engine. No child is left when it returns, however it does."""
    report = Report(cases, [_contestant(engine) for engine in engines], runs, limit_s, memory_limit)
    installed = {contestant.name for contestant in report.engines if contestant.version is not None}
    workers = [Worker(engine, load, memory_limit) for engine in engines if engine.name in installed]
    with _Progress() as say:
        try:
            ready = _prepare(workers, report, say)
            for case in cases:
                _measure_case(ready, case, report, say)
        finally:
            for worker in workers:
                worker.close()
    for worker in workers:
        report.engine(worker.engine.name).peak = worker.peak
    return report


def _contestant(engine: type[Engine]) -> Contestant:
    try:
        version = metadata.version(engine.package)
    except metadata.PackageNotFoundError:
        version = None
    return Contestant(engine.name, engine.package, version, engine.note)


def _prepare(workers: Sequence[Worker], report: Report, say: Callable[[str], None]) -> list[Worker]:
    """Children load side by side, which is not timed, and prepare one after the other."""
    say("loading the vocabulary and the libraries")
    for worker in workers:
        worker.start()
    ready = []
    for worker in workers:
        contestant = report.engine(worker.engine.name)
        say(f"preparing {contestant.name}")
        try:
            contestant.prepared = worker.prepare()
            ready.append(worker)
        except Failed as fault:
            contestant.fault = str(fault)
    return ready


def _measure_case(workers: Sequence[Worker], case: Case, report: Report, say: Callable[[str], None]) -> None:
    attempts = [_Attempts(worker, case, report) for worker in workers if _knows(worker, case, report)]
    for attempt in attempts:
        say(f"{case.name}: checking {attempt.engine}")
        attempt.check()
    for number in range(report.runs):
        first = number % max(len(attempts), 1)
        for attempt in attempts[first:] + attempts[:first]:
            say(f"{case.name}: run {number + 1} of {report.runs}, {attempt.engine}")
            attempt.measure()


def _knows(worker: Worker, case: Case, report: Report) -> bool:
    known = case.family in worker.engine.families
    if not known:
        report.outcome(worker.engine.name, case.name).status = "unsupported"
    return known


class _Attempts:
    """One engine's runs of one case."""

    def __init__(self, worker: Worker, case: Case, report: Report) -> None:
        self.engine = worker.engine.name
        self._worker, self._case, self._limit_s = worker, case, report.limit_s
        self._outcome = report.outcome(self.engine, case.name)
        self._spent = 0.0

    def check(self) -> None:
        self._outcome.masks = self._ask("check", self._case)

    def measure(self) -> None:
        masks = self._outcome.masks
        may_repeat = not self._outcome.runs or self._spent < self._limit_s
        if masks is not None and self._outcome.status == "ok" and may_repeat:
            timing = self._ask("measure", self._case, masks)
            if timing is not None:
                self._outcome.runs.append(timing)

    def _ask(self, *question: Any) -> Any:
        """The answer; None, and why in the outcome, where there is none."""
        start = monotonic()
        try:
            return self._worker.ask(*question, limit_s=self._limit_s)
        except Failed as fault:
            self._outcome.status, self._outcome.reason = fault.status, str(fault)
            return None
        finally:
            self._spent += monotonic() - start


class _Progress:
    """One line on stderr that is written over in a terminal; a line per case where there is none."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._last = ""

    def __enter__(self) -> Callable[[str], None]:
        return self._say

    def __exit__(self, *_: object) -> None:
        if self._is_terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _say(self, text: str) -> None:
        if self._is_terminal:
            print(f"\r\x1b[K{text} …", end="", file=sys.stderr, flush=True)
            return
        head = text.partition(":")[0]
        if head != self._last:
            print(f"{head} …", file=sys.stderr, flush=True)
            self._last = head
