"""The token index as a definition: walk every token from every state.

Slow and short on purpose: lessons read it, and tests hold the fast forms against it.

    index[state][token_id] = the state after the token, for the tokens that may be drawn

Tokens into dead ends (states from which this vocabulary cannot finish) are trimmed. EOS is not in
the table: it is allowed exactly in accepting states. Cost: O(Q V L) steps of Python.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from minidecoder.automaton import DEAD, Automaton, State, TokenId, walk
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["IndexTable", "naive_index", "reachable_states", "trim_dead_ends"]

IndexTable: TypeAlias = dict[State, dict[TokenId, State]]


def naive_index(automaton: Automaton, states: Iterable[State], vocabulary: Vocabulary) -> IndexTable:
    """The index of `states`, which must be closed under tokens (all states of a DFA are)."""
    table = {state: _legal_tokens(automaton, state, vocabulary) for state in states}
    return trim_dead_ends(table, {state for state in table if automaton.is_accepting(state)})


def _legal_tokens(automaton: Automaton, state: State, vocabulary: Vocabulary) -> dict[TokenId, State]:
    row = {}
    for token_id, data in enumerate(vocabulary.token_bytes):
        if data and (target := walk(automaton, state, data)[-1]) != DEAD:
            row[TokenId(token_id)] = target
    return row


def trim_dead_ends(table: IndexTable, accepting: set[State]) -> IndexTable:
    """Keep only moves into states from which some sequence of tokens reaches an accepting state."""
    alive: set[State] = set()
    grown = set(accepting)
    while grown != alive:
        alive = grown
        grown = alive | {state for state, row in table.items() if alive.intersection(row.values())}
    return {state: {t: q for t, q in row.items() if q in alive} for state, row in table.items()}


def reachable_states(table: IndexTable, start: State) -> list[State]:
    """The states in which a token can end, the start included, ascending."""
    seen, pending = {start}, [start]
    for state in pending:
        for target in table[state].values():
            if target not in seen:
                seen.add(target)
                pending.append(target)
    return sorted(seen)
