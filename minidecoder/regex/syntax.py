r"""Regular expression text → syntax tree.

The notation and its meaning are those of Python's `re` for `str` patterns, so that `re.fullmatch`
is the oracle of every test: literals and escapes, sets, `.`, groups, `|`, quantifiers greedy or
lazy, inline flags, anchors, word boundaries, look-ahead.

Left out, with an `UnsupportedFeatureError` at their position: lookbehind, back-references,
conditionals, possessive quantifiers and atomic groups. What `re` refuses is refused first.
Cost: O(length). An explicit stack holds open groups, so depth of nesting is no limit.
"""

from __future__ import annotations

from typing import Final

from minidecoder.errors import UnsupportedFeatureError
from minidecoder.regex.charset import ANY, NOT_NEWLINE, Ranges, make_ranges
from minidecoder.regex.cursor import DIGITS, Cursor
from minidecoder.regex.flags import Flags, read_flags
from minidecoder.regex.group import Group
from minidecoder.regex.limits import Limits
from minidecoder.regex.tree import Assertion, Chars, Choice, Concat, Node, Place, Repeat

__all__ = ["Chars", "Choice", "Concat", "Node", "Parser", "Repeat", "parse"]

_QUANTIFIERS: Final = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_NO_MEMORY: Final = "a finite automaton cannot remember text"
_NO_BACKTRACKING: Final = "a language has no backtracking; leave it out if the match stays the same"
_BEHIND: Final = "say what may stand before, as part of the pattern"
_MAX_REPEAT: Final = 2**32 - 1  # what `re` refuses as a count
_SPACES: Final = frozenset(" \t\n\r\v\f")
_FLAG_LETTERS: Final = frozenset("aiLmsux-")


def parse(pattern: str, limits: Limits | None = None) -> Node:
    """The syntax tree of `pattern`; `RegexSyntaxError` or `UnsupportedFeatureError` with a position."""
    return Parser(pattern).parse(limits)


class Parser(Cursor):
    """A cursor over the pattern, the stack of open groups, and what must be refused at the end."""

    has_possessive = True

    def __init__(self, pattern: str) -> None:
        super().__init__(pattern)
        self.groups = [Group(0, Flags())]
        self.captures = 0
        self.names: dict[str, int] = {}
        self.types: set[str] = set()  # which of the flags a and u the whole pattern has
        self.conditions: dict[int, int] = {}  # number of the group asked for → position
        self.refused: UnsupportedFeatureError | None = None

    @property
    def flags(self) -> Flags:
        return self.groups[-1].flags

    def parse(self, limits: Limits | None = None) -> Node:
        """The whole pattern. A syntax error anywhere goes before an unsupported construct."""
        while self.at < len(self.pattern):
            self._item()
            if limits is not None:
                limits.check_time()
        if len(self.groups) > 1:
            self.fail("missing ), the group is never closed", self.groups[-1].opened_at)
        for number, position in self.conditions.items():
            if number > self.captures:  # a condition may name a group that is opened later
                self.fail(f"invalid group reference {number}", position)
        if self.refused:
            raise self.refused
        return self.groups[0].close()

    def _item(self) -> None:
        start, char, group = self.at, self.take(), self.groups[-1]
        if self.flags.verbose and (char in _SPACES or char == "#"):
            self._skip_comment(char)
        elif char == "(":
            self.open(start)
        elif char == ")":
            self._close(start)
        elif char == "|":
            group.end_option()
        elif char == "[":
            flags = self.flags
            ranges = self.character_set(start, ignore_case=flags.ignore_case, ascii_only=flags.ascii_only)
            group.add(Chars(ranges))
        elif char in ".^$\\":
            node = self.sign(char, start)
            group.add(node, no_repeat="nothing to repeat" if isinstance(node, Assertion) else "")
        elif (bounds := self.bounds(char)) is not None:
            self.repeat(start, bounds)
        else:
            group.add(Chars(self._literal(ord(char))))

    def _skip_comment(self, char: str) -> None:
        if char == "#":
            end = self.pattern.find("\n", self.at)
            self.at = len(self.pattern) if end < 0 else end + 1

    def sign(self, char: str, start: int) -> Node:
        match char:
            case ".":
                return Chars(ANY if self.flags.dot_all else NOT_NEWLINE)
            case "^":
                return Assertion(Place.LINE_START if self.flags.multi_line else Place.TEXT_START)
            case "$":
                return Assertion(Place.LINE_END if self.flags.multi_line else Place.LAST_LINE_END)
            case _:
                return self._escape(start)

    def _literal(self, code_point: int) -> Ranges:
        flags = self.flags
        return self.members(make_ranges([(code_point, code_point)]), (), flags.ignore_case, flags.ascii_only)

    # -- groups ---------------------------------------------------------------------------------

    def open(self, start: int) -> None:
        if not self.accept("?"):
            self.push(start, captures=True)
        elif self.accept(":"):
            self.push(start)
        elif self.accept("P<"):
            self.named_group(start)
        elif self.accept("P="):
            self._named_reference(start)
        elif self.accept("#"):
            self._comment(start)
        elif self.ahead("=") or self.ahead("!"):
            self.push(start, look=self.take())
        elif self.accept("<=") or self.accept("<!"):
            self.refuse("lookbehind", _BEHIND, start)
            self.push(start)
            self.groups[-1].behind = True
        elif self.accept(">"):
            self.refuse("an atomic group (?>", _NO_BACKTRACKING, start)
            self.push(start)
        elif self.accept("("):
            self._conditional(start)
        else:
            self.inline_flags(start)

    def _comment(self, start: int) -> None:
        # subtle: in `re` a backslash hides the parenthesis behind it even in a comment.
        while self.at < len(self.pattern):
            char = self.take()
            if char == ")":
                return
            self.at += char == "\\"
        self.fail("missing ), the comment is never closed", start)

    def push(self, start: int, *, captures: bool = False, look: str = "", flags: Flags | None = None) -> None:
        self.captures += captures
        number = self.captures if captures else 0
        group = Group(start, flags or self.flags, number, look)
        group.captures_before = self.captures - captures
        self.groups.append(group)

    def named_group(self, start: int) -> None:
        name = self.identifier(">", start)
        if name in self.names:
            self.fail(f"the group name {name!r} is used twice", start)
        self.names[name] = self.captures + 1
        self.push(start, captures=True)

    def identifier(self, closing: str, start: int) -> str:
        name = self.until(closing, start, f"missing {closing}, the group name is never closed")
        if not name.isidentifier():
            self.fail(f"bad group name {name!r}", start)
        return name

    def _named_reference(self, start: int) -> None:
        name = self.identifier(")", start)
        if name not in self.names:
            self.fail(f"unknown group name {name!r}", start)
        self.back_reference(self.names[name], start)
        self.groups[-1].add(Concat(()))

    def _conditional(self, start: int) -> None:
        name = self.until(")", start, "missing ), the condition is never closed")
        is_number = name.isdecimal() and name.isascii() and len(name) < 10
        known = name in self.names if name.isidentifier() else is_number
        if not known or name.strip("0") == "":
            self.fail(f"bad group {name!r} in a condition", start)
        if name.isdecimal():
            self.conditions.setdefault(int(name), start)
        self.refuse("a conditional (?(", "write both cases as alternatives", start)
        self.push(start)
        self.groups[-1].most_options = 2

    def inline_flags(self, start: int) -> None:
        letter = self.pattern[self.at : self.at + 1]
        if letter not in _FLAG_LETTERS or not letter:
            self.fail(f"unknown extension (?{letter}", start)
        on, off, has_group = read_flags(self, start)
        if has_group:
            self.push(start, flags=self.flags.changed(on, off))
            return
        root = self.groups[0]
        if len(self.groups) > 1 or root.options or root.items:
            self.fail("flags for the whole pattern must stand at its start", start)
        self.types |= set(on) & {"a", "u"}
        if len(self.types) > 1:
            self.fail("the flags a and u exclude each other", start)
        root.flags = root.flags.changed(on)

    def _close(self, start: int) -> None:
        if len(self.groups) == 1:
            self.fail("unbalanced )", start)
        group = self.groups.pop()
        node = group.close()
        if fault := group.fault(node):
            self.fail(fault, group.opened_at)
        self.groups[-1].add(Concat(()) if group.behind else node)  # refused in the end

    # -- quantifiers ----------------------------------------------------------------------------

    def bounds(self, char: str) -> tuple[int, int | None] | None:
        """The (least, most) of the quantifier that starts with `char`; None where none starts."""
        if char in _QUANTIFIERS:
            return _QUANTIFIERS[char]
        if char != "{":
            return None
        start, before = self.at - 1, self.at
        low = self.take_while(DIGITS)
        comma = self.accept(",")
        high = self.take_while(DIGITS) if comma else low
        # subtle: in `re` a brace that is no quantifier is an ordinary character: "{}", "{a", "{1".
        if not self.accept("}") or not (low or comma):
            self.at = before
            return None
        least, most = _count(low), _count(high) if high else None
        if max(least, most or 0) >= _MAX_REPEAT:
            self.fail("the repetition number is too large", start)
        if most is not None and most < least:
            self.fail("the smallest repetition is greater than the largest", start)
        return least, most

    def repeat(self, start: int, bounds: tuple[int, int | None]) -> None:
        group = self.groups[-1]
        if group.no_repeat:
            self.fail(group.no_repeat, start)
        if self.has_possessive and self.accept("+"):
            self.refuse("a possessive quantifier", _NO_BACKTRACKING, start)
        else:
            self.accept("?")  # lazy: the same language
        group.add(Repeat(group.items.pop(), *bounds), no_repeat="multiple repeat")

    # -- escapes --------------------------------------------------------------------------------

    def _escape(self, start: int) -> Node:
        name, flags = self.category(start), self.flags
        if name:
            return Chars(self.members((), [name], flags.ignore_case, flags.ascii_only))
        places = self.places()
        following = self.pattern[self.at : self.at + 1]
        if following in places:
            return Assertion(places[self.take()])
        number = self.group_reference(start)
        if number is not None:
            self.back_reference(number, start)
            return Concat(())
        return Chars(self._literal(self.code_point(start, in_set=False)))

    def places(self) -> dict[str, Place]:
        """The escapes that are assertions, by their letter."""
        places = {"A": Place.TEXT_START, "Z": Place.TEXT_END}
        if self.flags.ascii_only:
            return {**places, "b": Place.ASCII_WORD_EDGE, "B": Place.NO_ASCII_WORD_EDGE}
        return {**places, "b": Place.WORD_EDGE, "B": Place.NO_WORD_EDGE}

    def back_reference(self, number: int, start: int) -> None:
        if number > self.captures or any(group.number == number for group in self.groups):
            self.fail(f"invalid group reference {number}", start)
        if any(group.behind and number > group.captures_before for group in self.groups):
            self.fail("a lookbehind cannot refer to a group of its own", start)
        self.refuse("a back-reference", _NO_MEMORY, start)

    def refuse(self, feature: str, remedy: str, position: int) -> None:
        """Remember what cannot be compiled; a syntax error further on is told instead of it."""
        if self.refused is None:
            self.refused = UnsupportedFeatureError(
                feature, pattern=self.pattern, position=position, remedy=remedy
            )


def _count(digits: str) -> int:
    # subtle: Python refuses to read an int of 5,000 digits; twelve that count are too many already.
    return int(digits.lstrip("0")[:12] or 0)
