"""What keeps a trace small: long names, texts and paths are cut, and unlikely candidates left out.

A run of up to 64 steps stays under 200 KB of JSON, whatever the vocabulary and the constraint: `fit` keeps of
each step as many of the likeliest candidates as there is room for, the drawn token first and then the model's
favourite, and says how many it left out. A machine too large for a picture keeps the states that the run came
near. Whatever is cut says so, with `…` or a number.

Left out: runs of many more steps, which get `MORE_BYTES` a step. Cost: writing each candidate once.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Final

from minidecoder.lens.codec import to_plain
from minidecoder.lens.trace_data import ByteMove, Candidate, Machine, MachineEdge, Trace, TraceStep

__all__ = ["MOST_BYTES", "cut_label", "cut_path", "cut_stack", "cut_text", "fit"]

MOST_BYTES: Final = 199_500
MORE_BYTES: Final = 1_500  # a step, where the run is so long that this is more
_MACHINE_BYTES: Final = 40_000
_RUN_BYTES: Final = 100_000  # of edges between states of the run: 64 long tokens need no more
_MORE_RUN_BYTES: Final = 1_500  # a step
_STATE_BYTES: Final = 50  # a neighbour's own
_compact: Final = json.JSONEncoder(separators=(",", ":")).encode
_LABEL, _TEXT, _STACK, _NAME = 40, 3_000, 12, 32
_MOVES, _MOVES_BYTES = 24, 300


def cut_label(label: str) -> str:
    """A token's label of at most 40 characters."""
    return label if len(label) <= _LABEL else label[: _LABEL - 1] + "…"


def cut_text(text: str) -> str:
    """A prompt or a grammar, of which the first 3,000 characters are kept."""
    return text if len(text) <= _TEXT else f"{text[:_TEXT]}… ({len(text):,} characters in all)"


def cut_path(moves: Sequence[ByteMove]) -> tuple[ByteMove, ...]:
    """The moves of a token: of a long one at most the first 23 and the last, of long names fewer."""
    room = _MOVES_BYTES // max((len(state) + 8 for _, state in moves), default=1)
    most = min(_MOVES, max(room, 4))
    return tuple(moves if len(moves) <= most else [*moves[: most - 1], moves[-1]])


def cut_stack(names: Sequence[str]) -> tuple[str, ...]:
    """The open rules: of very many the outermost four and the innermost seven."""
    shown = list(names)
    if len(names) > _STACK:
        shown = [*names[:4], f"… {len(names) - _STACK + 1:,} more …", *names[5 - _STACK :]]
    return tuple(name if len(name) <= _NAME else name[: _NAME - 1] + "…" for name in shown)


def fit(trace: Trace) -> Trace:
    """The trace with as many candidates as there is room for."""
    if trace.machine is not None:
        trace = replace(trace, machine=_near(trace.machine, trace.steps))
    most = max(MOST_BYTES, MORE_BYTES * len(trace.steps))
    if len(trace.to_json()) <= most:
        return trace
    bare = replace(trace, steps=tuple(replace(step, candidates=()) for step in trace.steps))
    ranked = [_ranked(step) for step in trace.steps]
    sizes = [[_size(candidate) for candidate in candidates] for candidates in ranked]
    room = most - len(bare.to_json())
    kept = max(map(len, sizes), default=0)
    while kept > 1 and sum(sum(row[:kept]) for row in sizes) > room:
        kept -= 1
    chosen = [set(candidates[:kept]) for candidates in ranked]
    steps = tuple(
        replace(step, candidates=tuple(c for c in step.candidates if c in these))
        for step, these in zip(trace.steps, chosen, strict=True)
    )
    return replace(trace, steps=steps, left_out=sum(max(len(row) - kept, 0) for row in sizes))


def _ranked(step: TraceStep) -> list[Candidate]:
    """The drawn token, the favourite, then the likeliest before or after the mask."""

    def rank(candidate: Candidate) -> tuple[bool, bool, float]:
        is_drawn, is_favourite = candidate.token_id == step.token_id, candidate.token_id == step.favourite
        return not is_drawn, not is_favourite, -max(candidate.before, candidate.after)

    return sorted(step.candidates, key=rank)


def _size(candidate: Candidate) -> int:
    return len(_compact(list(to_plain(candidate).values()))) - 1  # of n fields n - 1 commas, and no brackets


def _near(machine: Machine, steps: Sequence[TraceStep]) -> Machine:
    """The machine, if it is small enough; else its start, the states of the run with all edges between them,
    and as many of their neighbours as there is room for."""
    if len(json.dumps(to_plain(machine))) <= _MACHINE_BYTES:
        return machine
    visited = {move.state for step in steps for move in step.path}
    visited |= {machine.states[0].name, *(step.state for step in steps if step.state)}
    edges = [edge for edge in machine.edges if edge.source in visited]
    own = [edge for edge in edges if edge.target in visited]
    kept = _within(max(_RUN_BYTES, _MORE_RUN_BYTES * len(steps)), own)
    onward = [edge for edge in edges if edge.target not in visited]
    kept += _within(_MACHINE_BYTES - sum(map(_edge_size, kept)), onward, _STATE_BYTES)
    names = visited | {edge.target for edge in kept}
    states = tuple(state for state in machine.states if state.name in names)
    left_out = machine.left_out + len(machine.states) - len(states)
    return Machine(states, tuple(kept), left_out)


def _within(room: int, edges: Sequence[MachineEdge], beside: int = 0) -> list[MachineEdge]:
    """The first edges that so many bytes hold, with `beside` more for each."""
    ends = list(accumulate(_edge_size(edge) + beside for edge in edges))
    return list(edges[: bisect_right(ends, room)])


def _edge_size(edge: MachineEdge) -> int:
    return len(_compact(to_plain(edge))) + 1
