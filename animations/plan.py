"""The plan of a film in plain Python: its beats, what each says, how long, and on which evidence.

A beat's caption may name tokens and characters (in backticks) and states (`s3`); whatever it names
must occur in the recorded steps that the beat carries. `faults` says what is wrong with a plan: a
caption too fast or too wide, a film too short or too long, a claim that the trace does not bear out.

Left out: pictures (`mobjects`, `film`). Nothing here imports manim. Cost: O(beats x candidates).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import minidecoder as md
from minidecoder.decoding.constraint import Constraint
from minidecoder.errors import UsageError
from minidecoder.lens.trace import Candidate, Trace, TraceStep
from minidecoder.models.toy import TableModel

__all__ = ["Beat", "Plan", "candidate", "faults", "route", "scripted_trace", "spoken"]

MAX_CHARS_PER_SECOND: Final = 17.0
MAX_CAPTION_CHARS: Final = 60  # one line of the caption band at its type size, whatever the letters
LEAST_SECONDS, MOST_SECONDS = 45.0, 90.0
LAST_FRAME_S: Final = 3.0


@dataclass(frozen=True)
class Beat:
    """One claim. `name`: `token 2` is shown by the scene's method `show_token`, for the second time;
    `steps`: the recorded steps that the caption speaks of; `chapter`: set on the beat that opens one."""

    name: str
    caption: str
    seconds: float
    steps: tuple[TraceStep, ...] = ()
    chapter: str = ""

    @property
    def method(self) -> str:
        return "show_" + self.name.partition(" ")[0]


@dataclass(frozen=True)
class Plan:
    title: str
    beats: tuple[Beat, ...]

    @property
    def seconds(self) -> float:
        return sum(beat.seconds for beat in self.beats)

    def starts(self) -> Iterator[tuple[float, Beat]]:
        """Each beat with the second at which it begins."""
        time = 0.0
        for beat in self.beats:
            yield time, beat
            time += beat.seconds

    def transcript(self) -> str:
        """A Markdown list: minute and second, and what is said."""
        return "\n".join(f"- {int(t) // 60}:{int(t) % 60:02d} {beat.caption}" for t, beat in self.starts())


def spoken(caption: str) -> str:
    """A caption as a subtitle shows it: without the backticks."""
    return caption.replace("`", "")


def scripted_trace(constraint: Constraint, tokens: Sequence[str]) -> Trace:
    """The recorded run of a model that prefers these tokens, one after the other, and then the end.

    Raises UsageError where the constraint overrules it, or where a step did not record every token.
    """
    vocabulary = constraint.vocabulary
    ids = {vocabulary.text(i): i for i in range(len(vocabulary))}
    if unknown := set(tokens) - ids.keys():
        raise UsageError(f"not in the film's vocabulary: {sorted(unknown)}")
    wanted = [ids[token] for token in tokens] + [min(vocabulary.eos_ids)]
    rows = {
        tuple(wanted[:k]): [4.0 * (i == token) for i in range(len(ids))] for k, token in enumerate(wanted)
    }
    run = md.generate(TableModel(len(ids), rows), [], constraint=constraint, max_tokens=len(wanted))
    if run.token_ids != wanted:
        raise UsageError(f"the machine takes {run.text!r} where the film wants {'|'.join(tokens)}")
    if any(len(step.candidates) < len(ids) for step in run.trace.steps if not step.is_eos):
        raise UsageError("a film shows every token of its vocabulary, and a trace records 16 a step")
    return run.trace


def candidate(step: TraceStep, label: str) -> Candidate:
    """What the step recorded of a token."""
    return next(c for c in step.candidates if c.label == label)


def route(step: TraceStep, token: TraceStep | Candidate) -> tuple[str, ...]:
    """The states that a token passes from the step's state on: s1, s2, s3."""
    return (step.state or "", *(move.state for move in token.path))


def faults(plan: Plan) -> list[str]:
    """What must be mended before the film is rendered, in sentences; empty for a good plan."""
    found = [fault for beat in plan.beats for fault in _faults_of_beat(beat)]
    repeated = [name for name, count in Counter(beat.name for beat in plan.beats).items() if count > 1]
    found += [f"two beats are called {name!r}" for name in repeated]
    if not LEAST_SECONDS <= plan.seconds <= MOST_SECONDS:
        found.append(f"the film takes {plan.seconds:g} s, not {LEAST_SECONDS:g} to {MOST_SECONDS:g}")
    if not plan.beats or not plan.beats[0].chapter:
        found.append("the first beat opens no chapter")
    return found


def _faults_of_beat(beat: Beat) -> Iterator[str]:
    text = spoken(beat.caption)
    if len(text) > MAX_CHARS_PER_SECOND * beat.seconds:
        yield f"{beat.name}: {len(text)} characters in {beat.seconds:g} s are too fast to read"
    if len(text) > MAX_CAPTION_CHARS:
        yield f"{beat.name}: {len(text)} characters do not fit on one line of {MAX_CAPTION_CHARS}"
    for name in _states_in(text) - {name for step in beat.steps for name in _states_of(step)}:
        yield f"{beat.name}: the caption names {name}, its trace steps do not"
    for token in set(re.findall(r"`([^`]+)`", beat.caption)) - _texts(beat.steps):
        yield f"{beat.name}: the caption names `{token}`, its trace steps do not"
    for chain in re.findall(r"s\d+(?: → s\d+)+", text):
        if tuple(chain.split(" → ")) not in _routes(beat.steps):
            yield f"{beat.name}: no token of its trace steps goes {chain}"


def _states_in(text: str) -> set[str]:
    return set(re.findall(r"\bs\d+\b", text))


def _states_of(step: TraceStep) -> Iterator[str]:
    yield from route(step, step)
    for token in step.candidates:
        yield from route(step, token)


def _texts(steps: Sequence[TraceStep]) -> set[str]:
    """What may stand in backticks: a token, a character of one, or all that the steps write."""
    tokens = [c for step in steps for c in step.candidates]
    labels = {c.label.removeprefix("■ ") if c.kind == "eos" else c.label for c in tokens}
    return labels | set("".join(labels)) | {"".join(step.label for step in steps if not step.is_eos)}


def _routes(steps: Sequence[TraceStep]) -> set[tuple[str, ...]]:
    """Every route of a token, and its beginnings: a caption may stop before a token dies."""
    whole = {route(step, c) for step in steps for c in step.candidates}
    return {states[:end] for states in whole for end in range(2, len(states) + 1)}
