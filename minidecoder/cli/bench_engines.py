"""What the benchmark asks of an engine, and how it drives this package; the others are in `bench_peers`.

    engine.prepare(vocabulary)           once per vocabulary: trie, tokenizer information
    compiled = engine.compile(case)      pattern → whatever the engine wants before its first mask
    session = engine.session(compiled)   one request: fill a row, accept a token, start again

Masks go into a row that the engine owns, int32 (ceil(V/32),), the layout that all of them share.

Left out: timing (`bench_measure`) and the processes that engines run in (`bench_worker`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Protocol

import minidecoder
from minidecoder.cli.bench_cases import FAMILIES, Case, Family
from minidecoder.cli.bench_vocabulary import BenchVocabulary
from minidecoder.decoding import constraint
from minidecoder.schema.leaf_cache import LeafCache
from minidecoder.tokens.bitmask import Bitmask, allocate
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["Engine", "MiniDecoder", "Session"]


class Session(Protocol):
    """One request under a compiled constraint."""

    def fill(self) -> None:
        """Write the mask of the current state into the engine's row."""

    def accept(self, token_id: int) -> bool:
        """Take a token; False where it is not allowed, after which the session is of no more use."""

    def reset(self) -> None:
        """Back to the start."""


class Engine(Protocol):
    """`package` is what pip installs, `module` what Python imports, `note` what a reader should know."""

    name: ClassVar[str]
    package: ClassVar[str]
    module: ClassVar[str]
    families: ClassVar[frozenset[Family]]
    note: ClassVar[str]
    row: Bitmask

    def prepare(self, vocabulary: BenchVocabulary) -> None:
        """What is done once per vocabulary."""

    def forget(self) -> None:
        """Empty every cache that would make a second compile of the same source faster."""

    def compile(self, case: Case) -> Any:
        """Compile the source and build the index. Raises whatever the engine raises."""

    def session(self, compiled: Any) -> Session:
        """A request at the start."""


class MiniDecoder:
    """This package."""

    name: ClassVar[str] = "minidecoder"
    package: ClassVar[str] = "minidecoder"
    module: ClassVar[str] = "minidecoder"
    families: ClassVar[frozenset[Family]] = frozenset(FAMILIES)
    note: ClassVar[str] = ""

    def prepare(self, vocabulary: BenchVocabulary) -> None:
        read = vocabulary.vocabulary
        # Made anew, so that nothing of it is built yet.
        self._vocabulary = Vocabulary(read.token_bytes, read.eos_ids, read.special_text)
        self._vocabulary.prepare()
        self.row = allocate(len(read))

    def forget(self) -> None:
        constraint.clear_caches()
        for clear in _caches_by_source():
            clear()

    def compile(self, case: Case) -> Any:
        compile_: dict[Family, Callable[..., Any]] = {
            "regex": minidecoder.compile_regex,
            "grammar": minidecoder.compile_grammar,
            "schema": minidecoder.compile_json_schema,
        }
        return compile_[case.family](case.source, self._vocabulary)

    def session(self, compiled: Any) -> Session:
        return _MiniDecoderSession(compiled.matcher(), self.row)


def _caches_by_source() -> Iterator[Callable[[], None]]:
    """What empties each cache that is keyed by a part of a source. Tables that are made once in a process,
    such as those of Unicode, are unbounded caches, and stay."""
    for name, module in list(sys.modules.items()):
        for thing in vars(module).values() if name.startswith("minidecoder.") else ():
            if isinstance(thing, LeafCache):
                yield thing.clear
            elif hasattr(thing, "cache_parameters") and thing.cache_parameters()["maxsize"] is not None:
                yield thing.cache_clear


class _MiniDecoderSession:
    def __init__(self, matcher: Any, row: Bitmask) -> None:
        self.accept, self.reset = matcher.accept_token, matcher.reset
        self._matcher, self._row = matcher, row

    def fill(self) -> None:
        self._matcher.fill_bitmask(self._row)
