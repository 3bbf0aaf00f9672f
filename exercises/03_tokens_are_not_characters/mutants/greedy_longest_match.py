"""The misconception: a text has one tokenisation, the one that takes the longest token each time."""

from __future__ import annotations

from collections.abc import Sequence

from minidecoder import DEAD, Automaton, State, TokenId

LOSES = {"test_every_way_is_found": 1, "test_a_long_text_takes_no_longer_than_its_ways": 1}
HINT = "no one right next token"


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
            elif (target := walk_token(automaton, state, token)) != DEAD:
                row[token_id] = target
        index[state] = row
    return index


def segmentations(text: bytes, tokens: Sequence[bytes]) -> list[list[TokenId]]:
    if not text:
        return [[]]
    fitting = [number for number, token in enumerate(tokens) if token and text.startswith(token)]
    if not fitting:
        return []
    longest = max(fitting, key=lambda number: len(tokens[number]))
    return [[TokenId(longest), *way] for way in segmentations(text[len(tokens[longest]) :], tokens)]
