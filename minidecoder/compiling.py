"""What a text must look like, compiled: each function gives a `Constraint` for one vocabulary.

    c = compile_regex(r"[0-9]+\\.[0-9]{2}", vocabulary)
    c = compile_choice(["yes", "no", "I do not know"], vocabulary)
    c = compile_grammar('root ::= "[" root "]" | "x"', vocabulary)
    c = compile_json(vocabulary)
    c = compile_json_schema({"type": "integer", "minimum": 0}, vocabulary)

All take `max_states=` and `timeout_s=`, which limit the compiling; a constraint that was compiled before is
returned whatever the limits. Cost: compiling, once for each (constraint, vocabulary).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from minidecoder.decoding.constraint import Constraint, compiled_once
from minidecoder.errors import UsageError
from minidecoder.grammar.stacks import MAX_DEPTH
from minidecoder.regex.compiler import Dialect, Match, compile_dfa
from minidecoder.regex.dfa import DFA
from minidecoder.regex.limits import MAX_STATES, TIMEOUT_S, Limits
from minidecoder.regex.literals import dfa_of_texts
from minidecoder.regex.utf8 import lower_to_bytes
from minidecoder.tokens.checks import check_type, listed, real_number, utf8_bytes, whole_number
from minidecoder.tokens.token_index import build_index
from minidecoder.tokens.vocabulary import Vocabulary

# Grammars and schemas are imported where they are compiled: `import minidecoder` is to stay quick.
if TYPE_CHECKING:
    from minidecoder.grammar.json_text import Escapes, Whitespace

__all__ = [
    "compile_choice",
    "compile_grammar",
    "compile_json",
    "compile_json_schema",
    "compile_regex",
]


def compile_regex(
    pattern: str,
    vocabulary: Vocabulary,
    *,
    dialect: Dialect = "python",
    match: Match = "full",
    max_states: int = MAX_STATES,
    timeout_s: float = TIMEOUT_S,
) -> Constraint:
    """The constraint "the text matches `pattern`", as `re.fullmatch` means it; `match="search"`: some part
    of the text does; `dialect="ecma"`: the patterns of JSON Schema.

    Raises `RegexSyntaxError` or `UnsupportedFeatureError` with the position, `ConstraintTooLargeError`
    with the limit, `UnsatisfiableConstraintError` where the vocabulary cannot spell any match.
    """
    for name, text in (("the pattern", pattern), ("dialect", dialect), ("match", match)):
        check_type(text, str, name)
    limits = _limits(vocabulary, max_states, timeout_s)

    def characters() -> DFA:
        return compile_dfa(pattern, dialect=dialect, match=match, limits=limits)

    return _compiled(("regex", pattern, dialect, match), pattern, vocabulary, limits, characters)


def compile_choice(
    choices: Sequence[str],
    vocabulary: Vocabulary,
    *,
    max_states: int = MAX_STATES,
    timeout_s: float = TIMEOUT_S,
) -> Constraint:
    """The constraint "the text is one of `choices`", letter for letter.

    Raises `UsageError` for no choices or one that is no text, and what `compile_regex` raises.
    """
    texts = listed(choices, "choices")
    for text in texts:
        check_type(text, str, f"each choice ({text!r:.40})")
        utf8_bytes(text, "a choice")
    if not texts:
        raise UsageError("choices is empty: there must be at least one text to choose")
    limits = _limits(vocabulary, max_states, timeout_s)
    pattern = "|".join(map(re.escape, dict.fromkeys(texts)))  # the source that traces and pictures show
    return _compiled(("choice", *texts), pattern, vocabulary, limits, lambda: dfa_of_texts(texts, limits))


def compile_grammar(
    text: str,
    vocabulary: Vocabulary,
    *,
    root: str = "root",
    max_depth: int = MAX_DEPTH,
    max_states: int = MAX_STATES,
    timeout_s: float = TIMEOUT_S,
) -> Constraint:
    """The constraint "the text is derived from the rule `root`", for rules in GBNF. `max_depth`: how many
    rules may be open at once in a text; no mask leads beyond. `Constraint.notes`: remarks about the rules.

    Raises `GrammarSyntaxError` with line and column, `UnsatisfiableConstraintError` where the rules or the
    vocabulary allow no text, `UnsupportedFeatureError`, `ConstraintTooLargeError`.
    """
    from minidecoder.grammar.compiler import compile_pushdown

    check_type(text, str, "the grammar")
    check_type(root, str, "root")
    limits, depth = _limits(vocabulary, max_states, timeout_s), _depth(max_depth)

    def compile_() -> Constraint:
        index = compile_pushdown(text, vocabulary, root=root, limits=limits, max_depth=depth)
        return Constraint(text, vocabulary, index.automaton, index)

    return compiled_once(("grammar", text, root, depth), vocabulary, compile_)


def compile_json(
    vocabulary: Vocabulary,
    *,
    whitespace: Whitespace = "any",
    escapes: Escapes = "any",
    object_only: bool = False,
    max_depth: int = MAX_DEPTH,
    max_states: int = MAX_STATES,
    timeout_s: float = TIMEOUT_S,
) -> Constraint:
    """The constraint "the text is JSON", an object where `object_only`. `whitespace`: `"any"` that JSON
    allows, `"flexible"` (at most 20 characters in one place), `"compact"` (none), `"spaced"` (as `json.dumps`
    writes). `escapes`: `"any"`, or `"canonical"`, one spelling for each character.

    What the standard leaves open is listed in `grammar.json_text`. Errors: those of `compile_grammar`.
    """
    from minidecoder.grammar.json_text import json_grammar

    _check_options(whitespace, escapes, object_only=object_only)
    text = json_grammar(whitespace, escapes, "object" if object_only else "value")
    return compile_grammar(text, vocabulary, max_depth=max_depth, max_states=max_states, timeout_s=timeout_s)


def compile_json_schema(
    schema: Any,
    vocabulary: Vocabulary,
    *,
    whitespace: Whitespace = "flexible",
    escapes: Escapes = "canonical",
    enforce_formats: bool = False,
    lenient: bool = False,
    resources: Mapping[str, Any] | None = None,
    max_depth: int = MAX_DEPTH,
    max_states: int = MAX_STATES,
    timeout_s: float = TIMEOUT_S,
) -> Constraint:
    """The constraint "the text is JSON that satisfies `schema`", draft 2020-12: a mapping, a boolean, JSON
    text, or a Pydantic model, TypedDict or dataclass. White space and escapes are those of `compile_json`.

    All keywords are enforced together. What cannot be enforced exactly is an `UnsupportedFeatureError` with
    JSON pointer and keyword; `lenient` leaves it out and lists it in `Constraint.notes`. `format` counts with
    `enforce_formats` only. Members come in the order in which the schema mentions their names.
    `resources`: documents that a `$ref` may name, by URI; nothing is ever fetched.

    Raises besides `SchemaError` with a pointer, `UnsatisfiableConstraintError` where no value satisfies the
    schema, and `ConstraintTooLargeError`, which a part that is met late may also raise in mid-text.
    """
    from minidecoder.schema.compiler import compile_schema
    from minidecoder.schema.parse import load_schema
    from minidecoder.schema.pydantic_models import is_model, model_schema

    _check_options(whitespace, escapes, enforce_formats=enforce_formats, lenient=lenient)
    check_type(resources or {}, Mapping, "resources", "{uri: schema}")
    limits, depth = _limits(vocabulary, max_states, timeout_s), _depth(max_depth)
    data = load_schema(model_schema(schema) if is_model(schema) else schema)
    others = {uri: load_schema(document, uri) for uri, document in (resources or {}).items()}

    def compile_() -> Constraint:
        index = compile_schema(
            data,
            vocabulary,
            whitespace=whitespace,
            escapes=escapes,
            enforce_formats=enforce_formats,
            lenient=lenient,
            resources=others,
            limits=limits,
            max_depth=depth,
        )
        source = schema if isinstance(schema, str) else json.dumps(data, default=str, ensure_ascii=False)
        return Constraint(source, vocabulary, index.automaton, index)

    options = (whitespace, escapes, enforce_formats, lenient, depth)
    # subtle: repr and not equality, for True == 1 == 1.0 in Python.
    return compiled_once(("schema", repr(data), repr(others), *options), vocabulary, compile_)


def _check_options(whitespace: str, escapes: str, **flags: bool) -> None:
    check_type(whitespace, str, "whitespace")
    check_type(escapes, str, "escapes")
    for name, value in flags.items():
        check_type(value, bool, name)


def _depth(max_depth: int) -> int:
    depth = whole_number(max_depth, "max_depth")
    if depth < 1:
        raise UsageError(f"max_depth={max_depth}: it must be 1 or more")
    return depth


def _limits(vocabulary: Vocabulary, max_states: int, timeout_s: float) -> Limits:
    check_type(vocabulary, Vocabulary, "vocabulary", "Vocabulary.from_tokens([...], eos=...) gives one")
    return Limits(whole_number(max_states, "max_states"), real_number(timeout_s, "timeout_s"))


def _compiled(
    key: Hashable, source: str, vocabulary: Vocabulary, limits: Limits, characters: Callable[[], DFA]
) -> Constraint:
    """Characters → bytes → tokens, unless this was compiled before."""

    def compile_() -> Constraint:
        machine = characters()
        automaton = lower_to_bytes(machine, limits)
        index = build_index(automaton, vocabulary, limits)
        return Constraint(source, vocabulary, automaton, index, machine)

    return compiled_once(key, vocabulary, compile_)
