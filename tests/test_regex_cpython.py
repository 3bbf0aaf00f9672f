"""CPython's own cases: every supported pattern agrees with `re`, every other is a typed error."""

from __future__ import annotations

import re
import warnings
from collections import Counter

import pytest

from minidecoder.errors import RegexSyntaxError, UnsupportedFeatureError
from minidecoder.regex.compiler import compile_dfa

re_tests = pytest.importorskip("test.re_tests", reason="this Python comes without its own tests")

# May only improve: more supported, fewer unsupported. CPython adds a case now and then.
SUPPORTED_AT_LEAST, UNSUPPORTED_AT_MOST = 336, 27


def judge(pattern: str, text: str) -> str:
    try:
        compiled = re.compile(pattern)
    except re.error:
        with pytest.raises(RegexSyntaxError):
            compile_dfa(pattern)
        return "rejected by both"
    try:
        dfa = compile_dfa(pattern)
    except UnsupportedFeatureError:
        return "unsupported"
    starts = range(len(text) + 1) if len(text) < 40 else [0]
    parts = {text[i:j] for i in starts for j in (range(i, len(text) + 1) if len(starts) > 1 else [len(text)])}
    for part in parts:
        assert dfa.accepts(part) == (compiled.fullmatch(part) is not None), (pattern, part)
    return "supported"


def test_every_case_of_cpython_agrees_or_is_a_typed_error() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        verdicts = Counter(judge(case[0], case[1]) for case in re_tests.tests)
    assert verdicts["supported"] >= SUPPORTED_AT_LEAST
    assert verdicts["unsupported"] <= UNSUPPORTED_AT_MOST
    assert sum(verdicts.values()) == len(re_tests.tests)
