"""One state at a time: sweep the trie with the live nodes only.

From state q the sweep carries (node, state) pairs down the trie, level by level, and drops each
branch where its byte dies. Nothing is built ahead, so a machine of any size gives its first mask at
once: in the middle of a long literal a sweep touches a handful of nodes. Where most of a level is
alive, in a string or under `.`, the whole level is moved at once, without lists of nodes. A sweep may
also begin in many nodes at once (`Starts`), where a token goes on after a rule has returned.

Left out: sharing work between states, which `token_classes` does where its tables stay small.
Cost: array work on the live nodes and their children; about ten times less per node on whole levels.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from minidecoder.automaton import DEAD, State
from minidecoder.regex.limits import Limits
from minidecoder.regex.utf8 import ByteDFA
from minidecoder.tokens.dead_ends import alive_by_single_bytes
from minidecoder.tokens.trie import Trie, spans
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["Level", "ManyStarts", "Starts", "States", "Step", "SweepIndex", "sweep", "tokens_reached"]

States: TypeAlias = NDArray[np.intp]
Step: TypeAlias = Callable[[States, NDArray[np.uint8]], States]
Nodes: TypeAlias = "NDArray[np.intp] | slice"
Level: TypeAlias = tuple[Nodes, States]
"""The nodes met on one level of the trie and the state in which each was reached. A slice is the whole
level, with DEAD where a node was not reached; an array holds live nodes only."""

_WHOLE_LEVEL: Final = 6  # once a sixth of a level is alive, moving all of it is cheaper than a list
_FEW_NODES = 256  # of which a list is cheap in any case


def sweep(trie: Trie, state: State, step: Step) -> Iterator[Level]:
    """Level by level, the nodes that `state` reaches and the states they reach.

    `step(states, bytes)` gives the states one byte later, elementwise; DEAD stays DEAD.
    """
    nodes: NDArray[np.intp] = np.zeros(1, dtype=np.intp)
    states: States = np.array([state], dtype=np.intp)
    for depth in range(1, trie.depth + 1):
        low, high = trie.level[depth], trie.level[depth + 1]
        first, last = trie.first_child[nodes], trie.first_child[nodes + 1]
        children = spans(first, last)
        if len(children) > max(_FEW_NODES, (high - low) // _WHOLE_LEVEL):
            yield from _whole_levels(trie, depth, nodes, states, step)
            return
        nodes, states = _live_children(trie, children, states.repeat(last - first), step)
        if not len(nodes):
            return
        yield nodes, states


class Starts:
    """Nodes on any levels in which walks begin: many walks from one set, each in another state.

    `nodes`: intp, each once. Their children are sorted by byte once, so that a walk looks only at those
    whose byte it can read.
    """

    def __init__(self, trie: Trie, nodes: NDArray[np.intp]) -> None:
        self.trie = trie
        self.nodes = nodes
        children = spans(trie.first_child[nodes], trie.first_child[nodes + 1])
        self._children, self._end = _by_byte(children, trie.byte[children])

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return int(self.nodes.nbytes + self._children.nbytes + self._end.nbytes)

    def sweep(self, state: State, step: Step) -> Iterator[Level]:
        """What `state` reaches from here, one byte further at a time: a step has nodes of many levels."""
        count = np.diff(self._end, prepend=0)
        bytes_ = count.nonzero()[0].astype(np.uint8)
        after = step(np.full(len(bytes_), state, dtype=np.intp), bytes_)
        live = after.nonzero()[0]
        count, end = count[bytes_[live]], self._end[bytes_[live]]
        nodes, states = self._begun(self._children[spans(end - count, end)], after[live].repeat(count))
        while len(nodes):
            yield nodes, states
            first, last = self.trie.first_child[nodes], self.trie.first_child[nodes + 1]
            children = spans(first, last)
            nodes, states = _live_children(self.trie, children, states.repeat(last - first), step)

    def _begun(self, children: NDArray[np.intp], states: States) -> tuple[NDArray[np.intp], States]:
        return children, states


class ManyStarts(Starts):
    """The same for a good part of all nodes, `among`: bool (N,). All nodes are sorted by byte, once for a
    trie, and of those that a walk can read it keeps the children of its set."""

    def __init__(self, trie: Trie, among: NDArray[np.bool_]) -> None:
        self.trie = trie
        self.among = among
        if trie not in _sorted_nodes:
            _sorted_nodes[trie] = _by_byte(np.arange(1, len(trie)), trie.byte[1:])
        self._children, self._end = _sorted_nodes[trie]

    @property
    def nodes(self) -> NDArray[np.intp]:  # type: ignore[override]
        return self.among.nonzero()[0]

    @property
    def nbytes(self) -> int:
        return int(self.among.nbytes)

    def _begun(self, children: NDArray[np.intp], states: States) -> tuple[NDArray[np.intp], States]:
        kept = self.among[self.trie.parent[children]]
        return children[kept], states[kept]


_sorted_nodes: Final = WeakKeyDictionary[Trie, "tuple[NDArray[np.intp], NDArray[np.intp]]"]()


def _by_byte(nodes: NDArray[np.intp], bytes_: NDArray[np.uint8]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The nodes in the order of their bytes, and intp (256,): where those of a byte end."""
    return nodes[bytes_.argsort(kind="stable")], np.bincount(bytes_, minlength=256).cumsum()


def _live_children(
    trie: Trie, children: NDArray[np.intp], states: States, step: Step
) -> tuple[NDArray[np.intp], States]:
    after = step(states, trie.byte[children])
    live = after.nonzero()[0]  # all but DEAD, which is 0
    return children[live], after[live]


def _whole_levels(
    trie: Trie,
    depth: int,
    nodes: NDArray[np.intp],
    states: States,
    step: Step,
) -> Iterator[Level]:
    """The same from `depth` on, for all nodes of each level at once."""
    low = trie.level[depth - 1]
    before = np.zeros(trie.level[depth] - low, dtype=np.intp)
    before[nodes - low] = states
    for first, last in zip(trie.level[depth:], trie.level[depth + 1 :], strict=False):
        before = step(before.take(trie.parent[first:last] - low), trie.byte[first:last])
        low = first
        yield slice(first, last), before


def tokens_reached(trie: Trie, levels: list[Level], alive: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """bool (V,): the tokens that a sweep ends in an alive state. `alive`: bool by state, False for DEAD."""
    reached = np.zeros(len(trie.node_of_token), dtype=np.bool_)
    for nodes, states in levels:
        if isinstance(nodes, slice):
            return _tokens_of_nodes(trie, levels, alive)
        reached[trie.tokens_at(nodes[alive[states]])] = True
    return reached


def _tokens_of_nodes(trie: Trie, levels: list[Level], alive: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The same by way of all nodes: cheaper than lists of ids where most tokens are reached."""
    node_reached = np.zeros(len(trie), dtype=np.bool_)
    for nodes, states in levels:
        node_reached[nodes] = alive.take(states)
    # subtle: ids without bytes stand at the root, which no level holds: False.
    return np.asarray(node_reached.take(trie.node_of_token), dtype=np.bool_)


class SweepIndex:
    """The index of a byte DFA, one row when it is asked for."""

    form = "sweep"

    def __init__(self, dfa: ByteDFA, vocabulary: Vocabulary, limits: Limits | None = None) -> None:
        self._dfa = dfa
        self._vocabulary = vocabulary
        self._flat = dfa.table.ravel()
        self.alive = _alive_states(dfa, vocabulary, self._step, limits or Limits())
        self.alive.flags.writeable = False
        self.nodes_touched = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the tables beside the automaton's."""
        return self.alive.nbytes

    def allowed(self, state: State) -> NDArray[np.bool_]:
        """bool (V,): the tokens after which the text can still be finished. EOS is not judged here."""
        levels = list(sweep(self._vocabulary.trie, state, self._step))
        self.nodes_touched += sum(len(states) for _, states in levels)
        return tokens_reached(self._vocabulary.trie, levels, self.alive)

    def after(self, state: State, token_id: int) -> State:
        """The state after one token, an id of 0..V-1 (see `TokenIndex`); DEAD where it is not allowed."""
        data = self._vocabulary.token_bytes[token_id]
        target = self._dfa.run(state, data) if data else DEAD
        return target if self.alive[target] else DEAD

    def is_alive(self, state: State) -> bool:
        return bool(self.alive[state])

    def _step(self, states: States, bytes_: NDArray[np.uint8]) -> States:
        cells = states * self._dfa.table.shape[1]
        cells += self._dfa.byte_class.take(bytes_)
        # subtle: mode="clip" skips a check of bounds that costs as much as the look-up itself.
        moved: States = self._flat.take(cells, mode="clip").astype(np.intp)
        return moved


def _alive_states(
    dfa: ByteDFA,
    vocabulary: Vocabulary,
    step: Step,
    limits: Limits,
) -> NDArray[np.bool_]:
    """bool (Q+1,): the states from which tokens of this vocabulary reach an accepting state."""
    # Single bytes settle nearly every state. Only the others are swept, each once.
    alive = alive_by_single_bytes(dfa, vocabulary)
    came_from: dict[int, list[int]] = defaultdict(list)
    saved = []
    for state in np.flatnonzero(~alive).tolist():
        limits.check_time()
        targets = _token_targets(vocabulary.trie, State(state), step) if state != DEAD else set()
        if any(alive[target] for target in targets):
            saved.append(state)
        for target in targets:
            came_from[target].append(state)
    while saved:
        state = saved.pop()
        if not alive[state]:
            alive[state] = True
            saved += came_from[state]
    return alive


def _token_targets(trie: Trie, state: State, step: Callable[[States, NDArray[np.uint8]], States]) -> set[int]:
    """The live states in which a token from `state` ends."""
    targets: set[int] = set()
    for nodes, states in sweep(trie, state, step):
        numbers = np.arange(nodes.start, nodes.stop) if isinstance(nodes, slice) else nodes
        targets.update(np.unique(states[trie.ends_token(numbers)]).tolist())
    return targets - {DEAD}
