"""How a text that cannot end yet could end: bytes from a state to the next accepting one.

A machine with a table is searched once, backwards from its accepting states; then each answer is a descent,
and as short as can be. A machine that makes its states on the way is searched forwards, the states with
the fewest open brackets first: a way, not always the shortest, and none where it lies beyond `MOST_STATES`.

Left out: how many tokens that takes (`decoding.budget`). Cost: O(Q K) once a table and O(256) a byte; else at
most twice `MOST_STATES` states, with some 90 bytes tried in each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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

_ROUNDABOUT: Final = frozenset((*b" \t\n\r\\", *range(0x80, 0x100)))
_BRACKET: Final = (
    16  # bytes that an open bracket is worth: free values inside each other are as many as one lets
)

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
    """Of many letters one is tried first; where that finds nothing, every byte, as a name that must follow
    may begin with any letter."""
    return _search(machine, start, _one_of_a_kind) or _search(machine, start, _direct)


def _search(machine: Automaton, start: State, choose: Callable[[list[int]], Iterable[int]]) -> bytes:
    """Best first: few open brackets before few bytes. What `hold` gives may have a `depth`; without one, the
    search is by bytes alone. `choose`: of the live bytes, those to try, in their order."""
    order = count()  # of equals, the one found first
    seen: dict[State, object] = {start: machine.hold(start)}  # held, or a number might be given away
    pending = [(_depth(seen[start]), next(order), b"", start)]
    while pending and len(seen) < MOST_STATES:
        _, _, written, state = heappop(pending)
        for byte in choose(sorted(machine.live_bytes(state), key=_signs_first)):
            target = machine.step(state, byte)
            if target == DEAD or target in seen:
                continue
            seen[target] = machine.hold(target)
            if machine.is_accepting(target):
                return written + bytes([byte])
            further = written + bytes([byte])
            heappush(pending, (len(further) + _BRACKET * _depth(seen[target]), next(order), further, target))
    return b""


def _depth(held: object) -> int:
    """How deep a state is nested, as far as what holds it says so."""
    depth = getattr(held, "depth", 0)
    return depth if isinstance(depth, int) else 0


def _signs_first(byte: int) -> tuple[bool, int]:
    """Signs close; of the bytes that lead to one place, the search takes the first."""
    return chr(byte).isalnum() or byte > 0x7F or byte <= 0x20, byte


def _direct(live: list[int]) -> list[int]:
    """Without white space, escapes and long characters, which multiply the states and shorten no text."""
    return [byte for byte in live if byte not in _ROUNDABOUT] or live


def _one_of_a_kind(live: list[int]) -> Iterator[int]:
    """Of many letters or digits, which mostly lead to the same place, the first alone."""
    alike: set[range] = set()
    for byte in live:
        kin = next((kin for kin in _ALIKE if byte in kin), None)
        if len(live) > _FEW and kin is not None:
            if kin in alike:
                continue
            alike.add(kin)
        yield byte
