"""Wrong on purpose: EOS is always token 0, and the only token that writes nothing (tasks 2 and 3)."""

from __future__ import annotations

from collections.abc import Sequence

import minidecoder as md
from minidecoder import DEAD, Automaton, State, TokenId

TOKENS = [b"", b"1", b"12", b".", b".5", b"50", b"0", b"5", b"1."]
EOS = TokenId(0)


def machine(pattern: str) -> Automaton:
    """The machine of any pattern."""
    every_byte = [bytes([byte]) for byte in range(256)]
    vocabulary = md.Vocabulary.from_tokens([*every_byte, "</s>"], eos="</s>")
    return md.compile_regex(pattern, vocabulary).automaton


PRICE = machine(r"[0-9]+\.[0-9]{2}")


def walk_token(automaton: Automaton, state: State, token: bytes) -> State:
    """The state that `token` leads to from `state`; DEAD where the machine refuses it.

    >>> walk_token(PRICE, State(2), b".5")
    4
    >>> walk_token(PRICE, State(4), b"50")
    0
    """
    for byte in token:
        state = automaton.step(state, byte)
        if state == DEAD:
            return DEAD
    return state


def build_index(
    automaton: Automaton, states: Sequence[State], tokens: Sequence[bytes], eos_id: TokenId
) -> dict[State, dict[TokenId, State]]:
    """The token index: `index[state][token_id]` is the state after the token.

    >>> index = build_index(PRICE, [State(4), State(5)], TOKENS, EOS)
    >>> index[4]
    {1: 5, 6: 5, 7: 5}
    >>> index[5]
    {0: 5}
    """
    index = {}
    for state in states:
        row = {}
        if automaton.is_accepting(state):
            row[eos_id] = state
        for token_id in range(1, len(tokens)):  # from 1: EOS is done above
            target = walk_token(automaton, state, tokens[token_id])
            if target != DEAD:
                row[TokenId(token_id)] = target
        index[state] = row
    return index


def segmentations(text: bytes, tokens: Sequence[bytes]) -> list[list[TokenId]]:
    """All the ways to write `text` with tokens.

    >>> segmentations(b"50", TOKENS)
    [[5], [7, 6]]
    >>> segmentations(b"", TOKENS)
    [[]]
    """
    if not text:
        return [[]]
    ways = []
    for token_id in range(1, len(tokens)):  # without EOS, which writes nothing
        token = tokens[token_id]
        if text.startswith(token):
            for rest in segmentations(text[len(token) :], tokens):
                ways.append([TokenId(token_id), *rest])
    return ways
