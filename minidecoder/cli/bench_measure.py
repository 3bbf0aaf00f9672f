"""One run of one case: the clock around compiling, first mask, 200 masks, and masks seen before.

A check comes first and untimed: the sample must pass token by token to its end, the other text must be
refused, and the number of allowed tokens in each state is kept, so that engines can be compared.

    total   compile, then 200 times a mask and the next token; EOS ends the sample, and it starts again
    new     masks of states not seen before: where no earlier place in the sample has the same mask
    warm    a mask in a state that was seen before, just after a token was accepted

Left out: repeating runs and judging them (`bench`, `bench_report`). Times are seconds of wall clock.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Final
from zlib import crc32

from minidecoder.cli.bench_cases import MASKS, Case
from minidecoder.cli.bench_engines import Engine, Session
from minidecoder.cli.bench_vocabulary import BenchVocabulary
from minidecoder.tokens.bitmask import is_set

__all__ = ["CaseFailed", "Masks", "Timing", "check", "measure"]

_WARM_FILLS: Final = 300


class CaseFailed(Exception):
    """The engine does not do what the case asks for, so its time would say nothing."""


@dataclass(frozen=True)
class Masks:
    """The masks along the sample, one per token: how many tokens each allows, and its checksum."""

    tokens: tuple[int, ...]
    allowed: tuple[int, ...]
    checksum: tuple[int, ...]

    @property
    def new(self) -> tuple[int, ...]:
        """The places whose mask stands at no earlier place, the first place left out."""
        return tuple(place for place, mask in enumerate(self.checksum) if mask not in self.checksum[:place])[
            1:
        ]


@dataclass(frozen=True)
class Timing:
    """Seconds. `cold`: compile and first mask; `new`, `slowest`: median and slowest mask of the states not
    seen before, the first one left out."""

    compile: float
    first: float
    cold: float
    total: float
    warm: float
    new: float
    slowest: float


def check(engine: Engine, case: Case, vocabulary: BenchVocabulary) -> Masks:
    """Walk both texts. Raises `CaseFailed` where the engine's language is not that of the case."""
    engine.forget()
    session = engine.session(engine.compile(case))
    masks = _masks_along(engine, session, vocabulary.sample(case.text))
    if len(masks.allowed) < len(masks.tokens):
        raise CaseFailed(f"blocks token {len(masks.allowed)} of the sample, which matches")
    other = vocabulary.sample(case.refused)
    session.reset()
    if len(_masks_along(engine, session, other).allowed) == len(other):
        raise CaseFailed(f"accepts {case.refused!r}, which does not match")
    return masks


def _masks_along(engine: Engine, session: Session, tokens: list[int]) -> Masks:
    """The masks before each token, as far as tokens are allowed and taken."""
    allowed, checksum = [], []
    for token_id in tokens:
        session.fill()
        if not is_set(engine.row, token_id) or not session.accept(token_id):
            break
        allowed.append(_count(engine))
        checksum.append(crc32(engine.row.tobytes()))
    return Masks(tuple(tokens), tuple(allowed), tuple(checksum))


def _count(engine: Engine) -> int:
    return int.from_bytes(engine.row.tobytes(), "little").bit_count()


def measure(engine: Engine, case: Case, sample: Masks, masks: int = MASKS) -> Timing:
    """Time one run, from nothing compiled. `sample`: as `check` gives it."""
    engine.forget()
    gc.collect()
    tokens = sample.tokens
    start = perf_counter()
    compiled = engine.compile(case)
    compile_s = perf_counter() - start
    session = engine.session(compiled)
    fills = _fill_and_accept(session, tokens, masks)
    total_s = perf_counter() - start
    new = [fills[place] for place in sample.new if place < masks] or fills[:1]
    _fill_and_accept(session, tokens, len(tokens))  # a sample of more than 200 tokens is now seen whole
    warm = _fill_and_accept(session, tokens, _WARM_FILLS)
    return Timing(compile_s, fills[0], compile_s + fills[0], total_s, median(warm), median(new), max(new))


def _fill_and_accept(session: Session, tokens: tuple[int, ...], masks: int) -> list[float]:
    """From the start, `masks` times a mask and the next token; the seconds of each mask."""
    session.reset()
    seconds = []
    place = 0
    for _ in range(masks):
        start = perf_counter()
        session.fill()
        seconds.append(perf_counter() - start)
        if not session.accept(tokens[place]):
            raise CaseFailed(f"blocks token {place} of the sample, which it accepted before")
        place += 1
        if place == len(tokens):
            session.reset()
            place = 0
    return seconds
