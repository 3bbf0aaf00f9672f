"""The machine over tokens: the states that tokens lead to, and on each edge the tokens that lead there.

    draw(token_machine(constraint), live=constraint.characters.name(matcher.state))

A token may cross several states of the character machine at once; states in which none ever stops are not
here. EOS is an edge of its own, from each accepting state to the end.

Left out: drawing (`graph`). Cost: one row of the index a state, and a walk for each token that is allowed.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from minidecoder.automaton import State
from minidecoder.decoding.constraint import Constraint
from minidecoder.errors import UsageError
from minidecoder.lens.labels import show_token
from minidecoder.lens.trace import MachineState
from minidecoder.tokens.checks import whole_number
from minidecoder.tokens.token_index import AdaptiveIndex
from minidecoder.viz.diagram import Arc, Diagram
from minidecoder.viz.placed import cut

__all__ = ["shown_tokens", "token_machine"]

END: Final = "end"
_NAMED, _LONGEST = 3, 7  # tokens named on an edge, and letters of each


def token_machine(constraint: Constraint, *, start: State | None = None, max_states: int = 200) -> Diagram:
    """The states that tokens reach from `start` (the constraint's own, if None), the `max_states` nearest.
    States keep the names of the character machine; a grammar's are c0, c1, … in the order met.

    Raises `UsageError` for what is no constraint.
    """
    if not isinstance(constraint, Constraint):
        raise UsageError(f"token_machine takes a compiled constraint, not a {type(constraint).__name__}")
    if whole_number(max_states, "max_states") < 1:
        raise UsageError(f"max_states={max_states}: it must be 1 or more")
    return _Explorer(constraint, max_states).explore(constraint.automaton.start if start is None else start)


class _Explorer:
    def __init__(self, constraint: Constraint, max_states: int) -> None:
        self.constraint, self.max_states = constraint, max_states
        self.names: dict[int, str] = {}
        self.held: list[object] = []  # a lazy machine may forget states that nobody holds
        self.beyond: set[int] = set()

    def explore(self, start: State) -> Diagram:
        self._meet(start)
        pending, arcs = deque([start]), list[Arc]()
        while pending:
            state = pending.popleft()
            for target, token_ids in self._moves(state).items():
                if target not in self.names:
                    if len(self.names) >= self.max_states:
                        self.beyond.add(target)
                        continue
                    self._meet(target)
                    pending.append(target)
                label, title = shown_tokens(self.constraint, token_ids)
                arcs.append(Arc(self.names[state], self.names[target], label, "tokens", title))
        return self._diagram(arcs)

    def _diagram(self, arcs: list[Arc]) -> Diagram:
        automaton = self.constraint.automaton
        states = [MachineState(name, automaton.is_accepting(State(s))) for s, name in self.names.items()]
        eos = sorted(self.constraint.vocabulary.eos_ids)
        if eos and any(state.accepting for state in states):
            label, title = shown_tokens(self.constraint, eos)
            arcs = [*arcs, *(Arc(s.name, END, label, "end", title) for s in states if s.accepting)]
            states.append(MachineState(END, False))
        first = next(iter(self.names.values()))
        end = END if states[-1].name == END else ""
        return Diagram(
            tuple(states),
            tuple(arcs),
            first,
            "Machine over tokens",
            "",
            dict(self.names),
            len(self.beyond),
            end,
        )

    def _meet(self, state: State) -> None:
        self.held.append(self.constraint.automaton.hold(state))
        is_table = self.constraint.characters is not None
        self.names[state] = self.constraint.automaton.name(state) if is_table else f"c{len(self.names)}"

    def _moves(self, state: State) -> dict[State, list[int]]:
        """The tokens that may be drawn in `state`, by the state that they lead to."""
        index = self.constraint.index
        token_ids = np.flatnonzero(index.allowed(state))
        moves: dict[State, list[int]] = defaultdict(list)
        for token_id, target in zip(token_ids.tolist(), self._targets(state, token_ids), strict=True):
            moves[target].append(token_id)
        return moves

    def _targets(self, state: State, token_ids: NDArray[np.intp]) -> list[State]:
        index = self.constraint.index
        classes = index.classes() if isinstance(index, AdaptiveIndex) else None
        if classes is not None:
            row: list[State] = classes.next_state[classes.class_of_token[token_ids], state].tolist()
            return row
        targets = []
        for token_id in token_ids.tolist():
            targets.append(index.after(state, token_id))
            self.held.append(self.constraint.automaton.hold(targets[-1]))
        return targets


def shown_tokens(constraint: Constraint, token_ids: Sequence[int]) -> tuple[str, str]:
    """A group of tokens as a label, `3 tokens: . .5 1.`, and whole (up to 40 of them) as a title."""
    vocabulary, count = constraint.vocabulary, len(token_ids)
    shown = [show_token(vocabulary, token_id) for token_id in token_ids[:40]]
    few = " ".join(cut(token, _LONGEST) for token in shown[:_NAMED]) + (" …" if count > _NAMED else "")
    every = " ".join(shown) + (f" and {count - 40:,} more" if count > 40 else "")
    if count == 1:
        return cut(shown[0], 2 * _LONGEST), every
    return f"{count:,} tokens: {few}", f"{count:,} tokens: {every}"
