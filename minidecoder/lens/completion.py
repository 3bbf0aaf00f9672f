"""How a text that cannot end yet could end: bytes from a state to the next accepting one.

A machine with a table is searched once, backwards from its accepting states; then each answer is a descent,
and as short as can be. A machine that makes its states on the way is searched forwards, the states with
the fewest open brackets first: a way, not always the shortest, and none where it lies beyond `MOST_STATES`.

Left out: how many tokens that takes (`decoding.budget`). Cost: O(Q K) once a table and O(256) a byte; else at
most `MOST_STATES` states, with some 40 bytes tried in each.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from minidecoder.automaton import DEAD, Automaton, State
from minidecoder.decoding.budget import NEVER, Budget, make_budget, token_targets
from minidecoder.decoding.constraint import Constraint
from minidecoder.regex.utf8 import ByteDFA
from minidecoder.tokens.trie import spans

__all__ = ["MOST_STATES", "shortest_completion"]

MOST_STATES: Final = 1_000

# Letters and digits first: a completion is for reading.
_READABLE_FIRST: Final = sorted(range(256), key=lambda byte: (not chr(byte).isalnum() or byte > 0x7F, byte))
_FEW: Final = 16  # live bytes that are all tried; of more, one digit, a letter of each case, and the signs
_ALIKE: Final = (range(0x30, 0x3A), range(0x41, 0x5B), range(0x61, 0x7B), range(0x80, 0x100), range(0x20))

_distances: Final[WeakKeyDictionary[ByteDFA, NDArray[np.int64]]] = WeakKeyDictionary()


def shortest_completion(constraint: Constraint, state: State) -> bytes:
    """A byte string from `state` to an accepting state; `b""` where it accepts already, or none was found.

    With a table it is a shortest one, if single-byte tokens spell it; else of the fewest tokens. Without a
    table it is the first that was found.
    """
    machine = constraint.automaton
    if machine.is_accepting(state):
        return b""
    if not isinstance(machine, ByteDFA):
        return _first_found(machine, state)
    completion = _descend(machine, state)
    single = {data for data in constraint.vocabulary.token_bytes if len(data) == 1}
    if completion is not None and {bytes([byte]) for byte in completion} <= single:
        return completion
    return _in_tokens(constraint, make_budget(constraint), state) or completion or b""


def _descend(machine: ByteDFA, state: State) -> bytes | None:
    """Byte by byte, always to a state that is one nearer to an end; None where there is no end."""
    if machine not in _distances:
        _distances[machine] = _distance_to_end(machine)
    distance, written = _distances[machine], bytearray()
    if distance[state] == NEVER:
        return None
    while distance[state] > 0:
        nearer = distance[machine.table[state, machine.byte_class]] < distance[state]  # bool (256,)
        byte = next(byte for byte in _READABLE_FIRST if nearer[byte])
        written.append(byte)
        state = machine.step(state, byte)
    return bytes(written)


def _distance_to_end(machine: ByteDFA) -> NDArray[np.int64]:
    """int64 (Q+1,): the fewest bytes from each state to an accepting one, `NEVER` where none leads there."""
    sources, columns = np.nonzero(machine.table)  # the live moves
    targets = machine.table[sources, columns]
    order = np.argsort(targets, kind="stable")
    sources, first = sources[order], np.searchsorted(targets[order], np.arange(len(machine.table) + 1))
    distance = np.full(len(machine.table), NEVER, dtype=np.int64)
    reached, steps = np.flatnonzero(machine.accepting), 0
    while len(reached):
        distance[reached] = steps
        before = np.unique(sources[spans(first[reached], first[reached + 1])])
        reached, steps = before[distance[before] == NEVER], steps + 1
    return distance


def _in_tokens(constraint: Constraint, budget: Budget, state: State) -> bytes:
    """The same in tokens, where the vocabulary lacks single bytes: each leaves fewer to go."""
    written, left = b"", budget.needed(state)
    while not constraint.automaton.is_accepting(state) and left < NEVER:
        targets = token_targets(constraint, state, [])  # (V,)
        needed = {
            int(target): budget.needed(State(int(target))) for target in np.unique(targets[targets > DEAD])
        }
        left = min(needed.values(), default=NEVER)
        best = [i for i in np.flatnonzero(targets).tolist() if needed[int(targets[i])] == left]
        token_id = min(best, key=lambda i: (len(constraint.vocabulary.token_bytes[i]), i))
        written += constraint.vocabulary.token_bytes[token_id]
        state = State(int(targets[token_id]))
    return written


def _first_found(machine: Automaton, start: State) -> bytes:
    """Best first: few open brackets before few bytes. What `hold` gives may have a `depth`; without one, the
    search is by bytes alone."""
    order = count()  # of equals, the one found first
    seen: dict[State, object] = {start: machine.hold(start)}  # held, or a number might be given away
    pending = [(_depth(seen[start]), next(order), b"", start)]
    while pending and len(seen) < MOST_STATES:
        _, _, written, state = heappop(pending)
        for byte in _worth_trying(machine, state):
            target = machine.step(state, byte)
            if target == DEAD or target in seen:
                continue
            seen[target] = machine.hold(target)
            if machine.is_accepting(target):
                return written + bytes([byte])
            further = written + bytes([byte])
            heappush(pending, (len(further) + 4 * _depth(seen[target]), next(order), further, target))
    return b""


def _depth(held: object) -> int:
    """How deep a state is nested, as far as what holds it says so."""
    depth = getattr(held, "depth", 0)
    return depth if isinstance(depth, int) else 0


def _worth_trying(machine: Automaton, state: State) -> Iterator[int]:
    """The live bytes, signs first, as they close; of many letters or digits, which mostly lead to the same
    place, the first alone."""
    live = machine.live_bytes(state)
    alike: set[range] = set()
    for byte in sorted(live, key=lambda byte: (chr(byte).isalnum() or byte > 0x7F or byte <= 0x20, byte)):
        kin = next((kin for kin in _ALIKE if byte in kin), None)
        if len(live) > _FEW and kin is not None:
            if kin in alike:
                continue
            alike.add(kin)
        yield byte
