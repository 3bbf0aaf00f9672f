"""The family `lab` of the benchmark: how long the lab takes to answer a click, and how much it answers.

A click is a message and its answer as JSON, all that the kernel does for it: open a form whose text was seen
before, step, take a token by hand, go back, look a token up. Every example of the gallery is run to its
end, on the teaching vocabulary and on Tekken.

Left out: the page, the wire between, and what other engines take. Cost: some seconds, most of them loading.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from statistics import median
from time import perf_counter, sleep
from typing import Any, Final

from minidecoder.viz.lab_session import LabSession
from minidecoder.viz.lab_sources import SOURCES

__all__ = ["LIMITS_MS", "Clicks", "measure_lab", "render_lab", "run_lab"]

LIMITS_MS: Final[Mapping[str, float]] = {"nine": 100.0, "tekken": 300.0}
CLICKS: Final = ("open", "step", "take", "back", "find")
_QUERIES: Final = ("a", ".5", "#50", r"\xC3", "no such token")
_WAIT_S: Final = 0.01

Clicks = dict[str, list[tuple[float, int]]]
"""Of each kind of click: seconds, and bytes of the answer."""


def run_lab(runs: int) -> int:
    """Measure and print; the exit code."""
    print(f"the lab: medians of {runs} runs of each example, the slowest click after them\n")
    for name, limit in LIMITS_MS.items():
        source = SOURCES[name]
        print(f"{source.title} ({source.note}), to be answered within {limit:.0f} ms")
        print(
            f"  not measured: {source.missing}\n" if source.missing else render_lab(measure_lab(name, runs))
        )
    return 0


def render_lab(clicks: Clicks) -> str:
    """A line for each kind of click."""
    lines = [f"  {'click':<6}{'median':>10}{'slowest':>11}{'answer':>10}{'largest':>11}{'clicks':>8}"]
    for name, seen in clicks.items():
        times, sizes = zip(*seen, strict=True)
        lines.append(
            f"  {name:<6}{1e3 * median(times):>7.1f} ms{1e3 * max(times):>8.1f} ms"
            f"{median(sizes) / 1e3:>7.1f} KB{max(sizes) / 1e3:>8.1f} KB{len(seen):>8,}"
        )
    return "\n".join([*lines, ""])


def measure_lab(source: str, runs: int) -> Clicks:
    """The clicks on all examples that the source can spell."""
    session, clicks = LabSession(), {name: list[tuple[float, int]]() for name in CLICKS}
    examples = [e for e in session.handle({"do": "hello"})["gallery"] if source in e["sources"]]
    for example in examples:
        form = {key: example[key] for key in ("kind", "text", "prompt", "max_tokens")}
        _wait(session, {"do": "open", "form": {**form, "source": source}})  # loaded and compiled, once
        for seed in range(1, runs + 1):
            _play(session, clicks, {**form, "source": source, "seed": seed})
    return clicks


def _play(session: LabSession, clicks: Clicks, form: Mapping[str, Any]) -> None:
    """One run to its end, then a token taken by hand at each place, and lookups."""

    def click(**message: Any) -> dict[str, Any]:
        start = perf_counter()
        answer = _wait(session, message)
        size = len(json.dumps(answer, separators=(",", ":")))
        clicks[message["do"]].append((perf_counter() - start, size))
        return answer

    opened = click(do="open", form=form)
    places = [opened["runs"][0]["recording"]["trace"]["steps"][0]]
    while updates := click(do="step")["updates"]:
        places += updates[0]["steps"]
    for at, step in reversed(list(enumerate(places))):
        candidates = step["candidates"]
        allowed = [i for i, ok in zip(candidates["token_id"], candidates["allowed"], strict=True) if ok]
        click(do="take", run=0, at=at, token=allowed[-1])
        click(do="find", run=0, at=at, query=_QUERIES[at % len(_QUERIES)])
        click(do="back", at=at)


def _wait(session: LabSession, message: Mapping[str, Any]) -> dict[str, Any]:
    answer = session.handle(message)
    while "busy" in answer:
        sleep(_WAIT_S)
        answer = session.handle({"do": "poll"})
    if "error" in answer:
        raise RuntimeError(f"{message.get('do')}: {answer['error']['message']}")
    return answer
