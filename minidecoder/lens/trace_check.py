"""Whether a trace can have happened: numbers in their ranges, and parts that agree with each other.

The shape is the codec's business, and the JSON Schema's for other programs; here is what neither can say:
an id below the size of the vocabulary, a step that begins where the one before it ended.

Left out: whether the run was this way; nothing is computed anew. Cost: O(candidates).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from minidecoder.errors import UsageError
from minidecoder.lens.trace_data import FINISH_REASONS, KINDS, ByteMove, Candidate, Machine, Trace, TraceStep
from minidecoder.lens.verdict import Kind

__all__ = ["check_trace"]

_VERDICTS = frozenset(Kind.__members__)


def check_trace(trace: Trace) -> None:
    """`UsageError` with the place of the first contradiction."""
    _need(trace.vocabulary_size >= 1, "Trace.vocabulary_size", "at least 1", trace.vocabulary_size)
    _one_of(trace.finish_reason, FINISH_REASONS, "Trace.finish_reason")
    _need(trace.left_out >= 0, "Trace.left_out", "0 or more", trace.left_out)
    if trace.machine is not None:
        _check_machine(trace.machine)
        _need(trace.pattern is not None, "Trace.pattern", "a text, as there is a machine", None)
    for index, step in enumerate(trace.steps):
        _check_step(step, trace, f"Trace.steps[{index}]")
    for index, (before, after) in enumerate(pairwise(trace.steps)):
        wanted = f"{before.state_after!r:.60}, where step {index} ended"
        _need(after.state == before.state_after, f"Trace.steps[{index + 1}].state", wanted, after.state)
        _need(not before.is_eos, f"Trace.steps[{index}].is_eos", "false, as it is not the last", True)


def _check_machine(machine: Machine) -> None:
    names = {state.name for state in machine.states}
    _need(len(names) == len(machine.states) > 0, "Trace.machine.states", "one or more, named apart", None)
    _need(machine.left_out >= 0, "Trace.machine.left_out", "0 or more", machine.left_out)
    for index, edge in enumerate(machine.edges):
        for end, name in (("source", edge.source), ("target", edge.target)):
            _one_of(name, names, f"Trace.machine.edges[{index}].{end}", "a state of the machine")


def _check_step(step: TraceStep, trace: Trace, place: str) -> None:
    size = trace.vocabulary_size
    constrained = trace.pattern is not None
    for name in ("state", "state_after"):
        given = getattr(step, name)
        _need((given is not None) == constrained, f"{place}.{name}", "given where there is a pattern", given)
    _check_id(step.token_id, size, f"{place}.token_id")
    _need(0 <= step.allowed_count <= size, f"{place}.allowed_count", f"0 to {size}", step.allowed_count)
    _need(
        (step.favourite is None) == (step.feasible_mass is None),
        f"{place}.favourite",
        "given where feasible_mass is",
        step.favourite,
    )
    if step.favourite is not None and step.feasible_mass is not None:
        _check_id(step.favourite, size, f"{place}.favourite")
        _check_share(step.feasible_mass, f"{place}.feasible_mass")
    _check_share(step.probability, f"{place}.probability")
    _check_path(step.path, f"{place}.path")
    ids = [candidate.token_id for candidate in step.candidates]
    _need(len(set(ids)) == len(ids), f"{place}.candidates", "of different ids", sorted(ids))
    _one_of(step.token_id, ids, f"{place}.token_id", "one of the candidates")
    for index, candidate in enumerate(step.candidates):
        _check_candidate(candidate, size, f"{place}.candidates[{index}]")


def _check_candidate(candidate: Candidate, size: int, place: str) -> None:
    _check_id(candidate.token_id, size, f"{place}.token_id")
    _one_of(candidate.kind, KINDS, f"{place}.kind")
    for name in ("before", "after", "drawn"):
        _check_share(getattr(candidate, name), f"{place}.{name}")
    _check_path(candidate.path, f"{place}.path")
    if candidate.verdict is not None:
        _one_of(candidate.verdict, _VERDICTS, f"{place}.verdict")
        drawable = candidate.allowed or candidate.verdict not in ("ALLOWED", "BANNED", "CUT_BY_SAMPLING")
        _need(drawable, f"{place}.verdict", "a reason, as the mask blocks it", candidate.verdict)


def _check_path(path: Iterable[ByteMove], place: str) -> None:
    for index, move in enumerate(path):
        _need(0 <= move.byte <= 255, f"{place}[{index}].byte", "0 to 255", move.byte)


def _check_id(token_id: int, size: int, place: str) -> None:
    _need(0 <= token_id < size, place, f"0 to {size - 1}, the ids of the vocabulary", token_id)


def _check_share(share: float, place: str) -> None:
    # subtle: the shares of all tokens add up to 1 with the rounding of 131,072 summands.
    _need(0 <= share <= 1 + 1e-9, place, "a probability, 0 to 1", share)


def _one_of(value: object, values: Iterable[object], place: str, what: str = "") -> None:
    known = set(values)
    _need(value in known, place, what or f"one of {', '.join(sorted(map(str, known)))}", value)


def _need(holds: bool, place: str, wanted: str, given: object) -> None:
    if not holds:
        raise UsageError(f"{place} must be {wanted}, not {given!r:.60}")
