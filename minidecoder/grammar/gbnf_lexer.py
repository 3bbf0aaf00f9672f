r"""The text of a grammar → its words: headers (`name ::=`), names, strings, classes, counts, signs.

The notation is GBNF, that of llama.cpp, in the free layout of XGrammar: line ends are white space like any
other, and a rule begins where a name at the beginning of a line is followed by `::=`. Line ends are LF, CR or
both, comments run from `#` to the end of the line, a byte order mark is skipped by the parser.

Left out: what an escape, a class or a count means (`terminals`), and how words make rules (`ebnf`).
Cost: O(length), one regular expression; nothing is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, NoReturn, TypeAlias, cast

from minidecoder.errors import GrammarSyntaxError, UnsupportedFeatureError
from minidecoder.grammar.rules import line_and_column

__all__ = ["Kind", "Token", "syntax_error", "tokens"]

Kind: TypeAlias = Literal["header", "name", "string", "class", "count", "sign"]

# Possessive, so that a quote that never closes costs one pass and not one for each way to read the escapes.
_WORD: Final = re.compile(
    r"""
      (?P<header> (?P<title> [A-Za-z0-9_-]++ ) [ \t\r\n]*+ ::= )
    | (?P<name>   [A-Za-z0-9_-]++ )
    | (?P<string> " (?: [^"\\\r\n] | \\[^\r\n] )*+ " )
    | (?P<class>  \[ (?: [^\]\\\r\n] | \\[^\r\n] )*+ \] )
    | (?P<count>  \{ [^{}"\[\]]*+ \} )
    | (?P<sign>   [|().*+?] )
    """,
    re.VERBOSE,
)
_LINE_END: Final = re.compile(r"[\r\n]")
_ANGLE_BRACKET: Final = re.compile("!?<")  # a token of the vocabulary, or with ! any other one
_SPACE: Final = re.compile(r"(?: [ \t\r\n]++ | \#[^\r\n]*+ )*+", re.VERBOSE)

_REMEDIES: Final = {
    '"': 'this string is not closed on its line: end it with ", and write a line break as \\n',
    "[": "this class is not closed on its line: end it with ], and write ] itself as \\]",
    "{": "this count is not closed: {3}, {3,} and {3,5} are the forms",
    "]": "there is no [ to this ]; as text it is written in quotes",
    "}": "there is no { to this }; as text it is written in quotes",
    "!": "GBNF has no negation; a class may be one of all other characters: [^a]",
    "'": "strings stand in double quotes",
    "/": "comments begin with #, and a regular expression is written out as rules",
    ";": "a rule ends where the next one begins, without a sign",
    ",": "parts follow each other without a comma",
    ":": "a rule is written name ::= body",
    "=": "a rule is written name ::= body",
    "\\": "an escape stands inside a string or a class",
    "\0": "a NUL character: write \\x00 inside a string, or was the file read with the wrong encoding?",
}


class Token(NamedTuple):
    """A word as it is written (of a header, the name) and the offset of its first character."""

    kind: Kind
    place: int
    text: str


def syntax_error(source: str, place: int, message: str) -> GrammarSyntaxError:
    """The error for the character at `place`."""
    return GrammarSyntaxError(message, source, *line_and_column(source, place))


def tokens(source: str) -> Iterator[Token]:
    """The words in order; `GrammarSyntaxError` where there is none."""
    before, at = 0, _space_end(source, 0)
    while at < len(source):
        found = _WORD.match(source, at)
        if found is None:
            _refuse(source, at)
        kind = cast(Kind, found.lastgroup)
        if kind == "header" and before and not _LINE_END.search(source, before, at):
            raise syntax_error(source, at, "a rule begins on a line of its own")
        yield Token(kind, at, found["title"] or found.group())
        before = found.end()
        at = _space_end(source, before)


def _space_end(source: str, at: int) -> int:
    found = _SPACE.match(source, at)
    return at if found is None else found.end()


def _refuse(source: str, at: int) -> NoReturn:
    char = source[at]
    if _ANGLE_BRACKET.match(source, at):
        feature = f"a token in angle brackets (line {line_and_column(source, at)[0]})"
        remedy = "write the text of the token as a string"
        raise UnsupportedFeatureError(feature, pattern=source, position=at, remedy=remedy)
    named = repr(char) if char.isprintable() else f"U+{ord(char):04X}"
    raise syntax_error(source, at, _REMEDIES.get(char) or f"no part of a grammar begins with {named}")
