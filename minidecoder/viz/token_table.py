"""Which tokens behave alike: classes of tokens by where they lead from each state, as small arrays of names.

Left out: pictures (`mask_plots`). Cost: O(V) a state; a walk a token where the index has no classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minidecoder.automaton import DEAD, State
from minidecoder.decoding.constraint import Constraint
from minidecoder.errors import UsageError
from minidecoder.tokens.token_index import AdaptiveIndex

__all__ = ["TokenTable", "states_of", "token_table"]


@dataclass(frozen=True, eq=False)
class TokenTable:
    """`states`: the names of the columns; `targets`: one row a class, the name of the state after it, ""
    where blocked; `members`: the tokens of each class, ascending. The largest class that lives comes first,
    tokens that are blocked everywhere last."""

    states: tuple[str, ...]
    targets: tuple[tuple[str, ...], ...]
    members: tuple[tuple[int, ...], ...]


def states_of(constraint: Constraint) -> list[State]:
    """The states between characters, s0 first. `UsageError` where there is no table of states."""
    if not isinstance(constraint, Constraint):
        raise UsageError(f"this figure shows a compiled constraint, not a {type(constraint).__name__}")
    if constraint.characters is None:
        raise UsageError(
            "a grammar or a schema has no table of states: this figure needs a regex or a choice"
        )
    return [State(number) for number in range(1, len(constraint.characters) + 1)]


def token_table(constraint: Constraint) -> TokenTable:
    """The classes of all tokens that spell something, on all states between characters."""
    states = states_of(constraint)
    spelled = np.array([t for t, data in enumerate(constraint.vocabulary.token_bytes) if data], dtype=np.intp)
    columns = np.stack([_targets(constraint, state)[spelled] for state in states], axis=1)  # (V, Q)
    rows, class_of = np.unique(columns, axis=0, return_inverse=True)
    members = [tuple(spelled[class_of.ravel() == c].tolist()) for c in range(len(rows))]
    lives = (rows != DEAD).any(axis=1)
    order = sorted(range(len(rows)), key=lambda c: (not lives[c], -len(members[c]), members[c]))
    name = constraint.automaton.name
    targets = (tuple("" if q == DEAD else name(State(q)) for q in rows[c].tolist()) for c in order)
    return TokenTable(tuple(map(name, states)), tuple(targets), tuple(members[c] for c in order))


def _targets(constraint: Constraint, state: State) -> NDArray[np.int64]:
    """int64 (V,): the state after each token; DEAD where it is blocked."""
    index = constraint.index
    classes = index.classes() if isinstance(index, AdaptiveIndex) else None
    if classes is not None:
        return np.asarray(classes.next_state[classes.class_of_token, state], dtype=np.int64)
    targets = np.zeros(len(constraint.vocabulary), dtype=np.int64)
    for token_id in np.flatnonzero(index.allowed(state)).tolist():
        targets[token_id] = index.after(state, token_id)
    return targets
