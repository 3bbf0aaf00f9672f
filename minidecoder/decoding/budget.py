"""Finishing in time: the mask also leaves out the tokens after which the rest would no longer fit.

With n tokens left, a token may be drawn only if the state after it needs at most n - 1 more, the end
counted. The state before it needed at most n, so there always is one: the text is never cut half way.

How many tokens a state needs is exact where the machine has a table (`distances`), else a proved upper
bound (`witness`), and `is_exact` says which. A bound may block what would have fitted, never the reverse.

Left out: what the cut does to the distribution. Cost: one search a constraint, kept as long as it lives;
then O(V) a step while the budget can bind, nothing before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NoReturn
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from minidecoder.automaton import DEAD, Automaton, State
from minidecoder.decoding.constraint import Constraint
from minidecoder.decoding.distances import NEVER, by_classes, by_single_bytes, by_sweeps
from minidecoder.decoding.witness import Witnesses
from minidecoder.errors import UsageError
from minidecoder.regex.utf8 import ByteDFA
from minidecoder.tokens.bitmask import Bitmask, pack
from minidecoder.tokens.sweep import sweep
from minidecoder.tokens.token_classes import TokenClasses
from minidecoder.tokens.token_index import AdaptiveIndex

__all__ = ["NEVER", "Budget", "make_budget", "token_targets"]

_Table = tuple[NDArray[np.int64], bool]

# The tables of a constraint, by the ids that are banned. They hold no constraint, so it can be let go.
_tables: Final[WeakKeyDictionary[Constraint, dict[frozenset[int], _Table]]] = WeakKeyDictionary()
_witnesses: Final[WeakKeyDictionary[Constraint, dict[frozenset[int], Witnesses]]] = WeakKeyDictionary()
_MOST_BANS: Final = 16  # sets of banned ids that one constraint remembers


class Budget:
    """`needed(state)`: tokens from a state to the end, EOS counted, `NEVER` where none are known to lead
    there; `is_exact`: whether fewer are impossible; `most`: the largest of them all, None if not known."""

    def __init__(
        self, constraint: Constraint, needed: Callable[[State], int], is_exact: bool, most: int | None = None
    ) -> None:
        self.needed = needed
        self.is_exact = is_exact
        self._constraint = constraint
        self._most = most

    def __reduce__(self) -> NoReturn:
        """Pickle is refused, as for the constraint."""
        self._constraint.__reduce__()

    def check_start(self, max_tokens: int) -> None:
        """`UsageError` where the constraint cannot be finished, from its start, in so many tokens."""
        needed = self.needed(self._constraint.automaton.start)
        if needed <= max_tokens:
            return
        if needed == NEVER:
            raise UsageError(
                "finish_within_budget: no way to the end was found, in tokens that are not banned, so that "
                "it cannot be promised; leave finish_within_budget out, or ban less"
            )
        shortest = "takes" if self.is_exact else "is known to take at most"
        raise UsageError(
            f"max_tokens={max_tokens} is too few to finish: the shortest text {shortest} {needed} tokens, "
            f"EOS among them; pass max_tokens={needed} or more"
        )

    def mask(self, state: State, left: int) -> Bitmask:
        """int32 (ceil(V/32),): the allowed tokens that leave enough of `left` tokens to finish."""
        if self._most is not None and self._most < left:
            return self._constraint.bitmask(state)
        held: list[object] = []  # a lazy machine may forget a state that nobody holds
        targets = token_targets(self._constraint, state, held)
        states, place = np.unique(targets, return_inverse=True)
        needed = np.array([self.needed(State(int(target))) for target in states], dtype=np.int64)
        allowed = (needed < left)[place]
        if left > 0 and self._constraint.automaton.is_accepting(state):
            allowed[list(self._constraint.vocabulary.eos_ids)] = True
        row = pack(allowed)
        row.flags.writeable = False
        return row


def make_budget(constraint: Constraint, banned: frozenset[int] = frozenset()) -> Budget:
    """The budget of a constraint whose run may not draw the ids in `banned`."""
    if not isinstance(constraint.automaton, ByteDFA):
        kept = _witnesses.setdefault(constraint, {})
        if banned not in kept:
            if len(kept) >= _MOST_BANS:
                kept.clear()
            kept[banned] = Witnesses(constraint.automaton, constraint.vocabulary, banned)
        return Budget(constraint, kept[banned].needed, is_exact=False)
    tables = _tables.setdefault(constraint, {})
    if banned not in tables:
        if len(tables) >= _MOST_BANS:
            tables.clear()
        tables[banned] = _search(constraint, constraint.automaton, banned)
    table, is_exact = tables[banned]
    finite = table[table < NEVER]
    # A state that can never finish is no longer excluded by the constraint's mask where tokens are banned.
    most = int(finite.max(initial=0)) if is_exact and not banned else None
    return Budget(constraint, lambda state: int(table[state]), is_exact, most)


def _search(constraint: Constraint, dfa: ByteDFA, banned: frozenset[int]) -> _Table:
    vocabulary = constraint.vocabulary
    if (classes := _classes(constraint)) is not None:
        return by_classes(dfa, vocabulary, banned, classes), True
    if (swept := by_sweeps(dfa, vocabulary, banned)) is not None:
        return swept, True
    return by_single_bytes(dfa, vocabulary, banned), False


def _classes(constraint: Constraint) -> TokenClasses | None:
    index = constraint.index
    if isinstance(index, AdaptiveIndex):
        return index.classes()
    return index if isinstance(index, TokenClasses) else None


def token_targets(constraint: Constraint, state: State, held: list[object] | None = None) -> NDArray[np.intp]:
    """intp (V,): the state after each token, DEAD where the constraint does not allow it; EOS left out.
    Those of a lazy machine mean something as long as `held`, to which this appends, is kept."""
    held = [] if held is None else held
    if isinstance(constraint.automaton, ByteDFA) and (classes := _classes(constraint)) is not None:
        return classes.next_state[:, state][classes.class_of_token].astype(np.intp)
    trie = constraint.vocabulary.trie
    after_node = np.zeros(len(trie), dtype=np.intp)
    for nodes, states in sweep(trie, state, _stepper(constraint.automaton, held)):
        after_node[nodes] = states
    after_node[0] = DEAD  # where ids without bytes stand
    return np.where(constraint.index.allowed(state), after_node[trie.node_of_token], DEAD)


def _stepper(
    machine: Automaton, held: list[object]
) -> Callable[[NDArray[np.intp], NDArray[np.uint8]], NDArray[np.intp]]:
    """One byte for many states: a look-up where there is a table, else each distinct pair once."""
    if isinstance(machine, ByteDFA):
        table, byte_class = machine.table, machine.byte_class
        return lambda states, bytes_: table[states, byte_class[bytes_]].astype(np.intp)

    def step(states: NDArray[np.intp], bytes_: NDArray[np.uint8]) -> NDArray[np.intp]:
        pairs, place = np.unique(states * 256 + bytes_, return_inverse=True)
        moved = [step_one(*divmod(pair, 256)) for pair in pairs.tolist()]
        return np.array(moved, dtype=np.intp)[place]

    def step_one(state: int, byte: int) -> int:
        target = DEAD if state == DEAD else machine.step(State(state), byte)
        held.append(machine.hold(target))
        return target

    return step
