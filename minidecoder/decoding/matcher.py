"""The state of one request: which tokens may come next, and what is left after one was accepted.

A matcher walks a `Constraint`. States are integers that never change, so going back is popping
a list and a fork is a copy of it. A refused token leaves everything as it was (xgrammar#164).

    m.fill_bitmask(row)  →  the model's logits are masked, a token is drawn  →  m.accept_token(id)

Left out: logits and drawing (`sampling`, `loop`); a matcher belongs to one thread, its constraint to
all. Cost: O(1) per token with token classes, O(L) with a sweep; a mask is a copy of ceil(V/32) words
once its state was seen, and the matcher itself adds 0.2 µs to the copy.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minidecoder.automaton import DEAD, State, walk
from minidecoder.decoding.constraint import Constraint
from minidecoder.errors import UsageError
from minidecoder.tokens.bitmask import Bitmask, allocate, check_words, fill, is_set, unpack, words
from minidecoder.tokens.checks import check_type, utf8_bytes, whole_number

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Matcher"]

_CONTINUATION_BYTES: Final = range(0x80, 0xC0)  # in UTF-8, all bytes of a character but its first
_ARRAY: Final = np.ndarray
_INT32: Final = np.dtype(np.int32)
# the state, whether EOS has ended the text, the state's hold, and the bytes of the step that led here
_Place: TypeAlias = tuple[State, bool, object, bytes]


class Matcher:
    """Stands in one state of `constraint`. One accept_* call is one step, and rollback counts steps."""

    # What a step needs lies in slots: this is the one class whose nanoseconds a server pays per token.
    __slots__ = (
        "__weakref__",
        "_after",
        "_bytes",
        "_eos_ids",
        "_history",
        "_hold",
        "_mask",
        "_shape",
        "_width",
        "constraint",
    )

    def __init__(self, constraint: Constraint) -> None:
        check_type(constraint, Constraint, "constraint", "compile_regex(pattern, vocabulary) gives one")
        self.constraint = constraint
        self._width = len(constraint.vocabulary)
        self._shape = (words(self._width),)
        self._eos_ids = frozenset(constraint.vocabulary.eos_ids)
        self._bytes = constraint.vocabulary.token_bytes
        self._after = constraint.index.after
        self._hold = constraint.automaton.hold
        start = constraint.automaton.start
        self._history: list[_Place] = [(start, False, self._hold(start), b"")]
        self._mask: Bitmask | None = None  # of the present state, once asked for

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
    def text(self) -> bytes:
        """The bytes accepted so far. O(steps)."""
        return b"".join(data for _, _, _, data in self._history)

    @property
    def steps(self) -> int:
        """The number of accepted steps, which is as far as `rollback` can go."""
        return len(self._history) - 1

    # -- what may come next ---------------------------------------------------------------------

    def bitmask(self) -> Bitmask:
        """int32 (ceil(V/32),): the allowed tokens, read-only; all zero once terminated."""
        mask = self._mask
        if mask is None:
            state, ended, _, _ = self._history[-1]
            mask = self._mask = self.constraint.bitmask(DEAD if ended else state)
        return mask

    def fill_bitmask(self, row: Bitmask | Tensor) -> None:
        """Write the mask into `row`, int32 (ceil(V/32),), NumPy or torch. Another shape or type, or one that
        cannot be written: `UsageError`."""
        mask = self._mask
        if mask is None:
            mask = self.bitmask()
        # subtle: the row is looked at each time, as its owner may have reshaped or locked it since.
        if type(row) is _ARRAY and row.dtype is _INT32 and row.shape == self._shape:
            try:
                row[...] = mask
                return
            except ValueError:  # read-only, and `fill` says so
                pass
        fill(row, mask)

    def fill_bitmask_window(self, rows: Bitmask | Tensor, draft_token_ids: Iterable[int]) -> int:
        """The masks along a draft, for speculative decoding; the matcher stays where it is.

        `rows`: int32 (n or more, ceil(V/32)) for n - 1 draft tokens. Row i is the mask before draft token
        i, the row after the last one the mask of the token to follow. Returns how many draft tokens would
        be accepted; the rows behind the first refused one, or behind EOS, allow nothing. Rows beyond n
        stay as they are. Raises `UsageError` for other rows, too few of them, or an id out of range.
        """
        drafts = self.constraint.vocabulary.check_ids(draft_token_ids, "draft_token_ids")
        check_words(rows, (-1, *self._shape), "window")
        if len(rows) <= len(drafts):
            raise UsageError(f"{len(drafts)} draft tokens need {len(drafts) + 1} rows, not {len(rows)}")
        taken, place = 0, len(self._history)
        try:
            self.fill_bitmask(rows[0])
            for token_id in drafts:
                if not self.accept_token(token_id):
                    break
                taken += 1
                self.fill_bitmask(rows[taken])
        finally:
            # What was accepted, not what was drafted (vllm#25905), wherever an interrupt may have struck.
            del self._history[place:]
            self._mask = None
        fill(rows[taken + 1 : len(drafts) + 1], allocate(self._width, batch=len(drafts) - taken))
        return taken

    def allowed_token_ids(self) -> NDArray[np.int64]:
        """int64 (n,), ascending: the ids that `accept_token` would take now."""
        return np.flatnonzero(unpack(self.bitmask(), self._width)).astype(np.int64)

    def is_allowed(self, token_id: int) -> bool:
        """Whether `accept_token` would take the token. Raises `UsageError` for an id out of range."""
        return is_set(self.bitmask(), self.constraint.vocabulary.check_id(token_id))

    def jump_forward_string(self) -> str:
        """The text that must come next whatever the model says; `""` where there is a choice.

        At a state where the text may end nothing is forced. Only whole characters are returned, so
        inside a character nothing is.
        """
        machine, state, forced = self.constraint.automaton, self.state, bytearray()
        while not self.is_terminated and not machine.is_accepting(state):
            following = machine.live_bytes(state)
            if len(following) != 1:
                break
            forced += bytes(following)
            state = machine.step(state, following[0])
        if forced and forced[0] in _CONTINUATION_BYTES:
            return ""
        # subtle: all emoji begin F0 9F, which is forced but is no character yet (sglang#549).
        return codecs.utf_8_decode(forced, "strict", False)[0]

    # -- moving ---------------------------------------------------------------------------------

    def accept_token(self, token_id: int) -> bool:
        """Take one token; False, and nothing changes, where it is not allowed. An id out of range, or no
        whole number: `UsageError`."""
        if type(token_id) is not int or not 0 <= token_id < self._width:
            token_id = self.constraint.vocabulary.check_id(token_id)
        state, ended, _, _ = self._history[-1]
        if ended:
            return False
        if token_id in self._eos_ids:
            return self.is_accepting and self._push(state, b"", True)
        return self._push(self._after(state, token_id), self._bytes[token_id])

    def accept_string(self, text: str | bytes) -> bool:
        """Take some text as one step, however tokens would cut it; False where it cannot stand here.

        The text may end inside a character or a token, but never where no tokens could finish it.
        """
        data = utf8_bytes(text, "the text")
        if self.is_terminated:
            return False
        path = walk(self.constraint.automaton, self.state, data)
        state = path[-1] if path else self.state
        return self._push(state if self.constraint.index.is_alive(state) else DEAD, data)

    def _push(self, state: State, data: bytes, ends: bool = False) -> bool:
        if state == DEAD:
            return False
        self._history.append((state, ends, self._hold(state), data))
        self._mask = None
        return True

    def rollback(self, steps: int) -> None:
        """Undo the last `steps` accepted steps, across EOS too. Too far raises `UsageError`."""
        steps = whole_number(steps, "rollback's number of steps")
        if not 0 <= steps <= self.steps:
            raise UsageError(
                f"rollback({steps}): {self.steps} steps were accepted, so 0 to {self.steps} can be undone"
            )
        del self._history[len(self._history) - steps :]
        self._mask = None

    def reset(self) -> None:
        """Back to the start, as if newly made."""
        del self._history[1:]
        self._mask = None

    def fork(self) -> Matcher:
        """An independent matcher in the same place, with the same past."""
        copy = Matcher(self.constraint)
        copy._history = self._history.copy()
        return copy

    __copy__ = fork  # a copy that shared the list of steps would move with this one

    def __deepcopy__(self, memo: object) -> Matcher:
        return self.fork()

    def __reduce__(self) -> NoReturn:
        """Pickle is refused: its states are numbers of one automaton, in this process."""
        raise UsageError(
            "a Matcher cannot be pickled: send what its constraint was compiled from, and its text; in the "
            "other process compile, and take the text with accept_string (one step)"
        )

    def __repr__(self) -> str:
        name = self.constraint.automaton.name(self.state)
        return (
            f"Matcher({self.constraint.source!r}, {name}, {self.steps} steps{', ended' * self.is_terminated})"
        )
