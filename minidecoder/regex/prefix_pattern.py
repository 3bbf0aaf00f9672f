r"""A pattern rewritten so that it matches the beginnings of what it matched, with `re` alone.

Each character x becomes `(?:x|\Z)`: read it, or be at the end of the text, where all that follows is still
to come. What looks around or back is widened to something that never refuses, so that a refusal of
the rewritten pattern is a proof: no text that goes on from here can match.

Left out: the flag x, under which white space may mean nothing. Cost: O(length), one pass of a lexer.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["ANYTHING", "prefix_pattern", "without_lazy"]

ANYTHING: Final = r"(?:[\s\S]*)"
# (a piece of a pattern, what takes its place); the first that fits counts, {} is the piece itself.
_REWRITES: Final = (
    (r"\(\?#(?:\\.|[^)\\])*\)", ""),  # a comment
    (r"\(\?(?:!|<=|<!)", "(?=|"),  # look-around other than (?= : one that always holds
    (r"\(\?>", "(?:"),  # atomic: may give back
    (r"\(\?\([^)]*\)", "(?:|"),  # a conditional: either branch, or nothing
    (r"\(\?P=[^)]*\)", ANYTHING),  # a back-reference: any text
    (r"[)|]|\(\?[a-zA-Z]+\)|\((?:\?(?:=|P<\w+>|[a-zA-Z-]*:))?", "{}"),  # groups, |, flags: as they stand
    (r"(?P<count>[*+?]|\{(?:[0-9]+(?:,[0-9]*)?|,[0-9]*)\})[?+]?", "{}"),  # neither lazy nor possessive
    (r"[\^$]|\\[AbBzZ]", "(?:)"),  # an anchor: always holds
    (r"\[\^?\]?(?:\\.|[^\]\\])*\]", r"(?:{}|\Z)"),  # a class
    (r"\\(?:N\{[^}]*\}|x..|u.{4}|U.{8}|0[0-7]{0,2}|[0-7]{3})", r"(?:{}|\Z)"),  # a character by its number
    (r"\\[1-9][0-9]?", ANYTHING),  # a back-reference
    (r"\\.|.", r"(?:{}|\Z)"),  # any other character
)
_PIECE: Final = re.compile("|".join(f"(?P<r{n}>{row[0]})" for n, row in enumerate(_REWRITES)), re.DOTALL)
_MAYBE_VERBOSE: Final = re.compile(r"\(\?[a-zA-Z-]*x")
_LOOKS_OR_IS_ATOMIC: Final = re.compile(r"\(\?[=!<>]")


def prefix_pattern(pattern: str) -> str | None:
    r"""A pattern for `re` that fully matches at least the prefixes of what `pattern` matches.

    Each character x becomes `(?:x|\Z)`: read it, or be at the end of the text, where all that follows
    is still to come. What looks around or back is widened to something that never refuses, so a
    refusal is a proof. None where white space may mean nothing (the flag x). O(length).

    >>> prefix_pattern("a+b?")
    '(?:a|\\Z)+(?:b|\\Z)?'
    """
    if _MAYBE_VERBOSE.search(pattern):
        return None

    def rewritten(match: re.Match[str]) -> str:
        template = _REWRITES[int(str(match.lastgroup)[1:])][1]
        return template.format(match["count"] or match[0])

    return _PIECE.sub(rewritten, pattern)


def without_lazy(pattern: str) -> str:
    """The same language with greedy repeats, where that is certain to be the same."""
    # subtle: beside a lazy repeat `regex` takes dead text for alive: "ab" for (?:a)*?a.
    if _MAYBE_VERBOSE.search(pattern) or _LOOKS_OR_IS_ATOMIC.search(pattern):
        return pattern
    return _PIECE.sub(lambda match: (match[0].endswith("?") and match["count"]) or match[0], pattern)
