"""Wrong on purpose: a byte is a character, so tokens are encoded once more before the walk (task 2)."""

from __future__ import annotations

from collections.abc import Sequence

import minidecoder as md
from minidecoder import DEAD, Automaton, State, TokenId

# ---- given: nothing to change here ----------------------------------------------------------------

TOKENS = [b"", b"1", b"12", b".", b".5", b"50", b"0", b"5", b"1."]
"""The vocabulary: `TOKENS[token_id]` is what the token writes. Token 0 is EOS, which writes nothing."""
EOS = TokenId(0)


def machine(pattern: str) -> Automaton:
    """The machine of any pattern: `machine("a*b")`. What the checks call a machine is made like this."""
    every_byte = [bytes([byte]) for byte in range(256)]
    vocabulary = md.Vocabulary.from_tokens([*every_byte, "</s>"], eos="</s>")
    return md.compile_regex(pattern, vocabulary).automaton


PRICE = machine(r"[0-9]+\.[0-9]{2}")

# ---- task 1: about 5 lines ------------------------------------------------------------------------


def walk_token(automaton: Automaton, state: State, token: bytes) -> State:
    """The state that `token` leads to from `state`; DEAD where the machine refuses it.

    >>> walk_token(PRICE, State(2), b".5")      # s1, then "." to s2, then "5" to s3, which is state 4
    4
    >>> walk_token(PRICE, State(4), b"50")      # s3, then "5" to s4, where no "0" may follow
    0
    """
    for byte in token:
        state = automaton.step(state, byte)
        if state == DEAD:
            break
    return state


# ---- task 2: about 10 lines -----------------------------------------------------------------------


def build_index(
    automaton: Automaton, states: Sequence[State], tokens: Sequence[bytes], eos_id: TokenId
) -> dict[State, dict[TokenId, State]]:
    """The token index: `index[state][token_id]` is the state after the token.

    One row for each of `states`, an empty one too. A row holds
      - each token that is allowed in the state, with the state it leads to;
      - `eos_id` where the text may end, with the row's own state, for EOS writes nothing.

    >>> index = build_index(PRICE, [State(4), State(5)], TOKENS, EOS)
    >>> index[4]                                # s3 waits for one digit
    {1: 5, 6: 5, 7: 5}
    >>> index[5]                                # s4: the price is complete
    {0: 5}
    """
    index = {}
    for state in states:
        row = {}
        for i, t in enumerate(tokens):
            t = t.decode("latin1").encode("utf8")
            if i == eos_id:
                if automaton.is_accepting(state):
                    row[i] = state
            else:
                end = walk_token(automaton, state, t)
                if end != DEAD:
                    row[i] = end
        index[state] = row
    return index


# ---- task 3: about 10 lines -----------------------------------------------------------------------


def segmentations(text: bytes, tokens: Sequence[bytes]) -> list[list[TokenId]]:
    """All the ways to write `text` with tokens: lists of token ids, in any order, each way once.

    In each way, the tokens joined are `text` and nothing else. A token may be used again and again;
    one that writes nothing, such as EOS, belongs to no way. Two ids that write the same bytes make
    two ways. The empty text has one way: no tokens.

    >>> segmentations(b"50", TOKENS)
    [[5], [7, 6]]
    >>> segmentations(b"", TOKENS)
    [[]]
    """
    if not text:
        return [[]]
    ways = []
    for i, t in enumerate(tokens):
        if t and text.startswith(t):
            ways += [[i, *rest] for rest in segmentations(text[len(t) :], tokens)]
    return ways
