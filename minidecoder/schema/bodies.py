"""A schema as rules for the stack machine: one for each goal, each open object and each open array.

The rules are written when a stack first enters them, so a schema of any size costs what its texts meet.
A value is a choice between the types that can still satisfy its goal; an open object is a choice between its
members, followed by the object that is left; an open array likewise. Where all items to come are alike, the
array is one rule that counts, and `maxItems: 10000` is a number in a frame.

Left out: deciding (`members`, `inhabited`), numbers and strings, which come as machines.
Cost: a rule is a small regular expression over names, punctuation and calls.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from minidecoder.errors import UsageError
from minidecoder.grammar.rule_machines import Body, Counted, Local, Ready, RuleMachines
from minidecoder.regex import tree
from minidecoder.regex.utf8 import lower_to_bytes
from minidecoder.schema.alike import all_alike
from minidecoder.schema.atoms import IsTrue, StringIn
from minidecoder.schema.blame import Blamer
from minidecoder.schema.branches import item_branches
from minidecoder.schema.counts import close
from minidecoder.schema.escapes import Escapes
from minidecoder.schema.expand import Expander
from minidecoder.schema.factors import has_name
from minidecoder.schema.formula import FALSE, Formula, Formulas
from minidecoder.schema.inhabited import Inhabited
from minidecoder.schema.length_counter import LengthCounter
from minidecoder.schema.members import Member, Members, ObjectState, in_parts
from minidecoder.schema.names import names_of
from minidecoder.schema.numbers import number_dfa
from minidecoder.schema.string_machine import string_machine
from minidecoder.schema.strings import how_many, string_language
from minidecoder.schema.values import TYPES, Type
from minidecoder.schema.words import ExpectedPart, pointer_of, what_follows

__all__ = ["WHITESPACE", "SchemaBodies", "Whitespace"]

Whitespace: TypeAlias = Literal["flexible", "compact", "spaced", "any"]
WHITESPACE: Final = ("flexible", "compact", "spaced", "any")
_LONGEST_SPACE: Final = 20  # characters between two JSON tokens, so that no model can write space for ever
_MOST_WAYS: Final = 64  # members in one rule: the table of a rule grows with the square of them
_BLANK: Final = tree.Chars(((9, 10), (13, 13), (32, 32)))
_NOTHING: Final = tree.Concat(())


@dataclass(frozen=True)
class _Value:
    goal: Formula


@dataclass(frozen=True)
class _Text:
    """A string between its quotes: a value, or the name of a member."""

    formula: Formula


@dataclass(frozen=True)
class _Number:
    formula: Formula


@dataclass(frozen=True)
class _Members:
    state: ObjectState
    first: bool


@dataclass(frozen=True)
class _Some:
    """One of these members, and the object after it: a part of the ways of a large object."""

    ways: tuple[Member, ...]


@dataclass(frozen=True)
class _Items:
    owner: Formula
    rest: Formula
    first: bool


@dataclass(frozen=True)
class _MoreItems:
    goal: Formula
    least: int
    most: int | None


@dataclass(frozen=True)
class _Item:
    """A comma and one more item."""

    goal: Formula


class SchemaBodies:
    """Writes the rules of one schema."""

    def __init__(
        self, expander: Expander, *, whitespace: Whitespace = "flexible", escapes: Escapes = "canonical"
    ) -> None:
        if whitespace not in WHITESPACE:
            raise UsageError(f"whitespace={whitespace!r}: it is one of {', '.join(map(repr, WHITESPACE))}")
        self.expander = expander
        self.formulas: Formulas = expander.formulas
        self.escapes = escapes
        self.whitespace = whitespace
        self.limits = expander.limits
        self.blame: Blamer | None = None  # which keywords block a token; whoever compiles the schema sets it
        self.machines = RuleMachines(self.write, self.limits)
        self.inhabited = Inhabited(expander, self._any_number, how_many)
        self.members = Members(
            self.formulas,
            self.inhabited.inhabited,
            has_name,
            self._any_name,
            expander.schema.drop,
        )

    @property
    def root(self) -> Hashable:
        """The rule that the whole text must match."""
        return "text"

    def write(self, rule: Hashable) -> Body:
        """The body of a rule."""
        self.limits.restart()
        match rule:
            case "text":
                # Only "any" has space around the text: a model that is done should end.
                around = self._space() if self.whitespace == "any" else _NOTHING
                return tree.Concat((around, self.machines.call(_Value(self.expander.root)), around))
            case "space":
                return tree.Repeat(_BLANK, 0, None if self.whitespace == "any" else _LONGEST_SPACE)
            case _Value(goal):
                return tree.Choice(tuple(self._values(goal)))
            case _Text(formula):
                machine = string_machine(formula, self.escapes)
                return Ready(machine.bytes_, LengthCounter(machine) if machine.counts else None)
            case _Number(formula):
                return Ready(lower_to_bytes(number_dfa(formula)))
            case _Members(state, first):
                return tree.Choice(tuple(self._object(state, first)))
            case _Some(ways):
                return tree.Choice(tuple(tree.Concat(tuple(self._member(member))) for member in ways))
            case _Items():
                return self._items(rule)
            case _MoreItems(goal, least, most):
                return Counted(_Item(goal), least, most)
            case _Item(goal):
                return tree.Concat((self._comma(), self.machines.call(_Value(goal))))
        raise AssertionError(rule)

    # -- words ----------------------------------------------------------------------------------

    def name(self, rule: Hashable) -> str:
        """What people call a rule: the kind of place, and the pointer of the subschema that made it."""
        match rule:
            case _Value(goal):
                return f"value {pointer_of(goal)}".strip()
            case _Members(ObjectState(owner=owner)) | _Some((Member(after=ObjectState(owner=owner)), *_)):
                return f"object {pointer_of(owner)}".strip()
            case _Items(owner, _, _):
                return f"array {pointer_of(owner)}".strip()
            case _Item(goal) | _MoreItems(goal, _, _):
                return f"item {pointer_of(goal)}".strip()
            case _Text() | _Number():
                return "string" if isinstance(rule, _Text) else "number"
        return str(rule)

    def expected(self, locals_: Iterable[Local]) -> tuple[ExpectedPart, ...]:
        """What may be read next in any of these, each once."""
        found: dict[ExpectedPart, None] = {}
        for local in locals_:
            kind, _, where = self.name(self.machines.machines[self.machines.machine[local]].rule).partition(
                " "
            )
            where = where or ("" if kind in ("string", "number") else "the root")
            for text in what_follows(self.machines, local):
                found[ExpectedPart(kind, where, text)] = None
        return tuple(found)

    # -- values ---------------------------------------------------------------------------------

    def _values(self, goal: Formula) -> Iterator[tree.Node]:
        """One alternative for each type that has a value."""
        for type_ in TYPES:
            formula = self.expander.expand(goal, type_)
            if self.inhabited.of_type(formula, type_):
                yield from self._of_type(goal, formula, type_)

    def _of_type(self, goal: Formula, formula: Formula, type_: Type) -> Iterator[tree.Node]:
        match type_:
            case "null":
                yield _text("null")
            case "boolean":
                yield from (_text(word) for word in _booleans(self.formulas, formula))
            case "number":
                yield self.machines.call(_Number(formula))
            case "string":
                yield self._string(formula)
            case "array":
                yield tree.Concat((_text("["), self.machines.call(_Items(goal, formula, True))))
            case "object":
                state = ObjectState(goal, formula, names_of(self.expander, goal))
                yield tree.Concat((_text("{"), self.machines.call(_Members(state, True))))

    def _string(self, formula: Formula) -> tree.Node:
        return tree.Concat((_text('"'), self.machines.call(_Text(formula)), _text('"')))

    def _any_number(self, formula: Formula) -> bool:
        return bool(number_dfa(formula).start)

    def _any_name(self, names: Formula) -> bool:
        self.limits.check_time()
        return names is not FALSE and not string_language(names).is_empty

    # -- objects --------------------------------------------------------------------------------

    def _object(self, state: ObjectState, first: bool) -> Iterator[tree.Node]:
        """The closing brace, where nothing is missing, and each member that may come next."""
        if self.members.closes(state):
            yield tree.Concat((self._space(), _text("}")))
        before = self._space() if first else self._comma()
        ways = self.members.ways(state)
        if len(ways) <= _MOST_WAYS:
            yield from (tree.Concat((before, *self._member(member))) for member in ways)
        else:
            some = [self.machines.call(_Some(part)) for part in in_parts(ways, _MOST_WAYS)]
            yield tree.Concat((before, tree.Choice(tuple(some))))

    def _member(self, member: Member) -> Iterator[tree.Node]:
        if isinstance(member.name, str) and self.escapes == "canonical":
            yield _text(json.dumps(member.name, ensure_ascii=False))
        else:
            yield self._string(self._names(member.name))
        yield from (self._colon(), self.machines.call(_Value(member.goal)))
        yield self.machines.call(_Members(member.after, False))

    def _names(self, name: str | Formula) -> Formula:
        return self.formulas.atom(StringIn(frozenset({name}))) if isinstance(name, str) else name

    # -- arrays ---------------------------------------------------------------------------------

    def _items(self, rule: _Items) -> tree.Node:
        ways = [
            branch
            for branch in item_branches(self.formulas, rule.rest, self.inhabited.inhabited)
            if self.inhabited.inhabited(branch.goal) and self.inhabited.of_type(branch.rest, "array")
        ]
        before = self._space() if rule.first else self._comma()
        options = [tree.Concat((self._space(), _text("]")))] if close(rule.rest) else []
        alike = all_alike(rule.rest, ways)
        for branch in ways:
            value = self.machines.call(_Value(branch.goal))
            if alike is None:
                left = self.machines.call(_Items(rule.owner, branch.rest, False))
                options.append(tree.Concat((before, value, left)))
            else:
                more = self.machines.call(_MoreItems(branch.goal, *alike))
                options.append(tree.Concat((before, value, more, self._space(), _text("]"))))
        return tree.Choice(tuple(options))

    # -- punctuation ----------------------------------------------------------------------------

    def _space(self) -> tree.Node:
        return _NOTHING if self.whitespace in ("compact", "spaced") else self.machines.call("space")

    def _comma(self) -> tree.Node:
        return self._between(",")

    def _colon(self) -> tree.Node:
        return self._between(":")

    def _between(self, mark: str) -> tree.Node:
        if self.whitespace == "spaced":
            return _text(mark + " ")
        return tree.Concat((self._space(), _text(mark), self._space()))


def _booleans(formulas: Formulas, formula: Formula) -> list[str]:
    is_true = formulas.atom(IsTrue())
    words = [("true", is_true), ("false", formulas.not_(is_true))]
    return [word for word, value in words if formulas.and_([formula, value]) is not FALSE]


def _text(text: str) -> tree.Node:
    return tree.Concat(tuple(tree.Chars(((ord(char), ord(char)),)) for char in text))
