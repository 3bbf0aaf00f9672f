"""From a form to runs: the source is loaded, the text compiled, and of each run the first token drawn.

This may take seconds, so the lab does it in a thread. A thread that is given up stops compiling; what it
loads it loads to the end, and keeps for later. Its runs are never shown.

Left out: who waits for it (`lab_session`). Cost: that of its parts, which the answer tells in milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from threading import Event
from time import perf_counter
from typing import Any, Final

from minidecoder.compiling import compile_grammar, compile_json_schema, compile_regex
from minidecoder.decoding.constraint import Constraint
from minidecoder.decoding.request import prepare
from minidecoder.decoding.sampling import Sampler
from minidecoder.errors import MiniDecoderError, MissingDependencyError, ModelError, UsageError
from minidecoder.regex.limits import until
from minidecoder.viz.lab_form import ORDER, Form, FormError, check_json, place_of
from minidecoder.viz.lab_run import LiveRun, one_line
from minidecoder.viz.lab_sources import SOURCES, Loaded, Source

__all__ = ["Job", "error_answer", "name_of"]

TIMEOUT_S: Final = 10.0
_Answer = dict[str, Any]


@dataclass(eq=False)
class Job:
    """Loading and compiling of one form. `doing`: what a page may say while it waits; `runs`, `answer`: what
    came of it, once `done`."""

    form: Form
    tokens: list[int] = field(default_factory=list)  # to be taken again, as far as they may
    doing: str = "starting"
    started: float = field(default_factory=perf_counter)
    done: Event = field(default_factory=Event)
    given_up: Event = field(default_factory=Event)
    runs: list[LiveRun] = field(default_factory=list)
    answer: _Answer = field(default_factory=dict)

    def work(self, kept: LiveRun | None) -> None:
        """All of it, for a thread; whatever goes wrong is the answer."""
        try:
            with until(self.given_up):
                self.answer = _opened(self, kept)
        except Exception as fault:
            self.answer = error_answer(fault, self.form.text)
        finally:
            self.done.set()


def _opened(job: Job, kept: LiveRun | None) -> _Answer:
    form, start = job.form, perf_counter()
    source = SOURCES[form.source]
    loaded = _load(job, source)
    after_load = perf_counter()
    job.doing = "compiling"
    constraint = _compile(form, loaded)
    after_compile = perf_counter()
    job.doing = "making the first step"
    prompt, note = _prompt(form, loaded)
    job.runs = _runs(form, loaded, constraint, prompt, kept)
    at = max((run.take_all(job.tokens) for run in job.runs if not run.is_fixed), default=0)
    runs = [run.described() for run in job.runs]
    times = {
        "load": after_load - start,
        "compile": after_compile - after_load,
        "first": perf_counter() - after_compile,
    }
    notes = [note, *(constraint.notes if constraint is not None else ())]
    return {
        "opened": True,
        "at": at,
        "runs": runs,
        "form": form.plain(),
        "milliseconds": {name: round(1000 * seconds, 1) for name, seconds in times.items()},
        "note": "; ".join(filter(None, notes))[:1000],
    }


def _load(job: Job, source: Source) -> Loaded:
    job.doing = f"loading {source.title}"

    def say(note: str) -> None:
        job.doing = note

    try:
        return source.load(say)
    except (MissingDependencyError, ModelError) as fault:
        raise FormError(one_line(fault), "source") from None


def _compile(form: Form, loaded: Loaded) -> Constraint | None:
    match form.kind:
        case "regex":
            return compile_regex(form.text, loaded.vocabulary, timeout_s=TIMEOUT_S)
        case "schema":
            check_json(form.text)
            return compile_json_schema(form.text, loaded.vocabulary, timeout_s=TIMEOUT_S)
        case "grammar":
            return compile_grammar(form.text, loaded.vocabulary, timeout_s=TIMEOUT_S)
    return None


def _prompt(form: Form, loaded: Loaded) -> tuple[str, str]:
    """What the model reads, and what is to be said about it."""
    if form.source != "nine" or not form.prompt:
        return form.prompt, ""
    try:
        loaded.model().encode(form.prompt)  # type: ignore[attr-defined]
    except UsageError:
        return "", "the nine tokens cannot spell the prompt, so it is not read"
    return form.prompt, ""


def _runs(
    form: Form, loaded: Loaded, constraint: Constraint | None, prompt: str, kept: LiveRun | None
) -> list[LiveRun]:
    def run(form: Form, constraint: Constraint | None, title: str = "") -> LiveRun:
        return _run(form, loaded, constraint, prompt, title)

    name = name_of(form)
    match form.beside:
        case "free":
            return [run(form, None, "A: free"), run(form, constraint, f"B: {name}")]
        case "usual order":
            usual = replace(form, order=ORDER)
            return [run(usual, constraint, "A: usual order"), run(form, constraint, "B: this order")]
        case "kept" if kept is not None:
            return [kept, run(form, constraint, f"B: {name}")]
    return [run(form, constraint)]


def _run(form: Form, loaded: Loaded, constraint: Constraint | None, prompt: str, title: str) -> LiveRun:
    model = loaded.model()
    try:
        request = prepare(
            model,
            prompt,
            constraint=constraint,
            vocabulary=loaded.vocabulary,
            sampling=form.sampling,
            max_tokens=form.max_tokens,
        )
    except (UsageError, ModelError) as fault:
        raise FormError(one_line(fault), "prompt") from None
    request = replace(request, sampler=Sampler(form.sampling, form.order))
    return LiveRun(model, request, loaded, constraint, prompt, title)


def name_of(form: Form) -> str:
    """What stands over its run: a short pattern, else the kind."""
    if form.kind == "free":
        return "free"
    text = " ".join(form.text.split())
    return text if form.kind == "regex" and len(text) <= 30 else form.kind


def error_answer(fault: Exception, text: str | None = None) -> _Answer:
    """{"error": ...}, with the place in `text`, if that is what was compiled."""
    is_ours = isinstance(fault, MiniDecoderError)
    message = one_line(fault) if is_ours else f"unexpected {type(fault).__name__}: {one_line(fault)}"
    shown = getattr(fault, "text", None) if text is None else text
    where = place_of(fault, shown) if is_ours and isinstance(shown, str) else None
    field = getattr(fault, "field", "" if text is None else "text")
    return {"error": {"message": message, "where": where, "field": field}}
