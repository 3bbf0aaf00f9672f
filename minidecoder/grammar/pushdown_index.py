"""The token index of a grammar: masks of whole stacks out of the sweeps of their frames.

The top frames are swept from the root of the trie, what lies below from the nodes at which they return.
A sweep is shared by all stacks that have the frame, so a new state costs a few look-ups and `or`s of rows.

Left out: EOS, which `decoding.constraint` adds. Cost: a new state touches as many frames as one token can
close, whatever the depth and the length of the text.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minidecoder.automaton import DEAD, State
from minidecoder.errors import ConstraintTooLargeError
from minidecoder.grammar.pushdown import PushdownAutomaton
from minidecoder.grammar.relative import RelativeSweeps, Swept
from minidecoder.grammar.stacks import Frame, Stacks
from minidecoder.tokens.bitmask import Bitmask, allocate, unpack
from minidecoder.tokens.sweep import Starts
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["PushdownIndex", "TokenSplit"]


@dataclass(frozen=True, eq=False)
class TokenSplit:
    """The vocabulary at one state. `allowed`, `dependent`: bool (V,). Tokens allowed whatever lies below the
    top frames, and tokens of which only the stack below can tell; every other token is blocked by the top."""

    allowed: NDArray[np.bool_]
    dependent: NDArray[np.bool_]


class PushdownIndex:
    """Moves and masks in tokens. Safe to share between threads: one lock guards what grows."""

    form = "stack machine"

    def __init__(self, automaton: PushdownAutomaton, vocabulary: Vocabulary) -> None:
        self.automaton = automaton
        self.vocabulary = vocabulary
        self.sweeps = RelativeSweeps(automaton.stacks, vocabulary.trie)

    @property
    def nbytes(self) -> int:
        """What the sweeps usually come to keep; their caches have limits of their own."""
        return 4_000_000

    def bitmask(self, state: State) -> Bitmask:
        """int32 (ceil(V/32),), a fresh row: the tokens that may be drawn in `state`, EOS left out."""
        row = self._any_depth(state)
        machine = self.automaton.stacks
        if self.automaton.at(state).depth + machine.reach > machine.max_depth:
            for token_id in np.flatnonzero(unpack(row, len(self.vocabulary))).tolist():
                if not self._fits(state, token_id):
                    row[token_id >> 5] &= ~np.uint32(1 << (token_id & 31)).astype(np.int32)
        return row

    def _fits(self, state: State, token_id: int) -> bool:
        """Whether a token stays within the limit of depth, which the sweeps do not know."""
        try:
            return self.after(state, token_id) != DEAD
        except ConstraintTooLargeError:
            return False

    def _any_depth(self, state: State) -> Bitmask:
        row = allocate(len(self.vocabulary))
        with self.automaton.stacks.lock:
            # (stacks to which the token has returned, the nodes at which it has)
            pending: list[tuple[Stacks, Starts]] = []
            for frame in self.automaton.at(state).canonical:
                swept = self.sweeps.inside(frame)
                _add(row, swept, frame[2], pending)
            seen = set[tuple[Frame, Starts]]()
            for stacks, starts in pending:  # grows while it is read
                for frame in stacks:
                    if (frame, starts) in seen:
                        continue
                    seen.add((frame, starts))
                    swept, at_once = self.sweeps.after_return(frame, starts)
                    _add(row, swept, frame[2], pending)
                    if at_once:
                        pending.append((frame[2], starts))
        return row

    def allowed(self, state: State) -> NDArray[np.bool_]:
        """bool (V,): `bitmask`, one by one."""
        return unpack(self.bitmask(state), len(self.vocabulary))

    def after(self, state: State, token_id: int) -> State:
        """The state after one token; DEAD where it may not be drawn."""
        data = self.vocabulary.token_bytes[token_id]
        return self.automaton.run(state, data) if data else DEAD

    def is_alive(self, state: State) -> bool:
        return state != DEAD

    def split(self, state: State) -> TokenSplit:
        """The tokens that the top frames decide, and those that they leave to the stack below."""
        trie = self.vocabulary.trie
        allowed = allocate(len(self.vocabulary))
        below_return = np.zeros(len(trie), dtype=np.bool_)
        with self.automaton.stacks.lock:
            for frame in self.automaton.at(state).canonical:
                swept = self.sweeps.inside(frame)
                allowed |= 0 if swept.allowed is None else swept.allowed
                if swept.returns is not None:
                    below_return[swept.returns.nodes] = True
        returns = below_return.copy()
        below_return[:] = False
        for low, high in zip(trie.level[1:], trie.level[2:], strict=False):
            parents = trie.parent[low:high]
            below_return[low:high] = below_return[parents] | returns[parents]
        decided = unpack(allowed, len(self.vocabulary))
        return TokenSplit(decided, below_return[trie.node_of_token] & ~decided)


def _add(row: Bitmask, swept: Swept, below: Stacks, pending: list[tuple[Stacks, Starts]]) -> None:
    if swept.allowed is not None:
        row |= swept.allowed
    if swept.returns is not None:
        pending.append((below, swept.returns))
