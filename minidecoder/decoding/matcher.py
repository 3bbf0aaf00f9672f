"""The state of one request: which tokens may come next, and what is left after one was accepted.

A matcher walks a `Constraint`. States are integers that never change, so going back is popping
a list and a fork is a copy of it. A refused token leaves everything as it was (xgrammar#164).

    m.fill_bitmask(row)  →  the model's logits are masked, a token is drawn  →  m.accept_token(id)

Left out: logits and drawing (`sampling`, `loop`). Cost: O(1) per token with token classes, O(L)
with a sweep; a mask is a copy of ceil(V/32) words once its state was seen.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minidecoder.automaton import DEAD, State, walk
from minidecoder.decoding.constraint import Constraint
from minidecoder.errors import UsageError
from minidecoder.tokens.bitmask import Bitmask, is_set, unpack, words
from minidecoder.tokens.checks import check_type, utf8_bytes, whole_number

__all__ = ["Matcher"]


class Matcher:
    """Stands in one state of `constraint`. One accept_* call is one step, and rollback counts steps."""

    def __init__(self, constraint: Constraint) -> None:
        check_type(constraint, Constraint, "constraint", "compile_regex(pattern, vocabulary) gives one")
        self.constraint = constraint
        # (state, whether EOS has ended the text), the start first
        self._history: list[tuple[State, bool]] = [(constraint.automaton.start, False)]

    # -- where we are ---------------------------------------------------------------------------

    @property
    def state(self) -> State:
        return self._history[-1][0]

    @property
    def is_terminated(self) -> bool:
        """Whether an EOS token was accepted; nothing may follow it."""
        return self._history[-1][1]

    @property
    def is_accepting(self) -> bool:
        """Whether the text so far is a whole match, so that EOS is allowed."""
        return self.constraint.automaton.is_accepting(self.state)

    @property
    def steps(self) -> int:
        """The number of accepted steps, which is as far as `rollback` can go."""
        return len(self._history) - 1

    # -- what may come next ---------------------------------------------------------------------

    def bitmask(self) -> Bitmask:
        """int32 (ceil(V/32),): the allowed tokens, read-only; all zero once terminated."""
        return self.constraint.bitmask(DEAD if self.is_terminated else self.state)

    def fill_bitmask(self, row: Bitmask) -> None:
        """Write the mask into `row`, int32 (ceil(V/32),). Another shape or type, read-only: `UsageError`."""
        check_type(row, np.ndarray, "row", "bitmask.allocate(width) gives one")
        expected = words(len(self.constraint.vocabulary))
        if row.shape != (expected,) or row.dtype != np.int32:
            raise UsageError(
                f"the row must be int32 of shape ({expected},), this one is {row.dtype} {row.shape}"
            )
        if not row.flags.writeable:
            raise UsageError("the row is read-only: allocate one, or copy it")
        row[:] = self.bitmask()

    def allowed_token_ids(self) -> NDArray[np.int64]:
        """int64 (n,), ascending: the ids that `accept_token` would take now."""
        return np.flatnonzero(unpack(self.bitmask(), len(self.constraint.vocabulary))).astype(np.int64)

    def is_allowed(self, token_id: int) -> bool:
        """Whether `accept_token` would take the token. Raises `UsageError` for an id out of range."""
        return is_set(self.bitmask(), self.constraint.vocabulary.check_id(token_id))

    def jump_forward_string(self) -> str:
        """The text that must come next whatever the model says; `""` where there is a choice.

        At a state where the text may end nothing is forced. Only whole characters are returned.
        """
        machine, state, forced = self.constraint.automaton, self.state, bytearray()
        while not self.is_terminated and not machine.is_accepting(state):
            following = machine.live_bytes(state)
            if len(following) != 1:
                break
            forced += bytes(following)
            state = machine.step(state, following[0])
        # subtle: all emoji begin F0 9F, which is forced but is no character yet (sglang#549).
        return forced.decode("utf-8", "ignore")

    # -- moving ---------------------------------------------------------------------------------

    def accept_token(self, token_id: int) -> bool:
        """Take one token; False, and nothing changes, where it is not allowed."""
        token_id = self.constraint.vocabulary.check_id(token_id)
        if self.is_terminated:
            return False
        if token_id in self.constraint.vocabulary.eos_ids:
            return self.is_accepting and self._push(self.state, ends=True)
        return self._push(self.constraint.index.after(self.state, token_id))

    def accept_string(self, text: str | bytes) -> bool:
        """Take some text as one step, however tokens would cut it; False where it cannot stand here.

        The text may end inside a character or a token, but never where no tokens could finish it.
        """
        data = utf8_bytes(text, "the text")
        if self.is_terminated:
            return False
        path = walk(self.constraint.automaton, self.state, data)
        state = path[-1] if path else self.state
        return self._push(state if self.constraint.index.is_alive(state) else DEAD)

    def _push(self, state: State, *, ends: bool = False) -> bool:
        if state == DEAD:
            return False
        self._history.append((state, ends))
        return True

    def rollback(self, steps: int) -> None:
        """Undo the last `steps` accepted steps, across EOS too. Too far raises `UsageError`."""
        steps = whole_number(steps, "rollback's number of steps")
        if not 0 <= steps <= self.steps:
            raise UsageError(
                f"rollback({steps}): {self.steps} steps were accepted, so 0 to {self.steps} can be undone"
            )
        del self._history[len(self._history) - steps :]

    def reset(self) -> None:
        """Back to the start, as if newly made."""
        del self._history[1:]

    def fork(self) -> Matcher:
        """An independent matcher in the same place, with the same past."""
        copy = Matcher(self.constraint)
        copy._history = self._history.copy()
        return copy

    def __repr__(self) -> str:
        name = self.constraint.automaton.name(self.state)
        return (
            f"Matcher({self.constraint.source!r}, {name}, {self.steps} steps{', ended' * self.is_terminated})"
        )
