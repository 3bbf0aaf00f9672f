"""A goal, seen by one type: subschemas are replaced by what they say of numbers, texts, arrays, …

`expand(goal, "number")` is a formula over the atoms of numbers, and so for each of the six types. Keywords
about the same value are followed through, however deep, without recursion; a schema that needs itself for
the same value (`{"$ref": "#"}`) is an error. Subschemas of members and items stay goals, expanded when a
member is reached: that is why a recursive schema has finitely many formulas.

Left out: whether anything satisfies the formula (`inhabited`). Cost: each (node, type) once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Final

from minidecoder.errors import RegexSyntaxError, SchemaError, UnsupportedFeatureError
from minidecoder.regex import ecma
from minidecoder.regex.limits import Limits
from minidecoder.regex.lookahead import ANYTHING, remove_lookahead
from minidecoder.regex.tree import Concat
from minidecoder.schema.assertions import FORMATS, assertions, type_formula
from minidecoder.schema.atoms import Pattern, ValueIn
from minidecoder.schema.cases import has_unevaluated, unevaluated
from minidecoder.schema.constants import constant, has_type
from minidecoder.schema.disjoint import never_together, tags_of
from minidecoder.schema.formula import FALSE, TRUE, Formula, Formulas, Literal, Truth, literals
from minidecoder.schema.in_place import InPlace, combined, in_place
from minidecoder.schema.keywords import KEYWORDS
from minidecoder.schema.resolve import Node, Schema
from minidecoder.schema.unique import unique_items
from minidecoder.schema.values import Type, Values

__all__ = ["Expander"]

_Key = tuple[Formula, Type]
_NO_EFFECT: Final = frozenset(name for name, keyword in KEYWORDS.items() if not keyword.enforced)


class Expander:
    """The formulas of one schema. Not locked.

    `enforce_formats`: the ten names of `FORMATS` are checked; `lenient` (the schema's, if not said): what
    cannot be done exactly is dropped, and listed in `dropped` as (JSON pointer, keyword), not raised.
    """

    def __init__(
        self,
        schema: Schema,
        formulas: Formulas | None = None,
        *,
        enforce_formats: bool = False,
        lenient: bool | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.schema = schema
        if lenient is not None:
            schema.lenient = lenient
        self.limits = limits or Limits()
        self.formulas = formulas or Formulas(self.limits)
        self.enforce_formats = enforce_formats
        self.values = Values()
        self._expanded: dict[_Key, Formula] = {}  # goals, among them the literals of nodes
        self._busy: set[_Key] = set()
        self._own: dict[tuple[Node, Type], Formula] = {}
        self._sets: dict[Node, Formula] = {}
        self._in_place: dict[Node, InPlace] = {}
        self._patterns: dict[str, Formula] = {}
        self._tags: dict[Formula, dict[str, tuple[bool, Formula]]] = {}
        self.nesting = 0  # of `disjoint`, which expands goals while others are being expanded

    @property
    def root(self) -> Formula:
        """The goal of the whole text."""
        return self.goal(self.schema.root)

    @property
    def dropped(self) -> list[tuple[str, str]]:
        """(JSON pointer, keyword) of what was left out so far, because `lenient`."""
        return list(self.schema.dropped)

    # -- goals ----------------------------------------------------------------------------------------

    def goal(self, node: Node) -> Formula:
        """The goal "satisfies this subschema"; TRUE and FALSE where nothing is to be asked."""
        words = node.schema
        if isinstance(words, bool):
            return TRUE if words else FALSE
        asking = {name for name, value in words.items() if name in KEYWORDS and self._has_effect(name, value)}
        if not asking:
            return TRUE
        if asking <= {"const", "enum", "type"} and len(asking - {"type"}) == 1:
            return self._constants(node, *(asking - {"type"}))
        return self.formulas.atom(node)

    def _constants(self, node: Node, keyword: str) -> Formula:
        """A schema that is nothing but a list of values is a set: tags of objects then exclude each other."""
        if node not in self._sets:
            listed = node.schema[keyword] if keyword == "enum" else [node.schema[keyword]]
            types, pointer = node.schema.get("type"), f"{node.pointer}/{keyword}"
            values = (self.values.freeze(value, pointer) for value in listed)
            kept = frozenset(value for value in values if has_type(value, types))
            self._sets[node] = self.formulas.atom(ValueIn(kept)) if kept else FALSE
        return self._sets[node]

    def child(self, node: Node, *path: str | int) -> Formula:
        """The goal of the subschema at `path`."""
        return self.goal(self.schema.child(node, *path))

    def _has_effect(self, name: str, value: Any) -> bool:
        if name == "format":
            return self.enforce_formats and value in FORMATS
        return name not in _NO_EFFECT

    # -- expanding ------------------------------------------------------------------------------------

    def expand(self, goal: Formula, kind: Type) -> Formula:
        """The goal as a formula over the atoms of one type.

        Raises `UnsupportedFeatureError` and `SchemaError` with the pointer, `ConstraintTooLargeError`.
        """
        key = (goal, kind)
        if key not in self._expanded:
            if isinstance(goal, Literal) and goal.positive and self._excludes(goal.atom, kind):
                return FALSE
            started = frozenset(self._busy)
            try:
                self._expand_nodes(
                    [literal for literal in literals(goal) if isinstance(literal.atom, Node)], kind
                )
            finally:
                self._busy.intersection_update(started)
            self._expanded[key] = self.formulas.replace(goal, lambda literal: self._literal(literal, kind))
        return self._expanded[key]

    def meaning(self, goal: Formula, kind: Type) -> Formula:
        """What `expand` gave for a subschema that stands in place of the one being expanded."""
        if isinstance(goal, Truth):
            return goal
        if isinstance(goal, Literal) and isinstance(goal.atom, ValueIn):
            return self._literal(goal, kind)
        return self._expanded[goal, kind]

    def _literal(self, literal: Literal, kind: Type) -> Formula:
        if isinstance(literal.atom, ValueIn):
            formula = constant(self.formulas, kind, literal.atom.values)
        else:
            formula = self._expanded[self.formulas.atom(literal.atom), kind]
        return formula if literal.positive else self.formulas.not_(formula)

    def _expand_nodes(self, nodes: Iterable[Literal], kind: Type) -> None:
        """Depth first, with a stack of its own: a schema is expanded after those it contains in place."""
        todo: list[_Key] = [(self.formulas.atom(literal.atom), kind) for literal in nodes]
        while todo:
            key = todo[-1]
            if key in self._expanded:
                todo.pop()
                continue
            missing = [other for other in self._needs(*key) if other not in self._expanded]
            if not missing:
                self._expanded[key] = self._build(*key)
                self._busy.discard(key)
                continue
            self._busy.add(key)
            for other in missing:
                self._refuse_cycle(other, key)
            todo += reversed(missing)

    def _refuse_cycle(self, other: _Key, key: _Key) -> None:
        if other in self._busy:
            where = _node(key[0]).pointer
            shown = _node(other[0]).pointer or "the root"
            raise SchemaError(
                f"the schema needs {shown} for the same value, and so itself, without end", where
            )

    def _needs(self, goal: Formula, kind: Type) -> list[_Key]:
        node = _node(goal)
        if self._excludes(node, kind):
            return []
        needs: list[_Key] = [(part, kind) for part in self.in_place(node).goals() if _is_node(part)]
        if kind == "object" and "propertyNames" in node.schema:
            names = self.child(node, "propertyNames")
            needs += [(names, "string")] if _is_node(names) else []
        return needs

    def _excludes(self, atom: Hashable, kind: Type) -> bool:
        """Whether `type` alone says that no value of this type can be meant."""
        if not isinstance(atom, Node) or "type" not in atom.schema:
            return False
        return type_formula(self.formulas, atom.schema["type"], kind) is FALSE

    def in_place(self, node: Node) -> InPlace:
        """The subschemas of a node that are about the same value."""
        if node not in self._in_place:
            found = (self.reference(node, keyword) for keyword in ("$ref", "$dynamicRef"))
            references = tuple(target for target in found if target is not None)
            self._in_place[node] = in_place(self.schema, node, self.goal, references)
        return self._in_place[node]

    def reference(self, node: Node, keyword: str) -> Node | None:
        """What `$ref` or `$dynamicRef` of the node means; None where it has none, or a dropped one."""
        if keyword not in node.schema:
            return None
        try:
            return self.schema.reference(node) if keyword == "$ref" else self.schema.dynamic_reference(node)
        except UnsupportedFeatureError as fault:
            self.schema.drop(fault)
            return None

    def own(self, node: Node, kind: Type) -> Formula:
        """What the node's keywords ask, without those about the same value; after it was expanded."""
        return self._own[node, kind]

    def _build(self, goal: Formula, kind: Type) -> Formula:
        node = _node(goal)
        if self._excludes(node, kind):
            self._own[node, kind] = FALSE
            return FALSE
        own = self.formulas.and_(assertions(self, node, kind))
        formula = self.formulas.and_([own, *self._around(node, kind)])
        if kind == "array" and node.schema.get("uniqueItems") is True and formula is not FALSE:
            try:
                unique = unique_items(self, node, formula)
                own, formula = self.formulas.and_([own, unique]), self.formulas.and_([formula, unique])
            except UnsupportedFeatureError as fault:
                self.schema.drop(fault)
        self._own[node, kind] = own
        return formula if has_unevaluated(node, kind) is None else unevaluated(self, node, kind)

    def _around(self, node: Node, kind: Type) -> list[Formula]:
        return combined(
            self.formulas,
            self.in_place(node),
            lambda part: self.meaning(part, kind),
            lambda one, other: never_together(self, kind, one, other),
            kind == "object",
        )

    def tags(self, formula: Formula) -> dict[str, tuple[bool, Formula]]:
        """What an object's formula says of single names; see `disjoint`."""
        if formula not in self._tags:
            self._tags[formula] = tags_of(self, formula)
        return self._tags[formula]

    # -- atoms ----------------------------------------------------------------------------------------

    def one_of(self, kind: Type, values: list[Any], pointer: str) -> Formula:
        """The value is one of these, for one type."""
        return constant(self.formulas, kind, [self.values.freeze(value, pointer) for value in values])

    def pattern(self, regex: str, pointer: str) -> Formula:
        """ "Some part of the text matches". `SchemaError` for what is no ECMA pattern."""
        if regex not in self._patterns:
            try:
                self._check_pattern(regex, pointer)
                self._patterns[regex] = self.formulas.atom(Pattern(regex))
            except UnsupportedFeatureError as fault:
                self.schema.drop(fault)
                return TRUE
        return self._patterns[regex]

    def _check_pattern(self, regex: str, pointer: str) -> None:
        try:
            tree = Concat((ANYTHING, ecma.parse(regex, self.limits), ANYTHING))
            remove_lookahead(tree, regex, self.limits)
        except RegexSyntaxError as fault:
            raise SchemaError(f"not a regular expression: {fault}", pointer) from None
        except UnsupportedFeatureError as fault:
            raise UnsupportedFeatureError("pattern", pointer=pointer, remedy=str(fault)) from None


def _is_node(goal: Formula) -> bool:
    return isinstance(goal, Literal) and isinstance(goal.atom, Node)


def _node(goal: Formula) -> Node:
    assert isinstance(goal, Literal) and isinstance(goal.atom, Node)
    return goal.atom
