r"""A formula over string atoms to the language of its strings: what they say, not how JSON writes them.

Patterns and formats are automata over code points, sets of strings are automata or, as long as nothing but
sets meets sets and tests, lists; lengths are counted beside the automaton and never unrolled
(`string_languages`), so that a maxLength of 10,000 costs what one of 10 does, beside a pattern too.
Every and/or/not of these is exact.

Strings are sequences of Unicode scalar values: one with a lone surrogate, which Python can hold, is never
accepted. Left out: quotes and escapes (`escapes`), bytes (`string_machine`).
Cost: that of the products of the patterns, bounded by `Limits`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from minidecoder.automaton import State
from minidecoder.errors import UsageError
from minidecoder.regex.compiler import compile_dfa
from minidecoder.regex.dfa import DFA
from minidecoder.regex.limits import Limits
from minidecoder.schema import string_languages, string_members
from minidecoder.schema.atoms import Format, Length, Pattern, StringIn
from minidecoder.schema.formats import format_dfa, format_lengths
from minidecoder.schema.formula import Formula, Literal, Truth, fold
from minidecoder.schema.leaf_cache import LeafCache
from minidecoder.schema.lengths import ALL, NONE, Lengths, contains, make_lengths
from minidecoder.schema.string_languages import Language, of_dfa, of_lengths
from minidecoder.schema.string_liveness import live_counts
from minidecoder.schema.word_dfa import word_dfa

__all__ = ["StringLanguage", "how_many", "string_language"]

_Words: TypeAlias = frozenset[str]


@dataclass(frozen=True, eq=False)
class StringLanguage:
    """The strings that satisfy a formula.

    `dfa`: over code points; `ends[q]`: the lengths at which a string may end in state q; `live[q]`: the
    numbers of characters with which state q can still be left well; `counts`: whether lengths matter.
    """

    dfa: DFA
    ends: tuple[Lengths, ...]
    live: tuple[Lengths, ...]
    counts: bool
    max_states: int

    @property
    def is_empty(self) -> bool:
        """Whether no string belongs to it."""
        return not self.is_live(self.dfa.start, 0)

    def may_end(self, state: State, length: int) -> bool:
        """Whether a string of `length` characters that led to `state` belongs to it."""
        return contains(self.ends[state], length)

    def is_live(self, state: State, length: int) -> bool:
        """Whether such a string can be continued, or ended, to belong to it. Exact."""
        return contains(self.live[state], length)

    def accepts(self, text: str) -> bool:
        """Whether the whole of `text` belongs to it."""
        state = self.dfa.walk(text)[-1] if text else self.dfa.start
        return self.may_end(state, len(text))

    def shortest(self) -> str:
        """A shortest member; `UnsatisfiableConstraintError` where there is none."""
        return string_members.shortest(self.dfa, self.ends, self.live, Limits(self.max_states))

    def count(self, most: int) -> int:
        """How many members there are, counted up to `most`."""
        return string_members.count(self.dfa, self.ends, self.live, most, Limits(self.max_states))

    def finite_members(self, most: int) -> list[str] | None:
        """All members, shorter ones first, equally long ones by code point; None for more than `most`."""
        if most < 0:
            raise UsageError(f"most={most} is out of range: it must be 0 or more")
        if self.count(most + 1) > most:
            return None
        return string_members.all_members(self.dfa, self.ends, self.live)


_MADE: Final = LeafCache[StringLanguage]()


def string_language(formula: Formula, limits: Limits | None = None) -> StringLanguage:
    """The strings that satisfy a formula over string atoms. Kept by the formula's structure.

    Raises `ConstraintTooLargeError` past a limit, `RegexSyntaxError` and `UnsupportedFeatureError` for
    a pattern, `UsageError` for a format that `formats` does not know.
    """
    return _MADE.get(formula, lambda: _build(formula, limits or Limits()))


def how_many(formula: Formula, most: int) -> int:
    """How many strings satisfy a formula, counted up to `most`. Of listed strings, whatever their length."""
    if isinstance(formula, Literal) and formula.positive and isinstance(formula.atom, StringIn):
        return min(most, len(formula.atom.values))
    members = string_language(formula).finite_members(most)
    return most if members is None else len(members)


def _build(formula: Formula, limits: Limits) -> StringLanguage:
    builder = _Builder(limits)
    found = fold(formula, builder.leaf, builder.both, builder.either)
    language = builder.automaton(found)
    live = live_counts(language.dfa.table, language.ends, limits)
    return StringLanguage(language.dfa, language.ends, live, language.counts, limits.max_states)


class _Builder:
    """The value of a part of a formula: a set of words as long as it can stay one, else an automaton."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits

    def leaf(self, part: Truth | Literal) -> Language | _Words:
        if isinstance(part, Truth):
            return of_lengths(ALL if part.value else NONE)
        found = self._atom(part)
        return found if part.positive else string_languages.complement(self.automaton(found))

    def _atom(self, part: Literal) -> Language | _Words:
        match part.atom:
            case StringIn(values):
                return values
            case Length(low, high):
                return of_lengths(make_lengths([(low, high)]))
            case Pattern(regex):
                return of_dfa(compile_dfa(regex, dialect="ecma", match="search", limits=self.limits))
            case Format(name):
                parts = [of_dfa(format_dfa(name)), of_lengths(format_lengths(name))]
                return string_languages.intersect(parts, self.limits)
        raise UsageError(f"{part.atom!r} is no atom of a string")

    def both(self, parts: list[Language | _Words]) -> Language | _Words:
        words = [part for part in parts if isinstance(part, frozenset)]
        languages = [part for part in parts if not isinstance(part, frozenset)]
        if words:
            common = frozenset.intersection(*words)
            return frozenset(word for word in common if all(part.accepts(word) for part in languages))
        return string_languages.intersect(_lengths_first(languages), self.limits)

    def either(self, parts: list[Language | _Words]) -> Language | _Words:
        words = frozenset[str]().union(*(part for part in parts if isinstance(part, frozenset)))
        languages = [part for part in parts if not isinstance(part, frozenset)]
        if not languages:
            return words
        listed = [self.automaton(words)] if words else []
        return string_languages.union([*_lengths_first(languages), *listed], self.limits)

    def automaton(self, found: Language | _Words) -> Language:
        return of_dfa(word_dfa(found, self.limits)) if isinstance(found, frozenset) else found


def _lengths_first(languages: Sequence[Language]) -> list[Language]:
    """Small machines first, so that what they rule out is never built."""
    return sorted(languages, key=lambda language: len(language.dfa))
