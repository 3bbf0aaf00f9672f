"""An error leaves a worker process as it was raised there."""

from __future__ import annotations

import pickle

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
    MissingDependencyError("torch", "models"),
    md.UsageError("wrong"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_survives_pickling(error: md.MiniDecoderError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert copy.__dict__ == error.__dict__
