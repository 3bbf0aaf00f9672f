"""Exercise 03, the answer. Written to be read aloud: each function is the definition, not the fast form."""

from __future__ import annotations

from collections.abc import Sequence

from minidecoder import DEAD, Automaton, State, TokenId


def walk_token(automaton: Automaton, state: State, token: bytes) -> State:
    """Iterating over bytes gives numbers, so a token that ends inside a character needs no special case."""
    for byte in token:
        state = automaton.step(state, byte)
        if state == DEAD:
            break
    return state


def build_index(
    automaton: Automaton, states: Sequence[State], tokens: Sequence[bytes], eos_id: TokenId
) -> dict[State, dict[TokenId, State]]:
    """EOS writes nothing: a walk alone would allow it in every state, hence its own rule."""
    index: dict[State, dict[TokenId, State]] = {}
    for state in states:
        row: dict[TokenId, State] = {}
        for number, token in enumerate(tokens):
            token_id = TokenId(number)
            if token_id == eos_id:
                if automaton.is_accepting(state):
                    row[token_id] = state
            elif (target := walk_token(automaton, state, token)) != DEAD:
                row[token_id] = target
        index[state] = row
    return index


def segmentations(text: bytes, tokens: Sequence[bytes]) -> list[list[TokenId]]:
    """Choose the first token in every way that fits, then all the ways to go on."""
    if not text:
        return [[]]
    ways: list[list[TokenId]] = []
    for number, token in enumerate(tokens):
        if token and text.startswith(token):
            rest = segmentations(text[len(token) :], tokens)
            ways += [[TokenId(number), *way] for way in rest]
    return ways
