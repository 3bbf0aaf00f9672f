"""The misconception: a token is allowed if the machine accepts how it begins."""

from __future__ import annotations

from collections.abc import Sequence

from minidecoder import DEAD, Automaton, State, TokenId

LOSES = {"test_a_row_holds_the_tokens_that_live": 2}
HINT = "all its bytes must live, not just the first"


def walk_token(automaton: Automaton, state: State, token: bytes) -> State:
    for byte in token:
        state = automaton.step(state, byte)
        if state == DEAD:
            break
    return state


def build_index(
    automaton: Automaton, states: Sequence[State], tokens: Sequence[bytes], eos_id: TokenId
) -> dict[State, dict[TokenId, State]]:
    index: dict[State, dict[TokenId, State]] = {}
    for state in states:
        row: dict[TokenId, State] = {}
        for number, token in enumerate(tokens):
            token_id = TokenId(number)
            if token_id == eos_id:
                if automaton.is_accepting(state):
                    row[token_id] = state
            elif walk_token(automaton, state, token[:1]) != DEAD:
                row[token_id] = walk_token(automaton, state, token)
        index[state] = row
    return index


def segmentations(text: bytes, tokens: Sequence[bytes]) -> list[list[TokenId]]:
    if not text:
        return [[]]
    ways: list[list[TokenId]] = []
    for number, token in enumerate(tokens):
        if token and text.startswith(token):
            rest = segmentations(text[len(token) :], tokens)
            ways += [[TokenId(number), *way] for way in rest]
    return ways
