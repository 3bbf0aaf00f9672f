r"""GBNF text → rules.

    root  ::= "[" (value ("," value)*)? "]"     # a list of numbers, or of lists
    value ::= root | [0-9]+

Strings, classes, groups, comments; `.` (any character, line ends too) and an empty side of `|` as in
llama.cpp; `* + ? {m} {m,} {m,n}`, one after the other too; rules in any order. A rule that is missing or
defined twice is an error (in llama.cpp the last one wins); a count holds as it is written (llama.cpp drops
bounds above 2,000). XGrammar's look-ahead and tags, and tokens in angle brackets, are refused.

Left out: any judgement of what was read (`checks`, `prepare`). Cost: O(length); an explicit stack holds the
open groups, so depth of nesting is no limit.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import Final, NoReturn

from minidecoder.errors import UsageError
from minidecoder.grammar.gbnf_lexer import Token, syntax_error, tokens
from minidecoder.grammar.rules import (
    CharClass,
    Choice,
    Expr,
    Grammar,
    Literal,
    Reference,
    Repeat,
    Rule,
    Sequence,
    line_and_column,
)
from minidecoder.grammar.terminals import bounds, class_ranges, string_text
from minidecoder.regex.charset import ANY
from minidecoder.regex.limits import Limits

__all__ = ["parse_grammar"]

_BYTE_ORDER_MARK: Final = "\ufeff"
_MOST_NAMES: Final = 1000  # beyond, an error does not look for a name that resembles the missing one


def parse_grammar(text: str, root: str = "root", limits: Limits | None = None) -> Grammar:
    """The rules of a grammar as they are written; `root` names the one that the whole text must match.

    Raises `GrammarSyntaxError` with line and column, `UnsupportedFeatureError` for tokens in angle brackets.
    """
    for name, value in (("text", text), ("root", root)):
        if not isinstance(value, str):
            raise UsageError(f"{name} must be a str, not {type(value).__name__}")
    return _Parser(text.removeprefix(_BYTE_ORDER_MARK), limits or Limits()).grammar(root)


@dataclass(slots=True)
class _Group:
    """A group that is still open, or the whole body of a rule: finished options, and the one being read."""

    place: int
    options: list[Expr] = field(default_factory=list)
    parts: list[Expr] = field(default_factory=list)

    def end_option(self, place: int) -> None:
        start = self.parts[0].place if self.parts else place
        self.options.append(self.parts[0] if len(self.parts) == 1 else Sequence(tuple(self.parts), start))
        self.parts = []

    def close(self, place: int) -> Expr:
        self.end_option(place)
        first = self.options[0]
        return first if len(self.options) == 1 else Choice(tuple(self.options), first.place)


class _Parser:
    """The rule that is being read, its stack of open groups, and the rules by name."""

    def __init__(self, source: str, limits: Limits) -> None:
        self.source = source
        self.limits = limits
        self.header: Token | None = None
        self.groups: list[_Group] = []
        self.indices: dict[str, int] = {}  # in the order in which names are first seen
        self.used_at: dict[int, int] = {}  # the first place of each rule that is referred to
        self.rules: dict[int, Rule] = {}

    def grammar(self, root: str) -> Grammar:
        for token in tokens(self.source):
            self.limits.check_time()
            self._read(token)
        self._end_rule(len(self.source))
        self._check_names(root)
        rules = tuple(self.rules[index] for index in range(len(self.indices)))
        return Grammar(rules, self.indices[root], self.source)

    def _read(self, token: Token) -> None:
        if token.kind == "header":
            self._end_rule(token.place)
            self._begin_rule(token)
        elif self.header is None:
            self._fail(token.place, "a rule is written name ::= body")
        elif token.kind == "count" or token.text in ("*", "+", "?"):
            self._repeat(token)
        elif token.kind == "sign" and token.text != ".":
            self._group_sign(token)
        else:
            self.groups[-1].parts.append(self._part(token))

    # -- rules ----------------------------------------------------------------------------------

    def _begin_rule(self, header: Token) -> None:
        defined = self.rules.get(self._index(header.text))
        if defined is not None:
            self._fail(header.place, f"rule {header.text!r} is defined twice, first in line {defined.line},")
        self.header = header
        self.groups = [_Group(header.place)]

    def _end_rule(self, place: int) -> None:
        if self.header is None:
            return
        if len(self.groups) > 1:
            self._fail(self.groups[-1].place, "this ( is never closed")
        line, column = line_and_column(self.source, self.header.place)
        body = self.groups.pop().close(place)
        self.rules[self._index(self.header.text)] = Rule(self.header.text, body, line, column)

    def _index(self, name: str) -> int:
        return self.indices.setdefault(name, len(self.indices))

    def _check_names(self, root: str) -> None:
        missing = [(place, index) for index, place in self.used_at.items() if index not in self.rules]
        names = list(self.indices)
        if missing:
            place, index = min(missing)
            self._fail(place, f"there is no rule {names[index]!r}{self._hint(names[index])}")
        if root not in self.indices:
            hint = self._hint(root) or "; the argument root can name another" * bool(names)
            self._fail(0, f"there is no rule {root!r} to begin with{hint}")

    def _hint(self, name: str) -> str:
        defined = [rule.name for rule in self.rules.values()]
        close = difflib.get_close_matches(name, defined, 1) if len(defined) <= _MOST_NAMES else []
        return f"; is {close[0]!r} meant?" if close else ""

    # -- the body of a rule ---------------------------------------------------------------------

    def _part(self, token: Token) -> Expr:
        match token.kind:
            case "string":
                return Literal(string_text(self.source, token), token.place)
            case "class":
                return CharClass(class_ranges(self.source, token), token.place)
            case "name":
                index = self._index(token.text)
                self.used_at.setdefault(index, token.place)
                return Reference(index, token.place)
        return CharClass(ANY, token.place)

    def _group_sign(self, token: Token) -> None:
        if token.text == "(":
            self.groups.append(_Group(token.place))
        elif token.text == "|":
            self.groups[-1].end_option(token.place)
        elif len(self.groups) == 1:
            self._fail(token.place, "there is no ( to this )")
        else:
            inner = self.groups.pop().close(token.place)
            self.groups[-1].parts.append(inner)

    def _repeat(self, token: Token) -> None:
        parts = self.groups[-1].parts
        if not parts:
            self._fail(token.place, f"there is nothing before {token.text} to repeat")
        body = parts.pop()
        parts.append(Repeat(body, *bounds(self.source, token), body.place))

    def _fail(self, place: int, message: str) -> NoReturn:
        raise syntax_error(self.source, place, message)
