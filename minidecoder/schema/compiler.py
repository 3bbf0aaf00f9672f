"""A JSON Schema to its stack machine and the index over a vocabulary, in one call.

Left out: the constraint made of the two (`compiling`). Cost: resolving the schema, and whether its root has
any instance; everything else is made when a text first needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from minidecoder.errors import UnsatisfiableConstraintError
from minidecoder.grammar.pushdown import PushdownAutomaton
from minidecoder.grammar.pushdown_index import PushdownIndex
from minidecoder.grammar.stacks import MAX_DEPTH
from minidecoder.regex.limits import Limits
from minidecoder.schema.ahead import look_ahead
from minidecoder.schema.blame import Blamer
from minidecoder.schema.bodies import SchemaBodies, Whitespace
from minidecoder.schema.escapes import Escapes
from minidecoder.schema.expand import Expander
from minidecoder.schema.resolve import Schema
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["compile_schema"]

GOALS_AHEAD: Final = 2_000  # whose faults are found before the first token


def compile_schema(
    schema: Any,
    vocabulary: Vocabulary,
    *,
    whitespace: Whitespace = "flexible",
    escapes: Escapes = "canonical",
    enforce_formats: bool = False,
    lenient: bool = False,
    resources: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    max_depth: int = MAX_DEPTH,
    goals_ahead: int = GOALS_AHEAD,
) -> PushdownIndex:
    """The index, whose `automaton` is the machine and `automaton.notes` what `lenient` left out. `schema`:
    what `parse.load_schema` takes; `goals_ahead`: how many goals are looked at for faults beforehand.

    Raises `SchemaError` and `UnsupportedFeatureError` with a JSON pointer, `UnsatisfiableConstraintError`
    where no instance exists, `ConstraintTooLargeError` past a limit.
    """
    expander = Expander(
        Schema(schema, resources or {}, lenient=lenient),
        enforce_formats=enforce_formats,
        limits=limits or Limits(),
    )
    bodies = SchemaBodies(expander, whitespace=whitespace, escapes=escapes)
    if not bodies.inhabited.inhabited(expander.root):
        raise UnsatisfiableConstraintError("no JSON value satisfies the schema")
    look_ahead(bodies, goals_ahead)
    start = bodies.machines.begin(bodies.root)
    automaton = PushdownAutomaton(
        bodies.machines, start, bodies, reach=vocabulary.trie.depth, max_depth=max_depth
    )
    automaton.notes = tuple(
        f"{pointer or 'the root'}: {keyword} is not enforced" for pointer, keyword in expander.dropped
    )

    def again(schema: Any, resources: Mapping[str, Any]) -> PushdownAutomaton:
        return compile_schema(
            schema,
            vocabulary,
            whitespace=whitespace,
            escapes=escapes,
            enforce_formats=enforce_formats,
            lenient=lenient,
            resources=resources,
            limits=Limits(bodies.limits.max_states, bodies.limits.timeout_s),
            max_depth=max_depth,
            goals_ahead=0,  # it reads one text
        ).automaton

    bodies.blame = Blamer(schema, resources or {}, again)
    return PushdownIndex(automaton, vocabulary)
