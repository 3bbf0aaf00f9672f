"""An independent judge of grammars: it reads GBNF by its own, slow road and recognises as Earley did in 1970.

Nothing here knows the package. The reader is a recursive descent over the characters that makes plain BNF
(fresh names for groups and repetitions), the recogniser a chart over characters that takes every context-free
grammar as it is: left recursion, ambiguity, empty rules. `sentence` writes a random member of the language.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

SIMPLE = {"n": "\n", "r": "\r", "t": "\t", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "0": "\0"}
ALPHABET_END = 0x110000


@dataclass(frozen=True)
class Chars:
    """A terminal: one character, of the pairs or (negated) of none of them."""

    pairs: tuple[tuple[str, str], ...]
    negated: bool = False

    def __contains__(self, char: str) -> bool:
        return any(low <= char <= high for low, high in self.pairs) != self.negated

    def members(self) -> str:
        """A few members, for random sentences."""
        tried = [edge for pair in self.pairs for edge in pair]
        tried += [chr(ord(char) + 1) for char in tried if ord(char) + 1 < ALPHABET_END]
        return "".join(
            dict.fromkeys(
                char
                for char in [*tried, *"a0\u00e9\u20ac\U0001f600 "]
                if char in self and not "\ud800" <= char <= "\udfff"
            )
        )


Symbol = Chars | str
Bnf = dict[str, list[tuple[Symbol, ...]]]


@dataclass
class Reader:
    """GBNF text to BNF; the text must be right, its mistakes are the package's to find."""

    text: str
    at: int = 0
    bnf: Bnf = field(default_factory=dict)
    fresh: int = 0

    def read(self) -> Bnf:
        self.space()
        while self.at < len(self.text):
            name = self.name()
            self.space()
            assert self.text.startswith("::=", self.at), self.text[self.at :]
            self.at += 3
            self.space()
            assert name not in self.bnf
            self.bnf[name] = self.options()
        return self.bnf

    def space(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in " \t\r\n#":
            if self.text[self.at] == "#":
                while self.at < len(self.text) and self.text[self.at] not in "\r\n":
                    self.at += 1
            else:
                self.at += 1

    def name(self) -> str:
        start = self.at
        while self.at < len(self.text) and (self.text[self.at].isalnum() or self.text[self.at] in "_-'"):
            self.at += 1
        assert self.at > start, self.text[self.at :]
        return self.text[start : self.at]

    def new(self, options: list[tuple[Symbol, ...]]) -> str:
        self.fresh += 1
        name = f"<{self.fresh}>"
        self.bnf[name] = options
        return name

    def options(self) -> list[tuple[Symbol, ...]]:
        found = [self.sequence()]
        while self.text[self.at : self.at + 1] == "|":
            self.at += 1
            self.space()
            found.append(self.sequence())
        return found

    def at_header(self) -> bool:
        before = self.at
        self.name()
        self.space()
        found = self.text.startswith("::=", self.at)
        self.at = before
        return found

    def sequence(self) -> tuple[Symbol, ...]:
        parts: list[tuple[Symbol, ...]] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            char = self.text[self.at]
            if char in "*+?{":
                parts.append(self.repeated(parts.pop()))
            elif char == '"':
                parts.append(self.string())
            elif char == "[":
                parts.append((self.char_class(),))
            elif char == ".":
                self.at += 1
                parts.append((Chars((), negated=True),))
            elif char == "(":
                self.at += 1
                self.space()
                inner = self.options()
                assert self.text[self.at] == ")"
                self.at += 1
                parts.append((self.new(inner),))
            elif self.at_header():
                break
            else:
                parts.append((self.name(),))
            self.space()
        return tuple(symbol for part in parts for symbol in part)

    def char(self) -> tuple[str, bool]:
        """A character, and whether it was escaped."""
        char = self.text[self.at]
        self.at += 1
        if char != "\\":
            return char, False
        letter = self.text[self.at]
        self.at += 1
        digits = {"x": 2, "u": 4, "U": 8}.get(letter)
        if digits:
            self.at += digits
            return chr(int(self.text[self.at - digits : self.at], 16)), True
        return SIMPLE.get(letter, letter), True

    def string(self) -> tuple[Symbol, ...]:
        self.at += 1
        found: list[Symbol] = []
        while self.text[self.at] != '"':
            char, _ = self.char()
            found.append(Chars(((char, char),)))
        self.at += 1
        return tuple(found)

    def char_class(self) -> Chars:
        self.at += 1
        negated = self.text[self.at] == "^"
        self.at += negated
        pairs = []
        while self.text[self.at] != "]":
            low, _ = self.char()
            high = low
            if self.text[self.at] == "-" and self.text[self.at + 1] != "]":
                self.at += 1
                high, _ = self.char()
            pairs.append((low, high))
        self.at += 1
        return Chars(tuple(pairs), negated)

    def repeated(self, part: tuple[Symbol, ...]) -> tuple[Symbol, ...]:
        sign = self.text[self.at]
        self.at += 1
        least, most = {"*": (0, -1), "+": (1, -1), "?": (0, 1)}.get(sign, (0, 0))
        if sign == "{":
            end = self.text.index("}", self.at)
            low, comma, high = self.text[self.at : end].partition(",")
            least, most = int(low), int(high) if high.strip() else -1 if comma else int(low)
            self.at = end + 1
        body = self.new([part])
        if most < 0:
            tail = self.new([])
            self.bnf[tail] = [(), (body, tail)]
            return (body,) * least + (tail,)
        tail_symbol: Symbol = self.new([()])
        for _ in range(most - least):
            tail_symbol = self.new([(), (body, tail_symbol)])
        return (body,) * least + (tail_symbol,)


def read(text: str) -> Bnf:
    """The grammar as plain BNF."""
    return Reader(text).read()


@dataclass(frozen=True)
class Earley:
    """A recogniser for the language of `root`."""

    bnf: Bnf
    root: str = "root"
    nullable: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        found: set[str] = set()
        size = -1
        while len(found) > size:
            size = len(found)
            found |= {
                name
                for name, options in self.bnf.items()
                if any(all(symbol in found for symbol in option) for option in options)
            }
        object.__setattr__(self, "nullable", frozenset(found))

    def matches(self, text: str) -> bool:
        """Whether the whole text is a member."""
        return self.read_prefix(text) == (len(text), True)

    def read_prefix(self, text: str) -> tuple[int, bool]:
        """How many characters some member begins with (at most all), and whether what was read is a member."""
        Item = tuple[str, int, int, int]  # name, option, dot, origin
        waiting: list[dict[Symbol, list[Item]]] = []
        column: set[Item] = {(self.root, option, 0, 0) for option in range(len(self.bnf[self.root]))}
        for at in range(len(text) + 1):
            wants: dict[Symbol, list[Item]] = defaultdict(list)
            waiting.append(wants)
            agenda, seen = list(column), set(column)
            following: set[Item] = set()

            def add(item: Item, agenda: list[Item] = agenda, seen: set[Item] = seen) -> None:
                if item not in seen:
                    seen.add(item)
                    agenda.append(item)

            accepted = False
            while agenda:
                name, option, dot, origin = agenda.pop()
                symbols = self.bnf[name][option]
                if dot == len(symbols):
                    accepted |= name == self.root and origin == 0
                    for caller, which, place, start in list(waiting[origin].get(name, ())):
                        add((caller, which, place + 1, start))
                    continue
                symbol = symbols[dot]
                if isinstance(symbol, Chars):
                    if at < len(text) and text[at] in symbol:
                        following.add((name, option, dot + 1, origin))
                    continue
                wants[symbol].append((name, option, dot, origin))
                for which in range(len(self.bnf[symbol])):
                    add((symbol, which, 0, at))
                if symbol in self.nullable:  # Aycock and Horspool 2002
                    add((name, option, dot + 1, origin))
            if at == len(text) or not following:
                return at, accepted
            column = following
        raise AssertionError("the loop returns at the end of the text")


def begins_with_itself(bnf: Bnf, nullable: frozenset[str]) -> set[str]:
    """The names from which a leftmost derivation comes back before it has read anything."""
    firsts: dict[str, set[str]] = {name: set() for name in bnf}
    for name, options in bnf.items():
        for option in options:
            for symbol in option:
                if isinstance(symbol, Chars):
                    break
                firsts[name].add(symbol)
                if symbol not in nullable:
                    break
    changed = True
    while changed:
        changed = False
        for found in firsts.values():
            more = set().union(*(firsts[other] for other in found)) - found
            changed |= bool(more)
            found |= more
    return {name for name, found in firsts.items() if name in found}


def sentence(bnf: Bnf, pick: Callable[[int], int], root: str = "root", budget: int = 60) -> str:
    """A member of the language; `pick(n)` is a number below n. After `budget` choices the shortest way out."""
    height = _heights(bnf)
    stack: list[Symbol] = [root]
    written = []
    while stack:
        symbol = stack.pop()
        if isinstance(symbol, Chars):
            members = symbol.members()
            written.append(members[pick(len(members))])
            continue
        options = [
            option
            for option in bnf[symbol]
            if all(isinstance(part, Chars) or part in height for part in option)
        ]
        if budget > 0:
            option = options[pick(len(options))]
            budget -= 1
        else:
            option = min(
                options,
                key=lambda parts: max((height[part] for part in parts if isinstance(part, str)), default=-1),
            )
        stack.extend(reversed(option))
    return "".join(written)


def _heights(bnf: Bnf) -> dict[str, int]:
    """How deep the shallowest derivation of each name is; names without one are absent."""
    found: dict[str, int] = {}
    for level in range(len(bnf) + 1):
        new = {
            name: level
            for name, options in bnf.items()
            if name not in found
            and any(all(isinstance(part, Chars) or part in found for part in option) for option in options)
        }
        if not new:
            return found
        found |= new
    return found
