"""A compiled constraint: an automaton, a vocabulary, and the index that joins them.

Immutable, so one Constraint serves any number of requests and threads; what moves is a `Matcher`.
Masks are made when a state is first met and kept, packed, in a cache limited by bytes. Compiled
constraints are kept the same way, by (constraint, vocabulary).

Left out: the state of a request (`matcher`). Cost: a mask is O(V) once per state, then O(1).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Final, NoReturn

import numpy as np

from minidecoder.automaton import DEAD, Automaton, State
from minidecoder.errors import UsageError
from minidecoder.regex.dfa import DFA
from minidecoder.tokens.bitmask import Bitmask, allocate
from minidecoder.tokens.cache import ByteLimitedCache
from minidecoder.tokens.token_index import TokenIndex
from minidecoder.tokens.vocabulary import Vocabulary

if TYPE_CHECKING:
    from minidecoder.decoding.matcher import Matcher

__all__ = ["Constraint", "clear_caches", "compiled_once"]

_COMPILED_CACHE_BYTES: Final = 256_000_000

# One cache for the masks of all constraints, so that many constraints do not hold many times its bytes.
_masks: Final[ByteLimitedCache[tuple[int, int], Bitmask]] = ByteLimitedCache(
    64_000_000,
    lambda row: row.nbytes + 400,  # and what Python keeps around it
)
_serial: Final = count()


@dataclass(frozen=True, eq=False)
class Constraint:
    """`source`: what was compiled, as the user wrote it; `automaton`: the machine the engine runs;
    `index`: its moves in tokens; `characters`: the machine people see, None where there is no table of
    states (grammars, schemas)."""

    source: str
    vocabulary: Vocabulary
    automaton: Automaton
    index: TokenIndex
    characters: DFA | None = None
    _number: int = field(default_factory=lambda: next(_serial), repr=False)

    def __repr__(self) -> str:
        states = "" if self.characters is None else f"{len(self.characters):,} states, "
        size = f"{states}{len(self.vocabulary):,} tokens"
        return f"Constraint({self.source!r:.200}, {size}, index: {self.index.form})"

    def matcher(self) -> Matcher:
        """A fresh matcher at the start, one per request."""
        from minidecoder.decoding.matcher import Matcher

        return Matcher(self)

    def bitmask(self, state: State) -> Bitmask:
        """int32 (ceil(V/32),), read-only: the tokens allowed in `state`, EOS where it accepts."""
        if state not in self.automaton:
            raise UsageError(f"state {state} is none of this automaton")
        return _masks.get((self._number, self.automaton.mask_key(state)), lambda: self._make_mask(state))

    def _make_mask(self, state: State) -> Bitmask:
        if state == DEAD:
            row = allocate(len(self.vocabulary))
        else:
            row = self.index.bitmask(state)
            if self.automaton.is_accepting(state):
                for token_id in self.vocabulary.eos_ids:
                    row[token_id >> 5] |= np.uint32(1 << (token_id & 31)).astype(np.int32)
        row.flags.writeable = False
        return row

    def __copy__(self) -> Constraint:
        return self  # it never changes

    def __deepcopy__(self, memo: object) -> Constraint:
        return self

    def __reduce__(self) -> NoReturn:
        """Pickle is refused: the machine has locks, grows in use, and is large beside its source."""
        raise UsageError(
            "a Constraint cannot be pickled, nor a Matcher or a Run that holds one: send the pattern, "
            "grammar or schema, and compile it again in the other process; of a Run, run.trace can be sent"
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What was remarked in compiling: rules that are useless, keywords that were left out."""
        notes: tuple[str, ...] = getattr(self.automaton, "notes", ())
        return notes

    @property
    def nbytes(self) -> int:
        """Bytes of the tables, for the cache of compiled constraints; masks have their own limit."""
        characters = 0 if self.characters is None else self.characters.table.nbytes
        return 4096 + self.index.nbytes + self.automaton.nbytes + characters


_compiled: ByteLimitedCache[Hashable, Constraint] = ByteLimitedCache(
    _COMPILED_CACHE_BYTES, lambda c: c.nbytes
)


def clear_caches() -> None:
    """Forget all compiled constraints and masks, as a benchmark must before each measurement."""
    _compiled.clear()
    _masks.clear()


def compiled_once(key: Hashable, vocabulary: Vocabulary, compile_: Callable[[], Constraint]) -> Constraint:
    """The constraint of this key and vocabulary, compiled where it is not yet in the cache."""
    return _compiled.get((key, vocabulary.hash), compile_)
