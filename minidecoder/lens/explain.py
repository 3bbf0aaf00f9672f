"""Why a token is blocked, or that it is not: one verdict with its evidence and a sentence.

Everything said is read off the machine: which byte dies, in which state, and what would have
lived there. The verdicts are a closed list, and the first that applies holds.

Left out: verdicts that need more than the machine and the vocabulary: bans, budgets and cuts made
by the sampling steps. Cost: O(L) for a token; O(Q) for the shortest completion after EOS_TOO_EARLY.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

import numpy as np

from minidecoder.automaton import DEAD, State, walk
from minidecoder.decoding.constraint import Constraint
from minidecoder.decoding.matcher import Matcher
from minidecoder.errors import UsageError
from minidecoder.lens.labels import show_byte, show_bytes, show_ranges, show_token
from minidecoder.regex.charset import make_ranges

__all__ = ["Kind", "Verdict", "explain", "explain_at", "shortest_completion"]

_LONGEST_WALK: Final = 7  # states named in a sentence


class Kind(Enum):
    """What a verdict says, in the order in which they are tried."""

    TERMINATED = "the text has ended"
    NOT_A_TOKEN = "an id without text"
    SPECIAL_TOKEN = "a special token"
    EOS_TOO_EARLY = "the text cannot end here"
    ONLY_EOS_LEFT = "only the end is left"
    DEAD_AT_BYTE = "a byte that nothing can follow"
    DEAD_END = "no tokens could finish it"
    ALLOWED = "allowed"


@dataclass(frozen=True)
class Verdict:
    """`sentence` for people; `path`: the state after each byte, DEAD last where one dies;
    `live_bytes`: what would have lived where it died; `completion`: a shortest ending, for EOS_TOO_EARLY."""

    kind: Kind
    sentence: str
    path: tuple[State, ...] = ()
    live_bytes: tuple[int, ...] = ()
    completion: bytes = b""

    @property
    def is_allowed(self) -> bool:
        return self.kind is Kind.ALLOWED


def explain(matcher: Matcher, token_id: int) -> Verdict:
    """Why `matcher` would take or refuse the token now. An id out of range raises `UsageError`."""
    if not isinstance(matcher, Matcher):
        raise UsageError(f"explain needs a matcher (constraint.matcher()), not {type(matcher).__name__}")
    matcher.constraint.vocabulary.check_id(token_id)
    if matcher.is_terminated:
        return Verdict(Kind.TERMINATED, "The text has ended with EOS: nothing may follow.")
    return explain_at(matcher.constraint, matcher.state, token_id)


def explain_at(constraint: Constraint, state: State, token_id: int) -> Verdict:
    """The same for any live state of the constraint."""
    vocabulary, machine = constraint.vocabulary, constraint.automaton
    data = vocabulary.token_bytes[vocabulary.check_id(token_id)]
    label = f"`{show_token(vocabulary, token_id)}`"
    if token_id in vocabulary.eos_ids:
        return _explain_eos(constraint, state, label)
    if not data:
        return _without_bytes(token_id in vocabulary.special_text, label)
    path = tuple(walk(machine, state, data))
    if not machine.live_bytes(state):
        return Verdict(
            Kind.ONLY_EOS_LEFT, f"{label} is blocked: in {machine.name(state)} only the end may follow."
        )
    if path[-1] == DEAD:
        return _dead_at_byte(constraint, state, data, path, label)
    moves = _moves(constraint, (state, *path))
    if not constraint.index.is_alive(path[-1]):
        return Verdict(Kind.DEAD_END, f"{label} moves {moves}, from where no tokens reach the end.", path)
    return Verdict(Kind.ALLOWED, f"{label} is allowed: {moves}.", path)


def _without_bytes(special: bool, label: str) -> Verdict:
    if special:
        return Verdict(Kind.SPECIAL_TOKEN, f"{label} is a special token: text never contains it.")
    return Verdict(Kind.NOT_A_TOKEN, f"{label} stands for no text, so it can never be drawn.")


def _explain_eos(constraint: Constraint, state: State, label: str) -> Verdict:
    machine = constraint.automaton
    name = machine.name(state)
    if machine.is_accepting(state):
        return Verdict(Kind.ALLOWED, f"{label} is allowed: {name} is accepting, the text is a whole match.")
    completion = shortest_completion(constraint, state)
    sentence = (
        f"{label} comes too early: {name} does not accept; `{show_bytes(completion)}` would complete it."
    )
    return Verdict(Kind.EOS_TOO_EARLY, sentence, completion=completion)


def _dead_at_byte(
    constraint: Constraint, state: State, data: bytes, path: tuple[State, ...], label: str
) -> Verdict:
    machine = constraint.automaton
    before = path[-2] if len(path) > 1 else state
    follows = _what_follows(constraint, before)
    sentence = f"{label} dies at byte {len(path)} of {len(data)}: "
    if len(path) == 1:
        sentence += f"in {machine.name(state)} only {follows} may follow."
    else:
        moves = _moves(constraint, (state, *path[:-1]))
        sentence += f"`{show_bytes(data[: len(path) - 1])}` moves {moves}, where only {follows} may follow."
    return Verdict(Kind.DEAD_AT_BYTE, sentence, path, tuple(machine.live_bytes(before)))


def _moves(constraint: Constraint, states: Sequence[State]) -> str:
    """`s0 → s1 → s3`; of a long walk the beginning and the end."""
    names = [constraint.automaton.name(state) for state in states]
    return " → ".join(names if len(names) <= _LONGEST_WALK else [*names[:2], "…", *names[-2:]])


def _what_follows(constraint: Constraint, state: State) -> str:
    """What may stand next: the bytes that live, if any token holds one, and the end where it may come."""
    machine, spelled = constraint.automaton, constraint.vocabulary.trie.byte[1:]
    live = machine.live_bytes(state)
    if not any(byte in spelled for byte in live):
        live = []
    ascii_ = show_ranges(make_ranges((byte, byte) for byte in live if byte < 0x80))
    others = [_show_run(*run) for run in make_ranges((byte, byte) for byte in live if byte >= 0x80)]
    end = ["the end"] if machine.is_accepting(state) else []
    return " or ".join(filter(None, [" ".join(filter(None, [ascii_, *others])), *end])) or "nothing"


def _show_run(low: int, high: int) -> str:
    return show_byte(low) if low == high else f"{show_byte(low)}–{show_byte(high)}"


# Letters and digits first: a completion is for reading.
_READABLE_FIRST: Final = sorted(range(256), key=lambda byte: (not chr(byte).isalnum() or byte > 0x7F, byte))


def shortest_completion(constraint: Constraint, state: State) -> bytes:
    """A shortest byte string from `state` to an accepting state; `b""` where it accepts already.

    Where the vocabulary has no token for one of its bytes, the shortest in tokens that it can write.
    """
    completion = _search(constraint, state, _next_bytes)
    single = {data for data in constraint.vocabulary.token_bytes if len(data) == 1}
    if completion is not None and {bytes([byte]) for byte in completion} <= single:
        return completion
    written = _search(constraint, state, _next_tokens)
    return written if written is not None else completion or b""


_Moves: TypeAlias = Iterator[tuple[bytes, State]]


def _search(
    constraint: Constraint, state: State, moves: Callable[[Constraint, State], _Moves]
) -> bytes | None:
    """Breadth-first to an accepting state; None where no move leads to one."""
    came_from: dict[State, tuple[State, bytes]] = {}
    frontier = [state]
    for current in frontier:  # grows while it is read
        if constraint.automaton.is_accepting(current):
            return _trace_back(came_from, state, current)
        for text, target in moves(constraint, current):
            if target not in came_from and target != state:
                came_from[target] = (current, text)
                frontier.append(target)
    return None


def _next_bytes(constraint: Constraint, state: State) -> _Moves:
    live = set(constraint.automaton.live_bytes(state))
    for byte in _READABLE_FIRST:
        if byte in live:
            yield bytes([byte]), constraint.automaton.step(state, byte)


def _next_tokens(constraint: Constraint, state: State) -> _Moves:
    ids = np.flatnonzero(constraint.index.allowed(state)).tolist()
    for token_id in sorted(ids, key=lambda i: len(constraint.vocabulary.token_bytes[i])):
        yield constraint.vocabulary.token_bytes[token_id], constraint.index.after(state, token_id)


def _trace_back(came_from: dict[State, tuple[State, bytes]], start: State, end: State) -> bytes:
    pieces = []
    while end != start:
        end, piece = came_from[end]
        pieces.append(piece)
    return b"".join(reversed(pieces))
