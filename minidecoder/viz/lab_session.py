"""The kernel's side of the lab: one message in, one answer out, and no error that leaves it.

A page opens a form: its source is loaded and its text compiled in a thread, while the last good runs stay
usable. Everything else (a step, a token taken by hand, going back, looking up) is done in the call.

Left out: widgets (`lab`), what a form may say (`lab_form`), the thread (`lab_opening`), runs (`lab_run`).
Cost: what the runs cost; `open` waits 80 ms for its thread and is asked again after that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Thread
from time import perf_counter
from typing import Any, Final

from minidecoder.errors import UsageError
from minidecoder.tokens.checks import whole_number
from minidecoder.viz import player
from minidecoder.viz.lab_find import FILTERS, find
from minidecoder.viz.lab_form import FormError, read_form
from minidecoder.viz.lab_gallery import gallery
from minidecoder.viz.lab_opening import Job, error_answer, name_of
from minidecoder.viz.lab_run import LiveRun, one_line
from minidecoder.viz.lab_sources import SOURCES
from minidecoder.viz.still import still_text
from minidecoder.viz.theme import palette

__all__ = ["LabSession"]

_WAIT_S: Final = 0.08
_MOST_FOUND: Final = 500
_LARGEST: Final = 2**53  # no page has larger whole numbers
_NOT_OPEN: Final = "The lab of minidecoder: run this cell in JupyterLab to play with it."
_NOTE: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="640" height="48" viewBox="0 0 640 48" '
    'role="img" aria-label="{0}">'
    '<text x="16" y="30" font-family="sans-serif" font-size="16" '
    f'fill="{palette("light").muted}">{{0}}</text></svg>'
)
_Answer = dict[str, Any]


class LabSession:
    """What one page works with. `handle` is for one thread at a time."""

    def __init__(self, form: Mapping[str, Any] | None = None) -> None:
        """`form`: what the page holds at first. `UsageError` for a wrong field or value."""
        self.form = read_form(form or {})
        self.runs: list[LiveRun] = []
        self.kept: LiveRun | None = None
        self._job: Job | None = None
        self._acts: Mapping[str, Callable[[Mapping[str, Any]], _Answer]] = {
            "hello": self._hello,
            "open": self._open,
            "poll": self._poll,
            "stop": self._stop,
            "step": self._step,
            "take": self._take,
            "back": self._back,
            "keep": self._keep,
            "find": self._find,
        }

    def handle(self, message: Mapping[str, Any]) -> _Answer:
        """The answer to a message; whatever goes wrong is {"error": ...} and changes nothing."""
        try:
            if not isinstance(message, Mapping):
                raise FormError("a message must be an object", "do")
            name = message.get("do")
            act = self._acts.get(name) if isinstance(name, str) else None
            if act is None:
                raise FormError(f"do must be one of {', '.join(self._acts)}, not {name!r:.60}", "do")
            return act(message)
        except Exception as fault:
            return error_answer(fault)

    def still(self) -> tuple[str, str]:
        """The runs as they are now, where there is no page: a picture (SVG), and text."""
        traces = [run.trace() for run in self.runs]
        if not traces:
            return _NOTE.format(_NOT_OPEN), _NOT_OPEN
        return player.still_picture(traces), "\n\n".join(map(still_text, traces))

    # -- opening a form ---------------------------------------------------------------------------

    def _hello(self, message: Mapping[str, Any]) -> _Answer:
        return {
            "form": self.form.plain(),
            "sources": [source.described() for source in SOURCES.values()],
            "gallery": [example.described() for example in gallery()],
        }

    def _open(self, message: Mapping[str, Any]) -> _Answer:
        form = read_form(message.get("form", {}))
        if form.beside == "kept" and self.kept is None:
            raise FormError("no run is kept yet: keep one first", "beside")
        tokens = message.get("tokens", [])
        if not isinstance(tokens, list):
            raise FormError("tokens must be a list of ids", "tokens")
        job = Job(form, [_whole({"tokens": item}, "tokens") for item in tokens])
        self._give_up()
        Thread(target=job.work, args=(self.kept,), daemon=True, name="minidecoder lab").start()
        self._job = job
        job.done.wait(_WAIT_S)
        return self._poll(message)

    def _poll(self, message: Mapping[str, Any]) -> _Answer:
        job = self._job
        if job is None:
            raise FormError("nothing is being opened", "do")
        if not job.done.is_set():
            return {"busy": f"{job.doing} …", "seconds": round(perf_counter() - job.started, 1)}
        self._job = None
        if "error" not in job.answer:
            self.runs, self.form = job.runs, job.form
        return job.answer

    def _give_up(self) -> Job | None:
        """Whoever is at work need not go on."""
        job, self._job = self._job, None
        if job is not None and not job.done.is_set():
            job.given_up.set()
        return job

    def _stop(self, message: Mapping[str, Any]) -> _Answer:
        job = self._give_up()
        if job is None:
            return {"stopped": "nothing was under way"}
        if job.doing.startswith("compiling"):
            return {"stopped": "compiling was stopped; the last machine stays"}
        return {
            "stopped": f"{job.doing} goes on in the background and is kept for later; the last machine stays"
        }

    # -- moving the runs --------------------------------------------------------------------------

    def _step(self, message: Mapping[str, Any]) -> _Answer:
        moved = [(i, run) for i, run in self._live() if not run.is_over and not run.stuck]
        return {"updates": [run.update(i, run.step()) for i, run in moved]}

    def _take(self, message: Mapping[str, Any]) -> _Answer:
        number, run = self._run_of(message)
        if run.is_fixed:
            raise FormError("a kept run is fixed: choose a token of the other one", "run")
        at = _whole(message, "at")
        try:
            first = run.take(at, _whole(message, "token"))
        except UsageError as fault:
            raise FormError(one_line(fault), getattr(fault, "field", "token")) from None
        return {"updates": [run.update(number, first)]}

    def _back(self, message: Mapping[str, Any]) -> _Answer:
        at, live = _whole(message, "at"), self._live()
        most = max(run.committed for _, run in live)
        if not 0 <= at <= most:
            raise FormError(f"at={at}: the run has {most} tokens", "at")
        return {"updates": [run.update(i, run.back_to(at)) for i, run in live]}

    def _keep(self, message: Mapping[str, Any]) -> _Answer:
        _, run = self._live()[-1]  # the form's own run: what stands beside it is the first
        self.kept = run.fixed()
        self.kept.title = f"A: {name_of(self.form)}"
        return {"kept": True, "title": self.kept.title}

    def _find(self, message: Mapping[str, Any]) -> _Answer:
        number, run = self._run_of(message)
        query, filter_ = message.get("query", ""), message.get("filter", "any")
        if not isinstance(query, str):
            raise FormError("query must be a text", "query")
        if filter_ not in FILTERS:
            raise FormError(f"filter must be one of {', '.join(FILTERS)}, not {filter_!r:.60}", "filter")
        at, limit = _whole(message, "at"), _whole({"limit": 40, **message}, "limit")
        if not 0 <= limit <= _MOST_FOUND:
            raise FormError(f"limit must be 0 to {_MOST_FOUND}", "limit")
        try:
            candidates, total = find(run, at, query, filter_, limit)
        except UsageError as fault:
            raise FormError(one_line(fault), "at") from None
        return {"run": number, "at": at, "candidates": candidates, "total": total}

    def _live(self) -> list[tuple[int, LiveRun]]:
        if not self.runs:
            raise FormError("nothing is open yet", "do")
        return [(number, run) for number, run in enumerate(self.runs) if not run.is_fixed]

    def _run_of(self, message: Mapping[str, Any]) -> tuple[int, LiveRun]:
        self._live()
        number = _whole({"run": 0, **message}, "run")
        if not 0 <= number < len(self.runs):
            raise FormError(f"run={number}: there are {len(self.runs)} runs", "run")
        return number, self.runs[number]


def _whole(message: Mapping[str, Any], name: str) -> int:
    try:
        number = whole_number(message.get(name), name)
    except UsageError as fault:
        raise FormError(str(fault), name) from None
    if abs(number) > _LARGEST:
        raise FormError(f"{name} is far out of range", name)
    return number
