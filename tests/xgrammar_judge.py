"""XGrammar asked whether a grammar accepts a text: a judge that shares nothing with the package."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

END = 256


def compile_with_xgrammar(grammar: str) -> Callable[[str], bool]:
    """Whether a whole text is a member of the grammar's language, according to XGrammar."""
    xgrammar = _xgrammar()
    tokens = [*(bytes([byte]) for byte in range(256)), b"</s>"]
    compiler = xgrammar.GrammarCompiler(xgrammar.TokenizerInfo(tokens, stop_token_ids=[END]))
    compiled = compiler.compile_grammar(grammar)

    def accepts(text: str) -> bool:
        matcher = xgrammar.GrammarMatcher(compiled)
        return bool(matcher.accept_string(text) and matcher.accept_token(END))

    return accepts


def _xgrammar() -> Any:
    try:
        import xgrammar
    except ImportError:
        if os.environ.get("MINIDECODER_REQUIRE_ALL") == "1":
            pytest.fail("XGrammar is not installed: pip install 'minidecoder[peers]'")
        pytest.skip("XGrammar is not installed")
    return xgrammar
