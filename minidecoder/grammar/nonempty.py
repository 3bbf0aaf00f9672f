"""The texts of an expression without the empty one, as an expression: `("a"? "b"?)` → `"a" "b"? | "b"`.

An engine that follows `("a"?)*` could turn in the loop for ever without reading a byte, and a counter could
count copies of nothing. Where the body of a repetition can be empty, its non-empty part says the same:
`("a")*`. A rule that can be empty gets a companion that cannot, named with a prime: `ws` and `ws'`.

Left out: left recursion, which is solved with the same pieces (`left_recursion`).
Cost: O(nodes); a sequence of n parts that can all be empty becomes n options of up to n parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Final, NamedTuple, TypeAlias

from minidecoder.errors import ConstraintTooLargeError
from minidecoder.grammar.fixpoint import nullable
from minidecoder.grammar.rules import (
    Choice,
    Expr,
    Grammar,
    Reference,
    Repeat,
    Rule,
    Sequence,
    bottom_up,
    with_children,
)
from minidecoder.regex.limits import Limits

__all__ = ["Piece", "Rewriting", "choice", "sequence"]

_MOST_PARTS: Final = 300_000  # that rewriting may write; the engine has limits of its own

_Rest: TypeAlias = "tuple[Expr, _Rest] | None"  # what follows, the next part first; shared between pieces


class Piece(NamedTuple):
    """The texts that begin with a non-empty text of `head`, and go on with the parts of `rest`."""

    head: Expr
    rest: tuple[Expr, ...]


class Rewriting:
    """A pruned grammar while it is rewritten; rules are added at the end and never removed."""

    def __init__(self, grammar: Grammar, limits: Limits) -> None:
        self.rules = list(grammar.rules)
        self.limits = limits
        answer = nullable(grammar.rules)
        self._nullable = list(answer.rules)
        self._empty = dict.fromkeys(answer.nodes, True)  # node → whether it matches the empty text
        self._companions: dict[int, int] = {}
        self.unfinished: list[int] = []  # rules whose companions have no body yet
        self._parts = 0

    # -- what can be empty ----------------------------------------------------------------------

    def rule_can_be_empty(self, rule: int) -> bool:
        return self._nullable[rule]

    def can_be_empty(self, expr: Expr) -> bool:
        """Whether the expression, old or new, matches the empty text."""
        for node in bottom_up(expr, self._empty):
            self._empty[node] = self._ask(node)
        return self._empty[expr]

    def _ask(self, node: Expr) -> bool:
        match node:
            case Sequence(parts):
                return all(self._empty[part] for part in parts)
            case Choice(options):
                return any(self._empty[option] for option in options)
            case Repeat(body, least):
                return least == 0 or self._empty[body]
            case Reference(rule):
                return self._nullable[rule]
        return False  # a class, or a string: pruning made "" an empty sequence

    # -- what cannot ----------------------------------------------------------------------------

    def nonempty(self, expr: Expr) -> Expr:
        """The expression without the empty text; perhaps without any."""
        if not self.can_be_empty(expr):
            return expr
        return choice([sequence([head, *rest]) for head, rest in self.pieces(expr)], expr.place)

    def pieces(self, expr: Expr, openings: Set[Expr] = frozenset()) -> Iterator[Piece]:
        """The non-empty texts of `expr`, cut after what they begin with; together they are all of them.

        A node in `openings` is opened down to the reference in it that may come first.
        """
        pending: list[tuple[Expr, _Rest]] = [(expr, None)]
        while pending:
            node, rest = pending.pop()
            is_whole = node not in openings and not self.can_be_empty(node)
            match node:
                case Sequence(parts) if not is_whole:
                    pending.extend(reversed(list(self._firsts(parts, rest))))
                case Choice(options) if not is_whole:
                    pending.extend((option, rest) for option in reversed(options))
                case Repeat(body, least, most, place) if body in openings:
                    more = _repeat(body, max(least - 1, 0), None if most is None else most - 1, place)
                    pending.append((body, (more, rest)))
                case Repeat(body, _, most, place) if not is_whole:  # least is 0, the body cannot be empty
                    yield self._piece(_repeat(body, 1, most, place), rest)
                case Reference(rule, place) if not is_whole:
                    yield self._piece(Reference(self.companion(rule), place), rest)
                case _:
                    yield self._piece(node, rest)

    def _firsts(self, parts: tuple[Expr, ...], rest: _Rest) -> Iterator[tuple[Expr, _Rest]]:
        """The parts that may come first, each with what follows it."""
        followed: list[_Rest] = [rest]
        for part in reversed(parts[1:]):
            followed.append((part, followed[-1]))
        for part, after in zip(parts, reversed(followed), strict=False):
            yield part, after
            if not self.can_be_empty(part):
                return

    def _piece(self, head: Expr, rest: _Rest) -> Piece:
        parts = []
        while rest is not None:
            part, rest = rest
            parts.append(part)
        self.count(1 + len(parts))
        return Piece(head, tuple(parts))

    def count(self, parts: int) -> None:
        """Account for parts that were written."""
        self.limits.check_time()
        self._parts += parts
        if self._parts > _MOST_PARTS:
            text = (
                f"rewritten without left recursion and empty repetitions, it has over {_MOST_PARTS:,} parts"
            )
            raise ConstraintTooLargeError(text)

    # -- rules ----------------------------------------------------------------------------------

    def companion(self, rule: int) -> int:
        """The rule that matches what `rule` does, without the empty text: itself where it can be."""
        if not self._nullable[rule]:
            return rule
        if rule not in self._companions:
            old = self.rules[rule]
            self._companions[rule] = self.add(Rule(f"{old.name}'", old.body, old.line, old.column))
            self.unfinished.append(rule)
        return self._companions[rule]

    def add(self, rule: Rule, *, can_be_empty: bool = False) -> int:
        """Append a rule and return its index."""
        self.rules.append(rule)
        self._nullable.append(can_be_empty)
        return len(self.rules) - 1

    def set_body(self, rule: int, body: Expr) -> None:
        old = self.rules[rule]
        self.rules[rule] = Rule(old.name, body, old.line, old.column)

    def finish_companions(self) -> None:
        """Give the companions that are left their bodies; these may ask for further ones."""
        while self.unfinished:
            rule = self.unfinished.pop()
            self.set_body(self.companion(rule), self.nonempty(self.rules[rule].body))

    def tidy_repeats(self) -> bool:
        """Let no repetition count copies of the empty text; whether one did."""
        done: dict[Expr, Expr] = {}
        for index in range(len(self.rules)):
            for node in bottom_up(self.rules[index].body, done):
                done[node] = self._tidy(with_children(node, done))
            self.set_body(index, done[self.rules[index].body])
        return any(old is not new for old, new in done.items())

    def _tidy(self, node: Expr) -> Expr:
        match node:
            case Repeat(body, _, most, place) if self.can_be_empty(body):
                return _repeat(self.nonempty(body), 0, most, place)
        return node


def sequence(parts: list[Expr]) -> Expr:
    """One part after the other, without those that are the empty text."""
    kept = [part for part in parts if not (isinstance(part, Sequence) and not part.parts)]
    return kept[0] if len(kept) == 1 else Sequence(tuple(kept), kept[0].place if kept else parts[0].place)


def choice(options: list[Expr], place: int) -> Expr:
    """One of the options."""
    return options[0] if len(options) == 1 else Choice(tuple(options), place)


def _repeat(body: Expr, least: int, most: int | None, place: int) -> Expr:
    if most == 0:
        return Sequence((), place)
    return body if (least, most) == (1, 1) else Repeat(body, least, most, place)
