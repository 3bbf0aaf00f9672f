"""An error leaves a worker process as it was raised there."""

from __future__ import annotations

import ast
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import minidecoder as md
from minidecoder.errors import MissingDependencyError, SchemaError

ERRORS = [
    md.RegexSyntaxError("an unclosed group", "(a", 0),
    md.UnsupportedFeatureError("a lookbehind", pattern="(?<=a)b", position=0, remedy="turn it round"),
    md.UnsupportedFeatureError("uniqueItems", pointer="/items"),
    md.GrammarSyntaxError("an undefined rule", "root ::= a", 1, 10),
    SchemaError("minimum must be a number", "/minimum"),
    md.ConstraintTooLargeError("too many states", "max_states"),
    md.ConstraintTooLargeError("too many digits"),
    MissingDependencyError("torch", "models"),
    md.UsageError("wrong"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_survives_pickling(error: md.MiniDecoderError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert copy.__dict__ == error.__dict__


def test_a_limit_says_which_argument_sets_it_or_that_none_does() -> None:
    raised = md.ConstraintTooLargeError("more than 10 states", "max_states")
    assert (raised.limit, str(raised)) == (
        "max_states",
        "more than 10 states (the limit is the argument max_states)",
    )
    fixed = md.ConstraintTooLargeError("more than 10 steps")
    assert (fixed.limit, str(fixed)) == (None, "more than 10 steps (a fixed limit)")


def _raised_with_an_argument() -> list[tuple[str, str, str]]:
    """(place, the argument that is named, the function around it), for each limit of the package."""
    found = []
    for file in sorted(Path(md.__file__).parent.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
        for function in functions:
            for call in ast.walk(function):
                if not isinstance(call, ast.Call) or ast.unparse(call.func) != "ConstraintTooLargeError":
                    continue
                if len(call.args) > 1:
                    place = f"{file.name}:{call.lineno}"
                    found.append((place, ast.literal_eval(call.args[1]), ast.unparse(function)))
    return found


def test_a_limit_that_names_an_argument_is_measured_by_it() -> None:
    named = _raised_with_an_argument()
    assert len(named) > 6
    for place, argument, function in named:
        assert f".{argument}" in function, f"{place} names {argument}, which its function does not read"


def test_a_fixed_limit_of_a_schema_or_a_grammar_names_no_argument() -> None:
    vocabulary = md.Vocabulary.from_tokens([*map(chr, range(32, 127)), "</s>"], eos="</s>")
    primes = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37]
    schemas: list[dict[str, Any]] = [
        {"allOf": [{"not": {"multipleOf": prime}} for prime in primes]},
        {"minimum": Decimal("1e6000")},
    ]
    for schema in schemas:
        with pytest.raises(md.ConstraintTooLargeError, match=r"\(a fixed limit\)$") as fault:
            md.compile_json_schema(schema, vocabulary)
        assert fault.value.limit is None
    with pytest.raises(md.ConstraintTooLargeError, match="argument max_states") as fault:
        md.compile_regex("[ab]*a[ab]{12}", vocabulary, max_states=100)
    assert fault.value.limit == "max_states"
