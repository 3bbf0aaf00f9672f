"""How many tokens it takes at most to finish, for a machine without a table of states.

From a state, a breadth-first search over bytes looks for one way to the end: an accepting state, or a
state from which a way is known already. The way found is cut into as few tokens as it can be, and their
number is the bound: the way itself is the proof. Every state that the way passes gets its own share of
it, so that a run which has n tokens left always has one to draw that leaves the next state n - 1.

Left out: the shortest way, which may lie beyond what was searched. Cost: at most `MOST_STATES` states a
search, one search for each state asked about; on a way once found, a look-up.
"""

from __future__ import annotations

from collections.abc import Set
from threading import Lock
from typing import Final

from minidecoder.automaton import DEAD, Automaton, State
from minidecoder.decoding.distances import NEVER
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["MOST_STATES", "Witnesses"]

MOST_STATES: Final = 10_000
"""States that one search may look at before it gives up and says `NEVER`."""

_MOST_KEPT: Final = 100_000
_ROUNDABOUT: Final = frozenset((*b" \t\n\r\\", *range(0x80, 0x100)))


class Witnesses:
    """Ways to the end of `automaton` in tokens of `vocabulary`, those `banned` left out."""

    def __init__(self, automaton: Automaton, vocabulary: Vocabulary, banned: Set[int]) -> None:
        self._automaton = automaton
        self._may_end = not set(vocabulary.eos_ids) <= banned
        self._tokens = {data for i, data in enumerate(vocabulary.token_bytes) if data and i not in banned}
        self._longest = vocabulary.trie.depth
        self._needed: dict[State, int] = {DEAD: NEVER}
        self._lock = Lock()
        self._held: list[object] = []  # a state that nobody holds may be forgotten, its number given away

    def needed(self, state: State) -> int:
        """Tokens from `state` to the end, EOS counted; `NEVER` where no way was found."""
        with self._lock:
            if state not in self._needed:
                if len(self._needed) > _MOST_KEPT:
                    self._needed, self._held = {DEAD: NEVER}, []
                self._keep(state, NEVER)
                # White space, escapes and long characters multiply the states and shorten no text: ways
                # without them are tried first.
                if not self._search(state, _ROUNDABOUT):
                    self._search(state, frozenset())
            return self._needed[state]

    def _keep(self, state: State, needed: int) -> None:
        if state not in self._needed:
            self._held.append(self._automaton.hold(state))
        self._needed[state] = min(needed, self._needed.get(state, NEVER))

    def _search(self, start: State, avoided: Set[int]) -> bool:
        """Breadth-first over bytes to an end or a known state; keep what the first way found that tokens
        can spell says about all states on it. `avoided` bytes are read only where there is no other."""
        machine = self._automaton
        came_from: dict[State, tuple[State, int]] = {}
        frontier, held = [start], [machine.hold(start)]
        for state in frontier:  # grows while it is read
            if self._is_goal(state) and self._keep_way(start, _way(came_from, start, state)):
                return True
            for byte in self._bytes_to_read(state, avoided) if len(frontier) < MOST_STATES else []:
                target = machine.step(state, byte)
                if target != start and target not in came_from and target != DEAD:
                    came_from[target] = (state, byte)
                    frontier.append(target)
                    held.append(machine.hold(target))
        return False

    def _bytes_to_read(self, state: State, avoided: Set[int]) -> list[int]:
        live = self._automaton.live_bytes(state)
        wanted = [byte for byte in live if byte not in avoided] or live
        # subtle: of the bytes that lead to one state only the first is tried, so those that are tokens lead.
        return sorted(wanted, key=lambda byte: bytes([byte]) not in self._tokens)

    def _is_goal(self, state: State) -> bool:
        accepts = self._may_end and self._automaton.is_accepting(state)
        return accepts or self._needed.get(state, NEVER) < NEVER

    def _keep_way(self, start: State, way: list[tuple[int, State]]) -> bool:
        """Count the tokens of a way, backwards; False where none spell it. `way`: bytes and states."""
        data = bytes(byte for byte, _ in way)
        states = [start, *(state for _, state in way)]
        last = self._needed.get(states[-1], NEVER)
        if self._may_end and self._automaton.is_accepting(states[-1]):
            last = 1
        left = [NEVER] * len(data) + [last]  # left[i]: tokens from the state before byte i
        for at in reversed(range(len(data))):
            ends = range(at + 1, min(at + self._longest, len(data)) + 1)
            left[at] = min((left[end] + 1 for end in ends if data[at:end] in self._tokens), default=NEVER)
            left[at] = min(left[at], NEVER)
        if left[0] < NEVER:
            for state, needed in zip(states, left, strict=True):
                self._keep(state, needed)
        return left[0] < NEVER


def _way(came_from: dict[State, tuple[State, int]], start: State, end: State) -> list[tuple[int, State]]:
    """The bytes from `start` to `end`, each with the state after it."""
    way = []
    while end != start:
        before, byte = came_from[end]
        way.append((byte, end))
        end = before
    return way[::-1]
