"""Token classes: the index of every state at once, in two small arrays.

A token is a function on states, f_t: Q → Q, and most tokens are the same function: on the price
machine every digit is. The function of a trie node is its parent's function followed by one byte,
so one sweep over the trie finds the class of each token, and only distinct (function, byte class)
pairs are ever computed:

    next_state[class_of_token[t], q]        the state after token t from state q; DEAD if blocked

Left out: machines with thousands of distinct functions (long literals), which `sweep` serves.
Cost: O(trie nodes) array work, and O(C K) vectors of length Q at the most, a few hundred in practice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from minidecoder.automaton import DEAD, State
from minidecoder.regex.limits import Limits
from minidecoder.regex.utf8 import ByteDFA
from minidecoder.tokens.dead_ends import alive_by_single_bytes, grow_backwards
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["MAX_TABLE_BYTES", "TokenClasses", "build_token_classes"]

MAX_TABLE_BYTES: Final = 20_000_000
_DEAD_FUNCTION: Final = 0
_IDENTITY: Final = 1


@dataclass(frozen=True, eq=False)
class TokenClasses:
    """`class_of_token`: int32 (V,); `next_state`: int32 (C, Q+1), class 0 is DEAD everywhere;
    `alive`: bool (Q+1,), the states from which this vocabulary can finish."""

    class_of_token: NDArray[np.int32]
    next_state: NDArray[np.int32]
    alive: NDArray[np.bool_]

    form: str = "token classes"

    def __post_init__(self) -> None:
        for array in (self.class_of_token, self.next_state, self.alive):
            array.flags.writeable = False  # shared by every request

    @property
    def nbytes(self) -> int:
        """Bytes of the three arrays."""
        return self.class_of_token.nbytes + self.next_state.nbytes + self.alive.nbytes

    def allowed(self, state: State) -> NDArray[np.bool_]:
        """bool (V,): the tokens after which the text can still be finished. EOS is not judged here."""
        is_live: NDArray[np.bool_] = self.next_state[:, state] != DEAD  # (C,)
        return is_live[self.class_of_token]

    def after(self, state: State, token_id: int) -> State:
        """The state after one token; DEAD where it is not allowed."""
        return State(int(self.next_state[self.class_of_token[token_id], state]))

    def is_alive(self, state: State) -> bool:
        return bool(self.alive[state])


def build_token_classes(
    dfa: ByteDFA, vocabulary: Vocabulary, limits: Limits | None = None, *, max_bytes: int = MAX_TABLE_BYTES
) -> TokenClasses | None:
    """The classes of all tokens, dead ends trimmed; None where `max_bytes` would be passed."""
    trie = vocabulary.trie
    functions = _Functions(dfa, max_bytes)
    of_node = np.zeros(len(trie), dtype=np.intp)
    of_node[0] = _IDENTITY
    for low, high in zip(trie.level[1:], trie.level[2:], strict=False):
        if limits is not None:
            limits.check_time()
        byte_class = dfa.byte_class[trie.byte[low:high]]
        moved = functions.follow(of_node[trie.parent[low:high]], byte_class)
        if moved is None:
            return None
        of_node[low:high] = moved
    of_token = of_node[trie.node_of_token]
    of_token[trie.node_of_token == 0] = _DEAD_FUNCTION  # ids without bytes: no text reaches them
    return _trimmed(*functions.used_by(of_token), alive_by_single_bytes(dfa, vocabulary))


class _Functions:
    """Every distinct function Q → Q met so far, numbered; and what each byte class makes of it."""

    def __init__(self, dfa: ByteDFA, max_bytes: int) -> None:
        self.columns = np.ascontiguousarray(dfa.table.T)  # (K, Q+1)
        identity = np.arange(len(dfa.table), dtype=np.int32)
        self.vectors = [np.zeros_like(identity), identity]
        self.number = {vector.tobytes(): n for n, vector in enumerate(self.vectors)}
        self.most = max_bytes // identity.nbytes
        # moves[f, k]: the function "f, then a byte of class k"; -1 where not yet computed
        self.moves = np.full((16, len(self.columns)), -1, dtype=np.intp)
        self.moves[_DEAD_FUNCTION] = _DEAD_FUNCTION

    def follow(self, functions: NDArray[np.intp], byte_class: NDArray[np.intp]) -> NDArray[np.intp] | None:
        """The functions one byte later, elementwise; None once there are too many to keep."""
        pairs = functions * len(self.columns) + byte_class
        moved = self.moves.ravel()[pairs]
        for pair in np.unique(pairs[moved < 0]).tolist():
            self._compute(*divmod(pair, len(self.columns)))
            if len(self.vectors) > self.most:
                return None
        return np.asarray(self.moves.ravel()[pairs], dtype=np.intp)

    def _compute(self, function: int, byte_class: int) -> None:
        vector = self.columns[byte_class][self.vectors[function]]
        key = vector.tobytes()
        if key not in self.number:
            self.number[key] = len(self.vectors)
            self.vectors.append(vector)
            if len(self.vectors) > len(self.moves):
                self.moves = np.vstack([self.moves, np.full_like(self.moves, -1)])
        self.moves[function, byte_class] = self.number[key]

    def used_by(self, of_token: NDArray[np.intp]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """(class_of_token, next_state) with only the functions that whole tokens have."""
        used = np.zeros(len(self.vectors), dtype=np.bool_)
        used[of_token] = True
        used[_DEAD_FUNCTION] = True  # so that class 0 is always the dead one
        number = np.cumsum(used, dtype=np.int32) - 1
        vectors = [self.vectors[n] for n in np.flatnonzero(used)]
        return number[of_token].astype(np.int32), np.stack(vectors)


def _trimmed(
    class_of_token: NDArray[np.int32], next_state: NDArray[np.int32], alive: NDArray[np.bool_]
) -> TokenClasses:
    """Turn moves into dead ends into DEAD, by reverse reachability over whole tokens."""
    alive = grow_backwards(alive, next_state.T)
    trimmed = np.where(alive[next_state], next_state, np.int32(DEAD))
    return TokenClasses(class_of_token, trimmed, alive)
