"""One recorded run: everything that a picture, a film or an exercise shows of it, as plain data.

The decode loop's steps go in, a `Trace` comes out. It holds names instead of numbers for states, the
machine with its labelled edges, and for each step the likeliest tokens before and after the mask,
each with the bytes it walks and the sentence that says why it lives or dies.

`to_json` and `from_json` (`lens.codec`) are exact inverses. Left out: the rows of all V logits, of
which the top `CANDIDATES` are kept. Size: about 200 bytes a candidate, 16 to 32 candidates a step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from minidecoder.automaton import State, walk
from minidecoder.decoding.constraint import Constraint
from minidecoder.decoding.loop import Step
from minidecoder.decoding.sampling import mask_row, softmax
from minidecoder.lens.codec import from_json, to_json
from minidecoder.lens.explain import explain_at
from minidecoder.lens.labels import show_ranges, show_token
from minidecoder.regex.dfa import DFA
from minidecoder.tokens.bitmask import is_set
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = [
    "CANDIDATES",
    "SCHEMA_VERSION",
    "ByteMove",
    "Candidate",
    "Machine",
    "MachineEdge",
    "MachineState",
    "Trace",
    "TraceRecorder",
    "TraceStep",
]

SCHEMA_VERSION: Final = 1
CANDIDATES: Final = 16


@dataclass(frozen=True)
class MachineState:
    """One state of the character machine, by its name: `s0`."""

    name: str
    accepting: bool


@dataclass(frozen=True)
class MachineEdge:
    """An edge with its folded label, `0–9`."""

    source: str
    target: str
    label: str


@dataclass(frozen=True)
class Machine:
    """The character automaton as it is drawn; the first state is the start."""

    states: tuple[MachineState, ...]
    edges: tuple[MachineEdge, ...]


@dataclass(frozen=True)
class ByteMove:
    """One byte of a token and the state after it: a character state, `b3` inside a character, `dead`."""

    byte: int
    state: str


@dataclass(frozen=True)
class Candidate:
    """A token as the model saw it at one step. `logit`: the model's own, None for -inf; `before`: its
    probability without the mask; `after`: with the mask alone (temperature 1); `drawn`: with which it was
    drawn, after every sampling step; `why`: a sentence."""

    token_id: int
    label: str
    kind: str  # "text", "eos" or "special"
    logit: float | None
    before: float
    after: float
    drawn: float
    allowed: bool
    path: tuple[ByteMove, ...]
    why: str


@dataclass(frozen=True)
class TraceStep:
    """One step. `state`, `state_after`: None without a constraint. `favourite` and `feasible_mass`: None
    where EOS was forced and the model not asked. `path`: the chosen token's bytes."""

    state: str | None
    state_after: str | None
    token_id: int
    label: str
    is_eos: bool
    allowed_count: int
    feasible_mass: float | None
    favourite: int | None
    favourite_blocked: bool
    probability: float
    path: tuple[ByteMove, ...]
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True)
class Trace:
    """A run. `pattern`, `machine`: None without a constraint; `text` is what the tokens spell."""

    schema_version: int
    pattern: str | None
    machine: Machine | None
    vocabulary_size: int
    prompt: str
    steps: tuple[TraceStep, ...]
    text: str
    finish_reason: str
    is_complete: bool

    def to_json(self) -> str:
        """Compact JSON, ASCII only, safe to embed in a page after escaping `<`."""
        return to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Trace:
        """The trace that `to_json` wrote. Raises `UsageError` naming the place that does not fit."""
        return from_json(cls, text, version=SCHEMA_VERSION)


class TraceRecorder:
    """Collects the steps of one run as they happen: `add` each, then `finish`."""

    def __init__(self, vocabulary: Vocabulary, constraint: Constraint | None, prompt: str) -> None:
        self.vocabulary = vocabulary
        self.constraint = constraint
        self.prompt = prompt
        self.steps: list[TraceStep] = []
        self._text = b""

    def add(self, step: Step) -> None:
        """Record a step. Its rows of logits are read here and not kept."""
        self._text += self.vocabulary.token_bytes[step.token_id]
        self.steps.append(
            TraceStep(
                state=self._name(step.state),
                state_after=self._name(step.state_after),
                token_id=step.token_id,
                label=show_token(self.vocabulary, step.token_id),
                is_eos=step.is_eos,
                allowed_count=step.allowed_count,
                feasible_mass=step.feasible_mass,
                favourite=step.favourite,
                favourite_blocked=step.favourite_blocked,
                probability=step.probability,
                path=self._path(step.state, step.token_id),
                candidates=self._candidates(step),
            )
        )

    def finish(self, is_complete: bool) -> Trace:
        """The whole trace. `is_complete`: whether the text is a whole match."""
        ended = bool(self.steps) and self.steps[-1].is_eos
        characters = None if self.constraint is None else self.constraint.characters
        return Trace(
            schema_version=SCHEMA_VERSION,
            pattern=None if self.constraint is None else self.constraint.source,
            machine=None if characters is None else draw_machine(characters),
            vocabulary_size=len(self.vocabulary),
            prompt=self.prompt,
            steps=tuple(self.steps),
            text=self._text.decode("utf-8", "replace"),
            finish_reason="stop" if ended else "length",
            is_complete=is_complete,
        )

    def _name(self, state: State | None) -> str | None:
        if state is None or self.constraint is None:
            return None
        return self.constraint.automaton.name(state)

    def _path(self, state: State | None, token_id: int) -> tuple[ByteMove, ...]:
        if self.constraint is None or state is None:
            return ()
        data, machine = self.vocabulary.token_bytes[token_id], self.constraint.automaton
        states = walk(machine, state, data)
        return tuple(ByteMove(byte, machine.name(s)) for byte, s in zip(data, states, strict=False))

    def _candidates(self, step: Step) -> tuple[Candidate, ...]:
        """The likeliest tokens before the mask and those after it, at most 2 x CANDIDATES, by logit."""
        if step.draw is None:
            return (self._candidate(step, step.token_id, None, (1.0, 1.0, 1.0)),)
        logits = step.draw.before
        masked = mask_row(logits, step.bitmask)
        before, after, drawn = softmax(logits), softmax(masked), softmax(step.draw.after)
        top = {int(step.token_id), *np.argsort(-before, kind="stable")[:CANDIDATES].tolist()}
        top |= {i for i in np.argsort(-after, kind="stable")[:CANDIDATES].tolist() if after[i] > 0}
        return tuple(
            self._candidate(step, i, float(logits[i]), (float(before[i]), float(after[i]), float(drawn[i])))
            for i in sorted(top, key=lambda i: (-logits[i], i))
        )

    def _candidate(
        self, step: Step, token_id: int, logit: float | None, chances: tuple[float, float, float]
    ) -> Candidate:
        why = ""
        if self.constraint is not None and step.state is not None:
            why = explain_at(self.constraint, step.state, token_id).sentence
        return Candidate(
            int(token_id),
            show_token(self.vocabulary, token_id),
            self._kind(token_id),
            logit if logit is not None and np.isfinite(logit) else None,
            *chances,
            is_set(step.bitmask, token_id),
            self._path(step.state, token_id),
            why,
        )

    def _kind(self, token_id: int) -> str:
        if token_id in self.vocabulary.eos_ids:
            return "eos"
        return "text" if self.vocabulary.token_bytes[token_id] else "special"


def draw_machine(dfa: DFA) -> Machine:
    """The states and labelled edges of a character machine."""
    states = tuple(
        MachineState(dfa.name(State(q)), dfa.is_accepting(State(q))) for q in range(1, len(dfa) + 1)
    )
    edges = tuple(MachineEdge(dfa.name(s), dfa.name(t), show_ranges(ranges)) for s, ranges, t in dfa.edges())
    return Machine(states, edges)
