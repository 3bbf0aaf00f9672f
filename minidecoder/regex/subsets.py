"""Sets of NFA states: the states of the deterministic machine, and the moves between them.

Two kinds of NFA states add nothing to a set and are left out, if asked: those that only pass ε on
(Aho, Sethi and Ullman's "important states"), and those whose every continuation is accepted anyway,
because a state that reads S again and again, and may end, is in the set: in `x{1,256}\\.[a-z]*` the
count of the x is forgotten once the tail is reached. The URL pattern has 528 sets instead of 4,545.

Left out: assertions (`context`). Cost: a union of closures per set of characters and set of states.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from minidecoder.regex.charset import Ranges
from minidecoder.regex.limits import Limits
from minidecoder.regex.nfa import NFA

__all__ = ["Subsets"]

_FEW = 8  # closures that are looked up and joined; more are searched for anew


class Subsets:
    """Moves between ε-closed sets of NFA states. `members`: the classes that make up a set of characters;
    `important_only`: without the states that add nothing."""

    def __init__(
        self,
        nfa: NFA,
        members: dict[Ranges, tuple[int, ...]],
        limits: Limits | None = None,
        *,
        important_only: bool = False,
    ) -> None:
        self.nfa = nfa
        self.members = members
        self.important_only = important_only
        self._closures: dict[int, frozenset[int]] = {}
        self._absorbing: dict[int, int] = {}
        if important_only:
            bits = {ranges: sum(1 << k for k in classes) for ranges, classes in members.items()}
            self._absorbing = self._find_absorbing(bits)
            self._reads = _reads(nfa, bits, limits) if self._absorbing else []
        self.start = self._pruned(self._closure(nfa.start))

    def successors(self, subset: frozenset[int]) -> dict[int, frozenset[int]]:
        """class → the subset it leads to; classes that lead nowhere are absent."""
        by_set: dict[Ranges, list[int]] = defaultdict(list)
        for state in subset:
            for ranges, target in self.nfa.edges[state]:
                by_set[ranges].append(target)
        # Classes in the same of these sets lead to the same place, so each such group is joined once.
        sets_of: dict[int, int] = defaultdict(int)
        for number, ranges in enumerate(by_set):
            for k in self.members[ranges]:
                sets_of[k] |= 1 << number
        lists = list(by_set.values())
        merged = {
            group: self._union([t for n, targets in enumerate(lists) if group >> n & 1 for t in targets])
            for group in set(sets_of.values())
        }
        return {k: merged[group] for k, group in sets_of.items()}

    def accepts(self, subset: frozenset[int]) -> bool:
        """Whether the text may end here."""
        return self.nfa.accept in subset

    def _union(self, targets: Sequence[int]) -> frozenset[int]:
        if len(targets) <= _FEW:
            return self._pruned(frozenset().union(*map(self._closure, targets)))
        # Many at once share most of their closures: one search over all of them, and none is stored.
        return self._pruned(frozenset(filter(self._is_kept, self.nfa.closure(list(targets)))))

    def _find_absorbing(self, bits: dict[Ranges, int]) -> dict[int, int]:
        """The states that read S, come back to themselves and may end there, each with the bits of S."""
        found = {}
        for state, edges in enumerate(self.nfa.edges):
            for ranges, target in edges:
                if {state, self.nfa.accept} <= self._closure(target):
                    found[state] = bits[ranges]
        return found

    def _pruned(self, subset: frozenset[int]) -> frozenset[int]:
        """Without the states whose whole future is in S*, where a state that accepts S* is in the set."""
        if self.nfa.accept in subset and not subset.isdisjoint(self._absorbing):
            for state in subset.intersection(self._absorbing):
                if state in subset:  # not itself pruned by another
                    keep = {state, self.nfa.accept}
                    others = ~self._absorbing[state]
                    subset = frozenset(s for s in subset if s in keep or self._reads[s] & others)
        return subset

    def _closure(self, state: int) -> frozenset[int]:
        if self.important_only:
            state = self._past_lone_epsilons(state)
        if state not in self._closures:
            reached = self.nfa.closure([state])
            self._closures[state] = frozenset(filter(self._is_kept, reached))
        return self._closures[state]

    def _is_kept(self, state: int) -> bool:
        return not self.important_only or bool(self.nfa.edges[state]) or state == self.nfa.accept

    def _past_lone_epsilons(self, state: int) -> int:
        # subtle: a state with one ε edge and no other has its target's closure: sharing it keeps
        # (w1|w2|…|w10000)* from storing the same ten thousand states ten thousand times.
        while len(self.nfa.epsilon[state]) == 1 and not self._is_kept(state):
            state = self.nfa.epsilon[state][0]
        return state


def _reads(nfa: NFA, bits: dict[Ranges, int], limits: Limits | None) -> list[int]:
    """For each state the classes, as bits, that some path from it reads."""
    reads = [0] * len(nfa)
    changed = True
    while changed:  # states are numbered along the pattern: one round, and one more per nested loop
        changed = False
        if limits is not None:
            limits.check_time()
        for state in range(len(nfa) - 1, -1, -1):
            before = after = reads[state]
            for target in nfa.epsilon[state]:
                after |= reads[target]
            for ranges, target in nfa.edges[state]:
                after |= bits[ranges] | reads[target]
            if after != before:
                reads[state] = after
                changed = True
    return reads
