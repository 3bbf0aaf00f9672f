r"""Subset construction for patterns that look around: `^ $ \A \Z \b \B`.

An assertion holds or not by the character before a place and the one after it. The one before is
kept in the state (a few bits: start, newline, word); the one after is known when it is read, and
only then are the assertions crossed. So one character of context decides them all, exactly.

The odd one is `$`, which also holds before a newline that ends the text: whoever crosses it there
may read that newline and then nothing more. Cost: as for subsets, times the contexts that occur.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from typing import Final, TypeAlias

from minidecoder.regex.charset import Ranges, category, contains, single
from minidecoder.regex.nfa import NFA
from minidecoder.regex.tree import Place

__all__ = ["ContextSubsets", "context_sets"]

_START, _END, _NEWLINE, _WORD, _ASCII_WORD = 1, 2, 4, 8, 16
_EDGES: Final = {
    Place.WORD_EDGE: (_WORD, True),
    Place.NO_WORD_EDGE: (_WORD, False),
    Place.ASCII_WORD_EDGE: (_ASCII_WORD, True),
    Place.NO_ASCII_WORD_EDGE: (_ASCII_WORD, False),
    Place.NO_ECMA_WORD_EDGE: (_ASCII_WORD, False),
}
# Which bits of the character before a place matter to each assertion.
_BEFORE: Final = {
    Place.TEXT_START: _START,
    Place.LINE_START: _START | _NEWLINE,
    Place.WORD_EDGE: _WORD,
    Place.NO_WORD_EDGE: _WORD | _START,
    Place.ASCII_WORD_EDGE: _ASCII_WORD,
    Place.NO_ASCII_WORD_EDGE: _ASCII_WORD | _START,
    Place.NO_ECMA_WORD_EDGE: _ASCII_WORD,
}
# subtle: until Python 3.13, \B does not hold in an empty text; since 3.14 it does.
_EMPTY_TEXT_HAS_NO_EDGES: Final = sys.version_info >= (3, 14)

_Thread: TypeAlias = tuple[int, bool]  # (NFA state, whether the text must end here)
_Subset: TypeAlias = tuple[frozenset[_Thread], int]  # (threads, bits of the character before)


def context_sets(nfa: NFA) -> list[Ranges]:
    """The sets that the assertions of `nfa` tell apart; no class of characters may straddle one."""
    places = {place for edges in nfa.assertions.values() for place, _ in edges}
    sets = []
    if places & {Place.LINE_START, Place.LINE_END, Place.LAST_LINE_END}:
        sets.append(single("\n"))
    if places & {Place.WORD_EDGE, Place.NO_WORD_EDGE}:
        sets += [category("w"), category("W")]
    if places & {Place.ASCII_WORD_EDGE, Place.NO_ASCII_WORD_EDGE, Place.NO_ECMA_WORD_EDGE}:
        sets += [category("w", ascii_only=True), category("W", ascii_only=True)]
    return sets


class ContextSubsets:
    """Moves between sets of NFA states together with the context to their left."""

    def __init__(self, nfa: NFA, members: dict[Ranges, tuple[int, ...]], classes: tuple[Ranges, ...]) -> None:
        self.nfa = nfa
        self.members = members
        places = {place for edges in nfa.assertions.values() for place, _ in edges}
        has_words = not places.isdisjoint(_EDGES)
        self.bits = [_bits_of(ranges[0][0], has_words) for ranges in classes]
        self.relevant = 0
        for place in places:
            self.relevant |= _BEFORE.get(place, 0)
        self.start: _Subset = (frozenset({(nfa.start, False)}), _START & self.relevant)

    def successors(self, subset: _Subset) -> dict[int, _Subset]:
        """class → the subset it leads to; classes that lead nowhere are absent."""
        moves: dict[int, set[_Thread]] = defaultdict(set)
        for bits in set(self.bits):
            for state, must_end in self._crossed(subset, bits):
                for ranges, target in self.nfa.edges[state]:
                    for k in self.members[ranges]:
                        if self.bits[k] == bits:
                            moves[k].add((target, must_end))
        return {k: (frozenset(threads), self.bits[k] & self.relevant) for k, threads in moves.items()}

    def accepts(self, subset: _Subset) -> bool:
        """Whether the text may end here."""
        return any(state == self.nfa.accept for state, _ in self._crossed(subset, _END))

    def _crossed(self, subset: _Subset, after: int) -> Iterable[_Thread]:
        """All threads after the free moves and the assertions that hold before a character like this."""
        threads, before = subset
        # A thread that must end stays only at the end; the flag is set anew by a `$` crossed just now.
        pending = [(state, False) for state, must_end in threads if not must_end or after == _END]
        seen = set(pending)
        while pending:
            state, must_end = pending.pop()
            reached = [(target, must_end) for target in self.nfa.epsilon[state]]
            for place, target in self.nfa.assertions.get(state, ()):
                if _holds(place, before, after):
                    ends = place is Place.LAST_LINE_END and after != _END
                    reached.append((target, must_end or ends))
            for thread in reached:
                if thread not in seen:
                    seen.add(thread)
                    pending.append(thread)
        return seen


def _bits_of(code_point: int, has_words: bool) -> int:
    bits = _NEWLINE if code_point == 10 else 0
    if has_words:  # the table of word characters takes a moment to make
        bits |= _WORD if contains(category("w"), code_point) else 0
        bits |= _ASCII_WORD if contains(category("w", ascii_only=True), code_point) else 0
    return bits


def _holds(place: Place, before: int, after: int) -> bool:
    match place:
        case Place.TEXT_START:
            return bool(before & _START)
        case Place.LINE_START:
            return bool(before & (_START | _NEWLINE))
        case Place.TEXT_END:
            return after == _END
        case Place.LINE_END | Place.LAST_LINE_END:
            return after == _END or bool(after & _NEWLINE)
        case _:
            kind, wants_edge = _EDGES[place]
            quirk = place in (Place.NO_WORD_EDGE, Place.NO_ASCII_WORD_EDGE)
            if quirk and before & _START and after == _END:
                return _EMPTY_TEXT_HAS_NO_EDGES
            return (bool(before & kind) != bool(after & kind)) == wants_edge
