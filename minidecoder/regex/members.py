r"""The texts that an automaton accepts: the shortest, all in order, how many, and random ones.

>>> from minidecoder.regex.compiler import compile_dfa
>>> price = compile_dfa(r"[0-9]+\.[0-9]{2}")
>>> shortest(price), count_members(price, 4), list(members(price, 3))
('0.00', 1000, ['0.00', '0.01', '0.02'])

A text is built only along states from which it can still be finished, so nothing is built in vain.
Left out: bytes and tokens; surrogates, which belong to no class and are never drawn.
Cost: O(K Q) once per machine (kept for the last 16), then O(K) for each character that is written.
"""

from __future__ import annotations

import random as random_numbers
import string
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, islice
from typing import Final, TypeAlias

from minidecoder.automaton import DEAD
from minidecoder.errors import UnsatisfiableConstraintError, UsageError
from minidecoder.regex.charset import Ranges, contains
from minidecoder.regex.dfa import DFA

__all__ = ["count_members", "members", "random_member", "readability", "representative", "shortest"]

_Letters: TypeAlias = list[tuple[int, int, int]]  # (first code point, last, class)

_TIERS: Final = ("".join(sorted(string.ascii_letters + string.digits)), string.punctuation, " ")
_SCANNED = 256  # code points of a range that are looked at for one that can be printed
_UTF8_LENGTHS: Final = ((0, 0x7F), (0x80, 0x7FF), (0x800, 0xFFFF), (0x10000, 0x10FFFF))


# -- one character to stand for a class -----------------------------------------------------------


def representative(ranges: Ranges) -> str:
    """A character of a non-empty set that people can read: 0–9 A–Z a–z, then signs, space, other scripts."""
    for char in "".join(_TIERS):
        if contains(ranges, ord(char)):
            return char
    near = (chr(code) for low, high in ranges for code in range(low, min(high, low + _SCANNED) + 1))
    return next((char for char in near if char.isprintable()), chr(ranges[0][0]))


def readability(char: str) -> tuple[int, str]:
    """A sort key: the order in which `representative` prefers characters."""
    tier = next((n for n, chars in enumerate(_TIERS) if char in chars), len(_TIERS))
    return tier + (tier == len(_TIERS) and not char.isprintable()), char


# -- what every question below needs to know about a machine ----------------------------------------


@dataclass(frozen=True)
class _Survey:
    """`distance[q]`: fewest characters from q to an accepting state, -1 where there is none;
    `before[q]`: states with an edge into q; `moves[q]`: (class, target) that can still be finished."""

    distance: list[int]
    before: list[set[int]]
    moves: list[list[tuple[int, int]]]


@lru_cache(maxsize=16)
def _survey(dfa: DFA) -> _Survey:
    rows = dfa.table.tolist()
    before: list[set[int]] = [set() for _ in rows]
    for source, row in enumerate(rows):
        for target in set(row):
            before[target].add(source)
    distance = _distances(before, dfa.accepting.tolist())
    moves = [[(k, target) for k, target in enumerate(row) if distance[target] >= 0] for row in rows]
    return _Survey(distance, before, moves)


def _distances(before: Sequence[set[int]], accepting: Sequence[bool]) -> list[int]:
    """Breadth-first against the edges, from all accepting states at once."""
    pending = deque(state for state, flag in enumerate(accepting) if flag)
    distance = [0 if flag else -1 for flag in accepting]
    while pending:
        target = pending.popleft()
        for source in before[target]:
            if distance[source] < 0:
                distance[source] = distance[target] + 1
                pending.append(source)
    return distance


def _survey_of_language(dfa: DFA) -> _Survey:
    survey = _survey(dfa)
    if survey.distance[dfa.start] < 0:
        raise UnsatisfiableConstraintError("the language is empty: no text at all matches")
    return survey


# -- the questions ------------------------------------------------------------------------------------


def shortest(dfa: DFA) -> str:
    """A shortest member; of several, the first in the order of `readability`.

    Raises `UnsatisfiableConstraintError` for the empty language. O(K) per character.
    """
    survey, state = _survey_of_language(dfa), int(dfa.start)
    text: list[str] = []
    chars = [representative(ranges) for ranges in dfa.classes]
    while survey.distance[state]:
        nearer = _nearer(survey, state)
        k, state = min(nearer, key=lambda move: readability(chars[move[0]]))
        text.append(chars[k])
    return "".join(text)


def _nearer(survey: _Survey, state: int) -> list[tuple[int, int]]:
    """The moves that bring the nearest end one character closer."""
    return [move for move in survey.moves[state] if survey.distance[move[1]] < survey.distance[state]]


def members(dfa: DFA, limit: int | None = None, *, one_per_class: bool = False) -> Iterator[str]:
    """The members, shorter ones first, equally long ones by code point; `limit` of them at most.

    Every character of a class is spelled out: `[0-9]` gives ten texts. With `one_per_class` a class
    is its `representative` alone, which shows the shapes of a language: 0.00, 00.00, 000.00, …
    Ends where the language is finite; O(length) sets of states are kept while it runs.
    """
    if limit is not None and limit < 0:
        raise UsageError(f"limit={limit} is out of range: it must be 0 or more, or None for all")
    return islice(_all_members(dfa, _letters(dfa, one_per_class)), limit)


def _letters(dfa: DFA, one_per_class: bool) -> _Letters:
    if not one_per_class:
        return sorted((low, high, k) for k, ranges in enumerate(dfa.classes) for low, high in ranges)
    codes = [ord(representative(ranges)) for ranges in dfa.classes]
    return sorted((code, code, k) for k, code in enumerate(codes))


def _all_members(dfa: DFA, letters: _Letters) -> Iterator[str]:
    survey, rows = _survey(dfa), dfa.table.tolist()
    accepting = {state for state, steps in enumerate(survey.distance) if steps == 0}
    ends = [accepting]  # ends[n]: the states from which exactly n more characters can finish
    reached = {int(dfa.start)} if survey.distance[dfa.start] >= 0 else set()
    for length in count():
        if reached & accepting:
            yield from _members_of_length(rows, letters, ends, int(dfa.start), length)
        reached = {target for state in reached for _, target in survey.moves[state]}
        if not reached:
            return
        ends.append(set().union(*(survey.before[state] for state in ends[-1])))


def _members_of_length(
    rows: Sequence[Sequence[int]], letters: _Letters, ends: Sequence[set[int]], start: int, length: int
) -> Iterator[str]:
    """Depth-first, without recursion: one iterator of moves for each character that is open."""

    def moves(state: int, rest: int) -> Iterator[tuple[str, int]]:
        for low, high, k in letters:
            if rows[state][k] in ends[rest]:
                yield from ((chr(code), rows[state][k]) for code in range(low, high + 1))

    if length == 0:
        yield ""
        return
    open_moves, text = [moves(start, length - 1)], [""]
    while open_moves:
        char, target = next(open_moves[-1], ("", DEAD))
        if target == DEAD:
            open_moves.pop()
            text.pop()
        elif len(open_moves) == length:
            yield "".join(text) + char
        else:
            open_moves.append(moves(target, length - len(open_moves) - 1))
            text.append(char)


def count_members(dfa: DFA, length: int) -> int:
    """How many members have exactly `length` characters: an exact integer of any size.

    O(length · Q · K) additions. A negative length raises `UsageError`.
    """
    if length < 0:
        raise UsageError(f"length={length} is out of range: it must be 0 or more")
    sizes = [sum(high - low + 1 for low, high in ranges) for ranges in dfa.classes]
    moves, ways = _survey(dfa).moves, {int(dfa.start): 1}
    for _ in range(length):
        after: dict[int, int] = {}
        for state, number in ways.items():
            for k, target in moves[state]:
                after[target] = after.get(target, 0) + number * sizes[k]
        ways = after
    return sum(number for state, number in ways.items() if dfa.accepting[state])


def random_member(dfa: DFA, random: random_numbers.Random, *, mean_length: float = 10.0) -> str:
    """A random member; every member can come.

    Walks for a random number of characters (`mean_length` on average), each of a random class that can
    still be finished, then takes a shortest way to an end. Within a class all lengths of UTF-8 are
    drawn, not only the rare characters that are the most. Raises `UnsatisfiableConstraintError` for
    the empty language, `UsageError` where `mean_length` is not positive.
    """
    if not mean_length > 0:
        raise UsageError(f"mean_length={mean_length} is out of range: it must be positive")
    survey, state = _survey_of_language(dfa), int(dfa.start)
    text: list[str] = []
    wanted = int(random.expovariate(1 / mean_length))
    while moves := survey.moves[state] if len(text) < wanted else _nearer(survey, state):
        k, state = random.choice(moves)
        text.append(_random_char(dfa.classes[k], random))
    return "".join(text)


def _random_char(ranges: Ranges, random: random_numbers.Random) -> str:
    pieces = [
        (max(low, first), min(high, last))
        for low, high in ranges
        for first, last in _UTF8_LENGTHS
        if low <= last and high >= first
    ]
    return chr(random.randint(*random.choice(pieces)))
