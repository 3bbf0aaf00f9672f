"""What the benchmark found, as data: outcomes, medians, ratios to minidecoder, and the JSON of it all.

A ratio is the other engine's median over ours, so 2 means that ours took half of the time. Geometric
means run over the cases that both finished; how many those are stands beside them, since a case that an
engine could not finish would only have raised its ratio.

Left out: printing (`bench_report`).
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import geometric_mean, median
from typing import Any, Final

import minidecoder
from minidecoder.cli.bench_cases import MASKS, Case, Family
from minidecoder.cli.bench_measure import Masks, Timing
from minidecoder.cli.bench_vocabulary import TEKKEN_FILE
from minidecoder.cli.bench_worker import Prepared

__all__ = ["METRICS", "OURS", "Contestant", "Outcome", "Report"]

OURS: Final = "minidecoder"
METRICS: Final = {
    "compile": "compile + index",
    "first": "first mask",
    "cold": "cold start: compile + first mask",
    "total": f"compile + {MASKS} masks, a token accepted after each",
    "warm": "warm mask: a state seen before (median)",
    "new": "new mask: a state not seen before, the first left out (median)",
    "slowest": "slowest of the new masks",
}
"""The fields of `Timing`, and how a reader meets them."""


@dataclass
class Outcome:
    """One engine on one case. `status`: "ok", or why there is no time: "failed", "timeout", "memory",
    "died", or "unsupported" (a family that the engine does not know)."""

    status: str = "ok"
    reason: str = ""
    masks: Masks | None = None
    runs: list[Timing] = field(default_factory=list)

    def median(self, metric: str) -> float | None:
        """Seconds; None without a run."""
        if self.status != "ok" or not self.runs:
            return None
        return float(median(getattr(run, metric) for run in self.runs))

    def differing(self, other: Outcome) -> int | None:
        """In how many states along the sample the masks differ from the other engine's."""
        if self.masks is None or other.masks is None:
            return None
        return sum(a != b for a, b in zip(self.masks.checksum, other.masks.checksum, strict=True))


@dataclass
class Contestant:
    """An engine. `version` is None where it is not installed; `fault`: why it cannot be used at all."""

    name: str
    package: str
    version: str | None
    note: str = ""
    fault: str = ""
    prepared: Prepared | None = None
    peak: int | None = None

    @property
    def remedy(self) -> str:
        return f"python -m pip install {self.package}"


@dataclass
class Report:
    """Everything; `outcomes` by (engine, case)."""

    cases: Sequence[Case]
    engines: Sequence[Contestant]
    runs: int
    limit_s: float
    memory_limit: int
    outcomes: dict[tuple[str, str], Outcome] = field(default_factory=dict)

    def engine(self, name: str) -> Contestant:
        return next(engine for engine in self.engines if engine.name == name)

    def outcome(self, engine: str, case: str) -> Outcome:
        """The one of this engine and case; made where there is none yet."""
        return self.outcomes.setdefault((engine, case), Outcome())

    def ratio(self, metric: str, engine: str, case: str) -> float | None:
        """The engine's median over ours; None where one of the two is missing."""
        theirs, ours = (self.outcome(name, case).median(metric) for name in (engine, OURS))
        return None if theirs is None or ours is None else theirs / max(ours, 1e-9)

    def ratios(self, metric: str, engine: str, family: Family | None = None) -> list[float]:
        """Those of all cases of a family that both finished; of all families where it is None."""
        cases = (case for case in self.cases if family in (None, case.family))
        found = (self.ratio(metric, engine, case.name) for case in cases)
        return [ratio for ratio in found if ratio is not None]

    def to_json(self) -> dict[str, Any]:
        """Plain data: times in seconds, memory in bytes."""
        return {
            "schema_version": 1,
            "minidecoder": minidecoder.__version__,
            "machine": {
                "python": platform.python_version(),
                "system": platform.platform(),
                "cpus": os.cpu_count(),
            },
            "vocabulary": {"file": TEKKEN_FILE, "width": self.width},
            "settings": {
                "runs": self.runs,
                "masks": MASKS,
                "limit_s": self.limit_s,
                "memory_limit_bytes": self.memory_limit,
            },
            "engines": [_contestant(engine) for engine in self.engines],
            "cases": [asdict(case) for case in self.cases],
            "results": [self._result(engine, case) for case in self.cases for engine in self.engines],
            "summary": [
                self._summary(metric, engine.name, family)
                for family in self.families
                for metric in METRICS
                for engine in self.engines
                if engine.name != OURS
            ],
        }

    @property
    def families(self) -> list[Family]:
        """Those of the cases, in their order."""
        return list(dict.fromkeys(case.family for case in self.cases))

    @property
    def width(self) -> int | None:
        """V of the vocabulary; None where no engine got as far as that."""
        return next((engine.prepared.width for engine in self.engines if engine.prepared), None)

    def _result(self, engine: Contestant, case: Case) -> dict[str, Any]:
        outcome = self.outcome(engine.name, case.name)
        return {
            "engine": engine.name,
            "case": case.name,
            "status": outcome.status,
            "reason": outcome.reason,
            "runs": [asdict(run) for run in outcome.runs],
            "median": {metric: outcome.median(metric) for metric in METRICS},
            "ratio": {metric: self.ratio(metric, engine.name, case.name) for metric in METRICS},
            "tokens": outcome.masks and list(outcome.masks.tokens),
            "allowed": outcome.masks and list(outcome.masks.allowed),
            "masks_differing_from_minidecoder": outcome.differing(self.outcome(OURS, case.name)),
        }

    def _summary(self, metric: str, engine: str, family: Family) -> dict[str, Any]:
        ratios = self.ratios(metric, engine, family)
        return {
            "family": family,
            "metric": metric,
            "engine": engine,
            "cases": len(ratios),
            "geometric_mean": geometric_mean(ratios) if ratios else None,
            "least": min(ratios, default=None),
        }


def _contestant(engine: Contestant) -> dict[str, Any]:
    prepared = engine.prepared
    return {
        "name": engine.name,
        "package": engine.package,
        "version": engine.version,
        "note": engine.note,
        "fault": engine.fault,
        "prepare_s": prepared and prepared.seconds,
        "loaded_bytes": prepared and prepared.loaded,
        "ready_bytes": prepared and prepared.ready,
        "peak_bytes": engine.peak,
    }
