"""What a trace holds: a recorded run as plain data, and its way into JSON and back.

It has names instead of numbers for states, the machine with its labelled edges, and for each step the
likeliest tokens before and after the mask, each with the bytes it walks and the verdict on it.

`to_json` and `from_json` are exact inverses; `from_json` reads older versions too, and refuses what cannot
have happened. Left out: recording (`trace`), and the format for other programs (`trace_schema`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

from minidecoder.lens.codec import read_json, to_json, to_value
from minidecoder.lens.trace_versions import SCHEMA_VERSION, upgrade

__all__ = ["ByteMove", "Candidate", "Machine", "MachineEdge", "MachineState", "Trace", "TraceStep"]

KINDS: Final = ("text", "eos", "special")
FINISH_REASONS: Final = ("stop", "length", "interrupted")


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
    """The character automaton as it is drawn; the first state is the start. `left_out`: states of a large
    machine that the run did not come near, and that are not recorded."""

    states: tuple[MachineState, ...]
    edges: tuple[MachineEdge, ...]
    left_out: int = 0


class ByteMove(NamedTuple):
    """One byte of a token and the state after it: a character state, `b3` inside a character, `dead`."""

    byte: int
    state: str


@dataclass(frozen=True)
class Candidate:
    """A token as the model saw it at one step; figures are rounded to four digits. `logit`: the model's own,
    None for -inf; `before`: its probability without the mask; `after`: with the mask alone (temperature 1);
    `drawn`: with which it was drawn, after every sampling step; `allowed`: whether the mask kept it. `why`:
    the sentence of the verdict, "" where there is nothing to say: allowed, without a constraint. `verdict`:
    a name of `Kind`, None in a trace of version 1."""

    BY_COLUMN: ClassVar = True  # a trace is mostly these

    token_id: int
    label: str
    kind: str  # one of KINDS
    logit: float | None
    before: float
    after: float
    drawn: float
    allowed: bool
    path: tuple[ByteMove, ...]
    why: str
    verdict: str | None = None


@dataclass(frozen=True)
class TraceStep:
    """One step. `state`, `state_after`: None without a constraint. `favourite` and `feasible_mass`: None
    where the token was forced and the model not asked. `path`: the chosen token's bytes. `stack`: of a
    grammar, the rules that are open before the token, from the root to the innermost."""

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
    stack: tuple[str, ...] = ()


@dataclass(frozen=True)
class Trace:
    """A run. `pattern`: what was compiled, None without a constraint; `machine`: None without one, and for
    grammars and schemas; `text` is what the tokens spell; `left_out`: candidates that were not kept, so that
    the whole stays small."""

    schema_version: int
    pattern: str | None
    machine: Machine | None
    vocabulary_size: int
    prompt: str
    steps: tuple[TraceStep, ...]
    text: str
    finish_reason: str  # one of FINISH_REASONS
    is_complete: bool
    left_out: int = 0

    def to_json(self) -> str:
        """Compact JSON, ASCII only, safe to embed in a page after escaping `<`."""
        return to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Trace:
        """The trace that `to_json` wrote, now or under version 1. Raises `UsageError` naming the place that
        does not fit."""
        from minidecoder.lens.trace_check import check_trace

        data = upgrade(read_json(text, cls.__name__))
        trace: Trace = to_value(cls, data)
        assert trace.schema_version == SCHEMA_VERSION
        check_trace(trace)
        return trace
