"""A rule that begins with itself, rewritten as a repetition: the language stays the same.

`expr ::= expr "+" term | term` says: a term, then any number of `"+" term`. In general X ::= X T | B is B T*
(Arden's lemma). Where T or B end with X too, X ::= X U X | X T | V X | N, ambiguity goes with the recursion:

    X ::= P (U P | T)*    with    P = V* N            expr ::= expr "+" expr | "-" expr | n
                                                      expr ::= "-"* n ("+" "-"* n)*

since X = V X | N S = V* N S with S = (U X | T)* = (U V* N S | T)* = (U V* N | T)*. A circle of several rules
that all its ways lead through X is a rule of this form when the others are written out where they come first.

Left out: circles without such a rule (`left_recursion`). Cost: O(parts), times the ways round the circle.
"""

from __future__ import annotations

from minidecoder.grammar.circles import openings
from minidecoder.grammar.nonempty import Piece, Rewriting, choice, sequence
from minidecoder.grammar.rules import Choice, Expr, Reference, Repeat, Sequence

__all__ = ["solve_around"]


def solve_around(rewriting: Rewriting, circle: tuple[int, ...], pivot: int) -> None:
    """Give `pivot` a body that begins with no rule of the circle; the others may begin with it."""
    target = rewriting.companion(pivot)
    equation = _Equation(rewriting, {pivot, target})
    for head, rest in _written_out(rewriting, circle, pivot):
        if isinstance(head, Reference) and head.rule == target:
            equation.add_tail(_flat(rest))
        else:
            equation.add_base(_flat((head, *rest)))
    place = rewriting.rules[pivot].body.place
    rewriting.set_body(target, equation.solution(place))
    if target != pivot:
        rewriting.set_body(pivot, Choice((Reference(target, place), Sequence((), place)), place))
        rewriting.unfinished.remove(pivot)


def _written_out(rewriting: Rewriting, circle: tuple[int, ...], pivot: int) -> list[Piece]:
    """The pieces of the pivot, each of which begins with the pivot itself or outside of the circle."""
    companions = {rewriting.companion(rule): rule for rule in circle}
    members = companions.keys() | set(circle)

    def pieces(rule: int) -> list[Piece]:
        body = rewriting.rules[rule].body
        return list(rewriting.pieces(body, openings(rewriting, body, members)))[::-1]

    found: list[Piece] = []
    pending = pieces(pivot)
    while pending:
        head, rest = pending.pop()
        rule = companions.get(head.rule, pivot) if isinstance(head, Reference) else pivot
        if rule == pivot:
            found.append(Piece(head, rest))
            continue
        for first, then in pieces(rule):
            rewriting.count(len(rest))
            pending.append(Piece(first, then + rest))
    return found


def _flat(parts: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The same parts, the last of them no sequence: it shows what they end with."""
    flat = list(parts)
    while flat and isinstance(last := flat[-1], Sequence):
        flat[-1:] = last.parts
    return tuple(flat)


class _Equation:
    """X ::= X U X | X T | V X | N, collected part by part."""

    def __init__(self, rewriting: Rewriting, itself: set[int]) -> None:
        self.rewriting = rewriting
        self.itself = itself
        self.between: list[Expr] = []  # U
        self.tails: list[Expr] = []  # T
        self.prefixes: list[Expr] = []  # V
        self.bases: list[Expr] = []  # N

    def add_tail(self, parts: tuple[Expr, ...]) -> None:
        """What follows X at the beginning: U X, or T; nothing at all says nothing."""
        if not self._ends_with_itself(parts):
            if parts:
                self.tails.append(self.rewriting.nonempty(sequence(list(parts))))
            return
        between = parts[:-1]
        self.between.append(sequence(list(between)) if between else Sequence((), parts[-1].place))
        if self.rewriting.can_be_empty(parts[-1]):  # the last X may be the empty text
            self.add_tail(between)

    def add_base(self, parts: tuple[Expr, ...]) -> None:
        """What does not begin with X: V X, or N."""
        if not self._ends_with_itself(parts):
            self.bases.append(sequence(list(parts)))
            return
        self.prefixes.append(sequence(list(parts[:-1])))
        if self.rewriting.can_be_empty(parts[-1]):
            self.add_base(parts[:-1])

    def _ends_with_itself(self, parts: tuple[Expr, ...]) -> bool:
        return bool(parts) and isinstance(parts[-1], Reference) and parts[-1].rule in self.itself

    def solution(self, place: int) -> Expr:
        """P (U P | T)* with P = V* N."""
        start = sequence([*self._any_number(self.prefixes), choice(self.bases, place)])
        loop = [sequence([choice(self.between, place), start])] if self.between else []
        return sequence([start, *self._any_number([*loop, *self.tails])])

    def _any_number(self, options: list[Expr]) -> list[Expr]:
        if not options:
            return []
        return [Repeat(choice(options, options[0].place), 0, None, options[0].place)]
