r"""Regular expression text → syntax tree.

The notation and its meaning are those of Python's `re` for `str` patterns, so that `re.fullmatch`
is the oracle of every test. Compiled: literals, all escapes of characters, classes and ranges,
`\d \s \w` and complements, `.`, groups (capturing, named, non-capturing), `|`, and
`* + ? {m} {m,} {,n} {m,n}`, greedy or lazy: a constraint is a language, and laziness does not
change a language.

Left out, with an `UnsupportedFeatureError` at their position: flags, anchors, word boundaries,
look-around, back-references, conditionals, possessive and atomic groups.
Cost: O(length). An explicit stack holds open groups, so depth of nesting is no limit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NoReturn, TypeAlias

from minidecoder.regex.charset import NOT_NEWLINE, Ranges, make_ranges, single
from minidecoder.regex.cursor import DIGITS, Cursor

__all__ = ["Chars", "Choice", "Concat", "Node", "Repeat", "parse"]


@dataclass(frozen=True, slots=True)
class Chars:
    """One character out of a set."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Concat:
    """One part after the other; no parts at all is the empty string."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the options."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """`least` to `most` copies of a node; `most=None` has no upper bound."""

    node: Node
    least: int
    most: int | None


Node: TypeAlias = Chars | Concat | Choice | Repeat

_QUANTIFIERS: Final = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_WHOLE: Final = "a constraint always matches the whole text: leave it out"
_ANCHORS: Final = {
    "^": ("the anchor ^", _WHOLE),
    "$": ("the anchor $", _WHOLE),
    "A": (r"the anchor \A", _WHOLE),
    "Z": (r"the anchor \Z", _WHOLE),
    "b": (r"the word boundary \b", ""),
    "B": (r"the word boundary \B", ""),
}
_EXTENSIONS: Final = (
    ("?=", "look-ahead (?=", ""),
    ("?!", "negative look-ahead (?!", ""),
    ("?<=", "lookbehind (?<=", ""),
    ("?<!", "negative lookbehind (?<!", ""),
    ("?>", "an atomic group (?>", "a language has no backtracking: write (?:"),
    ("?(", "a conditional (?(", "write both cases as alternatives"),
    ("?P=", "a back-reference (?P=", "a finite automaton cannot remember text"),
)


def parse(pattern: str) -> Node:
    """The syntax tree of `pattern`; `RegexSyntaxError` or `UnsupportedFeatureError` with a position."""
    return _Parser(pattern).parse()


@dataclass(slots=True)
class _Group:
    """A group that is still open: its finished alternatives and the sequence being read."""

    opened_at: int
    number: int  # 0: not capturing
    options: list[Node] = field(default_factory=list)
    items: list[Node] = field(default_factory=list)
    can_repeat: bool = False  # whether the last item may take a quantifier

    def add(self, node: Node, *, can_repeat: bool = True) -> None:
        self.items.append(node)
        self.can_repeat = can_repeat

    def end_option(self) -> None:
        self.options.append(self.items[0] if len(self.items) == 1 else Concat(tuple(self.items)))
        self.items = []
        self.can_repeat = False

    def close(self) -> Node:
        self.end_option()
        return self.options[0] if len(self.options) == 1 else Choice(tuple(self.options))


class _Parser(Cursor):
    """A cursor over the pattern and the stack of open groups."""

    def __init__(self, pattern: str) -> None:
        super().__init__(pattern)
        self.groups = [_Group(0, 0)]
        self.captures = 0
        self.names: set[str] = set()

    def parse(self) -> Node:
        while self.at < len(self.pattern):
            self._item()
        if len(self.groups) > 1:
            self.fail("missing ), the group is never closed", self.groups[-1].opened_at)
        return self.groups[0].close()

    def _item(self) -> None:
        start, char, group = self.at, self.take(), self.groups[-1]
        if char == "(":
            self._open(start)
        elif char == ")":
            self._close(start)
        elif char == "|":
            group.end_option()
        elif char == "[":
            group.add(Chars(self.character_set(start)))
        elif char == ".":
            group.add(Chars(NOT_NEWLINE))
        elif char == "\\":
            group.add(Chars(self._escape(start)))
        elif char in "^$":
            self.unsupported(*_ANCHORS[char], start)
        elif (bounds := self._bounds(char)) is not None:
            self._repeat(start, bounds)
        else:
            group.add(Chars(single(char)))

    # -- groups ---------------------------------------------------------------------------------

    def _open(self, start: int) -> None:
        if not self.ahead("?"):
            self.captures += 1
            self.groups.append(_Group(start, self.captures))
        elif self.accept("?:"):
            self.groups.append(_Group(start, 0))
        elif self.accept("?P<"):
            self._name(start)
            self.captures += 1
            self.groups.append(_Group(start, self.captures))
        elif self.accept("?#"):
            self.until(")", start, "missing ), the comment is never closed")
        else:
            self._extension(start)

    def _name(self, start: int) -> None:
        name = self.until(">", start, "missing >, the group name is never closed")
        if not name.isidentifier():
            self.fail(f"bad group name {name!r}", start)
        if name in self.names:
            self.fail(f"the group name {name!r} is used twice", start)
        self.names.add(name)

    def _extension(self, start: int) -> NoReturn:
        for prefix, feature, remedy in _EXTENSIONS:
            if self.ahead(prefix):
                self.unsupported(feature, remedy, start)
        letter = self.pattern[self.at + 1 : self.at + 2]
        if letter and letter in "aiLmsux-":
            self.unsupported("an inline flag", "", start)
        self.fail(f"unknown extension (?{letter}", start)

    def _close(self, start: int) -> None:
        if len(self.groups) == 1:
            self.fail("unbalanced )", start)
        node = self.groups.pop().close()
        self.groups[-1].add(node)

    # -- quantifiers ----------------------------------------------------------------------------

    def _bounds(self, char: str) -> tuple[int, int | None] | None:
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
        if len(low) > 9 or len(high) > 9:
            self.fail("the repetition number is too large", start)
        least, most = int(low or 0), int(high) if high else None
        if most is not None and most < least:
            self.fail("the smallest repetition is greater than the largest", start)
        return least, most

    def _repeat(self, start: int, bounds: tuple[int, int | None]) -> None:
        group = self.groups[-1]
        if not group.items:
            self.fail("nothing to repeat", start)
        if not group.can_repeat:
            self.fail("multiple repeat", start)
        if self.ahead("+"):
            self.unsupported("a possessive quantifier", "a language has no backtracking", start)
        self.accept("?")  # lazy: the same language
        group.add(Repeat(group.items.pop(), *bounds), can_repeat=False)

    # -- escapes --------------------------------------------------------------------------------

    def _escape(self, start: int) -> Ranges:
        ranges = self.category()
        if ranges is not None:
            return ranges
        letter = self.pattern[self.at : self.at + 1]
        if letter in "AZbB" and letter:
            self.unsupported(*_ANCHORS[letter], start)
        number = self.group_reference()
        if number is not None:
            self._back_reference(number, start)
        code_point = self.code_point(start, in_set=False)
        return make_ranges([(code_point, code_point)])

    def _back_reference(self, number: int, start: int) -> NoReturn:
        if number > self.captures or any(group.number == number for group in self.groups):
            self.fail(f"invalid group reference {number}", start)
        self.unsupported("a back-reference", "a finite automaton cannot remember text", start)
