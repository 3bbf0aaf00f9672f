"""Chains folded, and of a large machine the part around the state that matters.

A chain is a row of states with one way in and one way out each: more than six edges of it are one line with
its text, its inner states beads on it. Of a machine with more than `MAX_DRAWN` states and chains only the
surroundings of the live state are drawn: two steps, a few branches of many, and at the border how many more.

Left out: places (`placing`). Cost: O(states + edges).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, TypeAlias

from minidecoder.viz.diagram import Arc, Diagram

__all__ = ["MAX_DRAWN", "Folded", "Part", "around", "fold", "whole"]

MAX_DRAWN: Final = 60
LONGEST_PLAIN_CHAIN: Final = 6
_BRANCHES: Final = ((6, 2), (1, 1))  # ways on and ways back that are followed, at the first and second step
Chain: TypeAlias = tuple[Arc, ...]


@dataclass(frozen=True)
class Folded:
    """A diagram whose long chains are one edge each. `nodes`: the states that remain, in order; `end_of`: the
    two ends of the chain that a bead lies on."""

    nodes: tuple[str, ...]
    plain: tuple[Arc, ...]
    chains: tuple[Chain, ...]
    ends_of: dict[str, tuple[str, str]]

    def links(self) -> list[tuple[str, str]]:
        return [arc.pair for arc in self.plain] + [(c[0].source, c[-1].target) for c in self.chains]


@dataclass(frozen=True)
class Part:
    """What is drawn of a diagram. `hidden`: states that are not; `more`: by state, how many of its
    successors (True) those are, and of its predecessors (False) where none is drawn."""

    nodes: tuple[str, ...]
    plain: tuple[Arc, ...]
    chains: tuple[Chain, ...]
    hidden: int = 0
    more: tuple[tuple[str, bool, int], ...] = ()

    def names(self) -> set[str]:
        """The states drawn, beads included."""
        return {*self.nodes, *(arc.source for chain in self.chains for arc in chain)}


def fold(diagram: Diagram) -> Folded:
    """Find the long chains, walking each from the first state that is not inside one."""
    ways_out = Counter(arc.source for arc in diagram.edges)
    ways_in = Counter(arc.target for arc in diagram.edges)
    single = {
        state.name
        for state in diagram.states
        if not state.accepting
        and state.name != diagram.start
        and ways_out[state.name] == ways_in[state.name] == 1
    }
    onward = {arc.source: arc for arc in diagram.edges if arc.source in single}
    chains = []
    for arc in diagram.edges:
        if arc.source not in single and arc.target in single:
            chain = [arc]
            while chain[-1].target in single:
                chain.append(onward[chain[-1].target])
            if len(chain) > LONGEST_PLAIN_CHAIN:
                chains.append(tuple(chain))
    inside = {arc for chain in chains for arc in chain}
    ends_of = {arc.target: (chain[0].source, chain[-1].target) for chain in chains for arc in chain[:-1]}
    nodes = tuple(state.name for state in diagram.states if state.name not in ends_of)
    return Folded(nodes, tuple(arc for arc in diagram.edges if arc not in inside), tuple(chains), ends_of)


def whole(folded: Folded, left_out: int = 0) -> Part:
    """All of it; `left_out`: states that the diagram itself does not hold."""
    return Part(folded.nodes, folded.plain, folded.chains, left_out)


def around(folded: Folded, wanted: Collection[str], left_out: int = 0) -> Part:
    """The `wanted` states and their surroundings: two steps, at most MAX_DRAWN unless more are wanted."""
    onward, back = _neighbours(folded)
    ends = [end for name in wanted for end in folded.ends_of.get(name, (name,))]
    drawn = dict.fromkeys(ends)
    edge = list(drawn)
    for fan_out, fan_in in _BRANCHES:
        found: dict[str, None] = {}
        for name in edge:
            for ways, most in ((onward, fan_out), (back, fan_in)):
                # A branch that is drawn anyway takes no other's place.
                found.update(
                    dict.fromkeys([n for n in ways[name] if n not in drawn and n not in found][:most])
                )
        edge = list(found)[: max(0, MAX_DRAWN - len(drawn))]
        drawn.update(dict.fromkeys(edge))
    return _part(folded, set(drawn), onward, back, left_out)


def _neighbours(folded: Folded) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    onward: dict[str, list[str]] = defaultdict(list)
    back: dict[str, list[str]] = defaultdict(list)
    for source, target in dict.fromkeys(folded.links()):
        onward[source].append(target)
        back[target].append(source)
    return onward, back


def _part(
    folded: Folded,
    drawn: set[str],
    onward: dict[str, list[str]],
    back: dict[str, list[str]],
    left_out: int,
) -> Part:
    chains = tuple(c for c in folded.chains if c[0].source in drawn and c[-1].target in drawn)
    plain = tuple(arc for arc in folded.plain if arc.source in drawn and arc.target in drawn)
    shown = len(drawn) + sum(len(chain) - 1 for chain in chains)
    more = []
    for name in sorted(drawn):
        for is_onward, ways in ((True, onward), (False, back)):
            missing = sum(other not in drawn for other in ways[name])
            # Ways in are worth a note only where none is seen.
            if missing and (is_onward or missing == len(ways[name])):
                more.append((name, is_onward, missing))
    hidden = len(folded.nodes) + len(folded.ends_of) - shown + left_out
    return Part(tuple(name for name in folded.nodes if name in drawn), plain, chains, hidden, tuple(more))
