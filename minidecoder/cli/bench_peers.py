"""The other engines of the benchmark, each used as its own manual says, with the settings in its `note`.

Each gets the same token bytes and the same source, but for llguidance's Lark. A library is imported when
its engine is prepared, so that this module needs none of them.

Left out: what an engine has to offer (`bench_engines`), and timing (`bench_measure`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib import import_module
from typing import Any, ClassVar, Final

import numpy as np

from minidecoder.cli.bench_cases import FAMILIES, Case, Family
from minidecoder.cli.bench_engines import Engine, MiniDecoder, Session
from minidecoder.cli.bench_vocabulary import BenchVocabulary
from minidecoder.tokens.bitmask import Bitmask, allocate, is_set, words

__all__ = ["ENGINES", "LLGuidance", "LMFormatEnforcer", "OutlinesCore", "XGrammar"]

_ALL: Final[frozenset[Family]] = frozenset(FAMILIES)


class _Peer:
    """What most peers share: they read regular expressions and keep nothing between two compiles."""

    families: ClassVar[frozenset[Family]] = frozenset({"regex"})
    note: ClassVar[str] = ""

    def forget(self) -> None:
        """Nothing is kept."""


class OutlinesCore(_Peer):
    """A Rust index of all states, built ahead (Willard and Louf, 2023)."""

    name: ClassVar[str] = "outlines-core"
    package: ClassVar[str] = "outlines-core"
    module: ClassVar[str] = "outlines_core"
    families: ClassVar[frozenset[Family]] = frozenset({"regex", "schema"})
    note: ClassVar[str] = "drops tokens that end inside a character (0.2.14), so its masks are smaller there"

    def prepare(self, vocabulary: BenchVocabulary) -> None:
        self._library: Any = import_module("outlines_core")
        import_module("outlines_core.json_schema")
        ids: dict[bytes, list[int]] = {}
        for token_id, data in enumerate(vocabulary.token_bytes):
            if data:
                ids.setdefault(data, []).append(token_id)
        self._vocabulary = self._library.Vocabulary(vocabulary.eos_id, ids)
        self.row = allocate(len(vocabulary.token_bytes))
        self._eos = vocabulary.eos_id

    def compile(self, case: Case) -> Any:
        pattern = case.source
        if case.family == "schema":
            pattern = self._library.json_schema.build_regex_from_schema(case.source)
        return self._library.Index(pattern, self._vocabulary)

    def session(self, compiled: Any) -> Session:
        return _OutlinesSession(self._library.Guide(compiled), self.row, self._eos)


class _OutlinesSession:
    def __init__(self, guide: Any, row: Bitmask, eos: int) -> None:
        self._guide, self._row, self._eos = guide, row, eos
        self._address = row.ctypes.data
        self.reset = guide.reset

    def fill(self) -> None:
        self._guide.write_mask_into(self._address, self._row.size, self._row.itemsize)

    def accept(self, token_id: int) -> bool:
        if token_id == self._eos:  # allowed in a final state, yet no transition leads there
            return bool(self._guide.is_finished())
        try:
            self._guide.advance(token_id, return_tokens=False)
        except ValueError:
            return False
        return True


class XGrammar(_Peer):
    """Masks of an adaptive cache, computed ahead for every state (Dong et al., 2024)."""

    name: ClassVar[str] = "xgrammar"
    package: ClassVar[str] = "xgrammar"
    module: ClassVar[str] = "xgrammar"
    families: ClassVar[frozenset[Family]] = _ALL
    note: ClassVar[str] = "2 threads, its cache of compiled grammars off"

    def prepare(self, vocabulary: BenchVocabulary) -> None:
        self._library: Any = import_module("xgrammar")
        width = len(vocabulary.token_bytes)
        self._info = self._library.TokenizerInfo(
            list(vocabulary.token_bytes),  # b"" is a special token for it too
            vocab_type=self._library.VocabType.RAW,
            vocab_size=width,
            stop_token_ids=[vocabulary.eos_id],
        )
        self._compiler = self._library.GrammarCompiler(self._info, max_threads=2, cache_enabled=False)
        self._bitmask = self._library.allocate_token_bitmask(1, width)
        self.row = self._bitmask.numpy()[0]

    def compile(self, case: Case) -> Any:
        compiler = self._compiler
        compile_: dict[Family, Callable[[str], Any]] = {
            "regex": compiler.compile_regex,
            "grammar": compiler.compile_grammar,
            "schema": compiler.compile_json_schema,
        }
        return compile_[case.family](case.source)

    def session(self, compiled: Any) -> Session:
        return _XGrammarSession(self._library.GrammarMatcher(compiled), self._bitmask)


class _XGrammarSession:
    def __init__(self, matcher: Any, bitmask: Any) -> None:
        self.accept, self.reset = matcher.accept_token, matcher.reset
        self._fill, self._bitmask = matcher.fill_next_token_bitmask, bitmask

    def fill(self) -> None:
        self._fill(self._bitmask)


class LLGuidance(_Peer):
    """A lazy lexer over derivatives of regular expressions; nothing is built ahead."""

    name: ClassVar[str] = "llguidance"
    package: ClassVar[str] = "llguidance"
    module: ClassVar[str] = "llguidance"
    families: ClassVar[frozenset[Family]] = _ALL
    note: ClassVar[str] = "allows only the tokenizer's own cut of a text where the text is forced"

    def prepare(self, vocabulary: BenchVocabulary) -> None:
        self._library: Any = import_module("llguidance")
        self._fill = import_module("llguidance.numpy").fill_next_token_bitmask
        self._tokenizer = self._library.LLTokenizer(
            self._library.TokenizerWrapper(_LLGuidanceTokenizer(vocabulary))
        )
        self._rows = np.zeros((1, words(len(vocabulary.token_bytes))), dtype=np.int32)
        self.row = self._rows[0]

    def compile(self, case: Case) -> Any:
        matcher = self._library.LLMatcher
        read: dict[Family, Callable[[str], Any]] = {
            "regex": matcher.grammar_from_regex,
            "grammar": matcher.grammar_from_lark,
            "schema": matcher.grammar_from_json_schema,
        }
        return matcher(self._tokenizer, read[case.family](case.lark or case.source))

    def session(self, compiled: Any) -> Session:
        if compiled.is_error():
            raise ValueError(compiled.get_error())
        return _LLGuidanceSession(compiled, self._fill, self._rows)


class _LLGuidanceTokenizer:
    """The attributes that `llguidance.TokenizerWrapper` reads."""

    def __init__(self, vocabulary: BenchVocabulary) -> None:
        self.eos_token_id, self.bos_token_id = vocabulary.eos_id, None
        self.special_token_ids = vocabulary.special_ids
        # The byte FF, which no text holds, marks a special token.
        self.tokens = [data or b"\xff[%d]" % i for i, data in enumerate(vocabulary.token_bytes)]
        self._encode = vocabulary.encode

    def __call__(self, text: str | bytes) -> list[int]:
        return self._encode(text if isinstance(text, str) else text.decode())


class _LLGuidanceSession:
    def __init__(self, matcher: Any, fill: Any, rows: Any) -> None:
        self.accept, self.reset = matcher.consume_token, matcher.reset
        self._matcher, self._fill, self._rows = matcher, fill, rows

    def fill(self) -> None:
        self._fill(self._matcher, self._rows)


class LMFormatEnforcer(_Peer):
    """A walk of the tokens' prefix tree in Python, character by character, for each state that is met."""

    name: ClassVar[str] = "lm-format-enforcer"
    package: ClassVar[str] = "lm-format-enforcer"
    module: ClassVar[str] = "lmformatenforcer"
    note: ClassVar[str] = "reads characters, so it cannot allow a token that holds part of one"

    def prepare(self, vocabulary: BenchVocabulary) -> None:
        self._library: Any = import_module("lmformatenforcer")
        self._data = import_module("lmformatenforcer.tokenenforcer").TokenEnforcerTokenizerData(
            [(i, text, True) for i, text in _whole_texts(vocabulary)],
            lambda ids: b"".join(vocabulary.token_bytes[i] for i in ids).decode("utf-8", "replace"),
            vocabulary.eos_id,
            True,  # masks as bits, not as lists
            len(vocabulary.token_bytes),
        )
        self.row = allocate(len(vocabulary.token_bytes))
        logging.disable()  # it logs what it cannot parse, and then allows EOS

    def compile(self, case: Case) -> Any:
        return self._library.TokenEnforcer(self._data, self._library.RegexParser(case.source))

    def session(self, compiled: Any) -> Session:
        return _LMFormatEnforcerSession(compiled, self.row)


def _whole_texts(vocabulary: BenchVocabulary) -> list[tuple[int, str]]:
    decoded = ((i, data.decode("utf-8", "ignore")) for i, data in enumerate(vocabulary.token_bytes))
    return [(i, text) for i, text in decoded if text and text.encode() == vocabulary.token_bytes[i]]


class _LMFormatEnforcerSession:
    def __init__(self, enforcer: Any, row: Bitmask) -> None:
        self._enforcer, self._row = enforcer, row
        self._accepted: list[int] = []

    def fill(self) -> None:
        self._row[:] = self._enforcer.get_allowed_tokens(self._accepted).allowed_tokens.numpy()

    def accept(self, token_id: int) -> bool:
        if not is_set(self._row, token_id):  # it has no verb for this: whoever draws reads the mask
            return False
        self._accepted.append(token_id)
        return True

    def reset(self) -> None:
        self._accepted.clear()


ENGINES: Final[tuple[type[Engine], ...]] = (MiniDecoder, OutlinesCore, XGrammar, LLGuidance, LMFormatEnforcer)
