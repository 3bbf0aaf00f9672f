"""The members of a language whose lengths are counted: a shortest one, how many, all of a finite one.

A text is built only where its state and its number of characters are live, so nothing is built in vain, and
the number of texts that are open is a lower bound for the number of members. Left out: random members.
Cost: O(Q K) a character; O(members) where they are listed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from minidecoder.automaton import DEAD
from minidecoder.errors import UnsatisfiableConstraintError
from minidecoder.regex.dfa import DFA
from minidecoder.regex.limits import Limits
from minidecoder.regex.members import readability, representative
from minidecoder.schema.lengths import Lengths, contains

__all__ = ["all_members", "count", "shortest"]


def shortest(dfa: DFA, ends: Sequence[Lengths], live: Sequence[Lengths], limits: Limits) -> str:
    """A shortest member, in characters that people can read."""
    if not contains(live[dfa.start], 0):
        raise UnsatisfiableConstraintError("the language is empty: no string at all belongs to it")
    chars = [representative(ranges) for ranges in dfa.classes]
    order = sorted(range(len(chars)), key=lambda k: readability(chars[k]))
    rows = dfa.table.tolist()
    came: list[dict[int, tuple[int, str]]] = [
        {int(dfa.start): (DEAD, "")}
    ]  # of each length: state → from where
    while not any(contains(ends[state], len(came) - 1) for state in came[-1]):
        length, layer = len(came), {}
        for source in came[-1]:
            for k in order:
                target = rows[source][k]
                if target not in layer and contains(live[target], length):
                    layer[target] = (source, chars[k])
        came.append(layer)
        limits.check_states(length)
        limits.check_time()
    return _spelled(came, next(state for state in came[-1] if contains(ends[state], len(came) - 1)))


def _spelled(came: Sequence[dict[int, tuple[int, str]]], state: int) -> str:
    text = []
    for layer in reversed(came):
        state, char = layer[state]
        text.append(char)
    return "".join(reversed(text))


def count(dfa: DFA, ends: Sequence[Lengths], live: Sequence[Lengths], most: int, limits: Limits) -> int:
    """How many members there are, counted up to `most`."""
    sizes = [sum(high - low + 1 for low, high in ranges) for ranges in dfa.classes]
    rows, found, length = dfa.table.tolist(), 0, 0
    ways = {int(dfa.start): 1} if contains(live[dfa.start], 0) else {}
    while ways and found < most:
        found += sum(number for state, number in ways.items() if contains(ends[state], length))
        length += 1
        after: dict[int, int] = defaultdict(int)
        for state, number in ways.items():
            for k, target in enumerate(rows[state]):
                if target != DEAD:
                    after[target] += number * sizes[k]
        ways = {state: number for state, number in after.items() if contains(live[state], length)}
        if found + sum(ways.values()) >= most:  # each of these texts begins at least one member
            return most
        limits.check_time()
    return min(found, most)


def all_members(dfa: DFA, ends: Sequence[Lengths], live: Sequence[Lengths]) -> list[str]:
    """Every member of a finite language, shorter ones first, equally long ones by code point."""
    rows = dfa.table.tolist()
    letters = sorted((low, high, k) for k, ranges in enumerate(dfa.classes) for low, high in ranges)
    found: list[str] = []
    open_texts = [("", int(dfa.start))] if contains(live[dfa.start], 0) else []

    def longer(text: str, state: int, length: int) -> Iterator[tuple[str, int]]:
        for low, high, k in letters:
            target = rows[state][k]
            if target != DEAD and contains(live[target], length):
                yield from ((text + chr(code), target) for code in range(low, high + 1))

    length = 0
    while open_texts:
        found += [text for text, state in open_texts if contains(ends[state], length)]
        length += 1
        open_texts = [pair for text, state in open_texts for pair in longer(text, state, length)]
    return found
