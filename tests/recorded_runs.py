"""Runs that several tests look at: small vocabularies, and logits that make the run a lesson wants."""

from __future__ import annotations

from collections.abc import Sequence

import minidecoder as md
from minidecoder.lens.trace import Trace
from minidecoder.models.ngram import longest_match
from minidecoder.models.toy import TableModel

PRICE = r"[0-9]+\.[0-9]{2}"
PRICE_TOKENS = ["</s>", "1", "12", ".", ".5", "50", "0", "5", "1."]
AGE = r'\{"age": (0|[1-9][0-9]*)\}'
AGE_TOKENS = ["</s>", "{", '"', '{"', "a", "ge", "age", '":', ":", " ", "0", "1", "12", "01", "}", "2}"]
EMOJI = "(ok|é|😀)!+"
EMOJI_TOKENS = ["</s>", b"\xf0\x9f", b"\x98", b"\x98\x80", b"\x80", "ok", "!", "é", b"\xc3", b"\xf0", "😀"]
HOSTILE = "</script><img src=x onerror=alert(1)>"
HOSTILE_TOKENS = ["</s>", HOSTILE, "<b>&amp;", '"\\N`$x$', "${7*7}", "x"]

JSON_GRAMMAR = r"""
root ::= ws value ws
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (member (ws "," ws member)*)? ws "}"
member ::= string ws ":" ws value
array ::= "[" ws (value (ws "," ws value)*)? ws "]"
string ::= "\"" ([^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\""
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [+-]? [0-9]+)?
ws ::= [ \t\n\r]*
"""


def scripted(
    pattern: str | None, tokens: Sequence[str | bytes], wanted: Sequence[int], favourite_offset: int = 0
) -> Trace:
    """A run that draws `wanted`. With an offset the model likes the token that far on even better."""
    vocabulary = md.Vocabulary.from_tokens(tokens, eos="</s>")
    width, rows = len(tokens), {}
    for index, token_id in enumerate(wanted):
        logits = [(5 * i + 3 * index) % 7 * 0.3 for i in range(width)]
        logits[token_id] = 3.0
        if favourite_offset:
            logits[(token_id + favourite_offset) % width] = 3.4
        rows[tuple(wanted[:index])] = logits
    constraint = None if pattern is None else md.compile_regex(pattern, vocabulary)
    model = TableModel(width, rows)
    return md.generate(model, [], constraint=constraint, vocabulary=vocabulary, max_tokens=len(wanted)).trace


def price() -> Trace:
    """`12 | .5 | 0 | end`; in s3 the model would rather say `50`, which is blocked there."""
    rows = {
        (): [0.2, 2.0, 3.1, -1.0, 1.2, 0.5, 0.1, 0.3, 2.4],
        (2,): [1.9, 0.2, 0.1, 2.2, 2.6, 2.0, 0.6, 0.9, -0.5],
        (2, 4): [0.8, 1.0, 0.3, -2.0, -1.5, 3.0, 1.9, 1.6, -1.0],
    }
    vocabulary = md.Vocabulary.from_tokens(PRICE_TOKENS, eos="</s>")
    constraint = md.compile_regex(PRICE, vocabulary)
    return md.generate(TableModel(9, rows), [], constraint=constraint, max_tokens=8).trace


def age() -> Trace:
    """The seven steps of `{"age": 12}`."""
    return scripted(AGE, AGE_TOKENS, [3, 6, 7, 9, 12, 14, 0])


def emoji() -> Trace:
    """😀 from three tokens, F0 9F | 98 | 80, then two exclamation marks."""
    return scripted(EMOJI, EMOJI_TOKENS, [1, 2, 4, 6, 6, 0])


def hostile() -> Trace:
    """Tokens that a careless page would run, in a pattern that allows them."""
    return scripted("(.|\n){1,80}", HOSTILE_TOKENS, [1, 2, 3, 4, 0])


def free() -> Trace:
    """No constraint at all, cut off by the limit."""
    return scripted(None, PRICE_TOKENS, [2, 4, 6])


def nested() -> Trace:
    """`[[1,"é"],true]` under the grammar of JSON: a run with a stack, and no machine to draw."""
    text = '[[1,"é"],true]'
    tokens = ["</s>", "[", "]", "],", ",", '"', "1", "true", "é", "{", "}", ":", *map(chr, range(97, 123))]
    vocabulary = md.Vocabulary.from_tokens(tokens, eos="</s>")
    wanted = [*longest_match(text, vocabulary), 0]
    rows = {
        tuple(wanted[:k]): [3.0 * (i == token) + i % 3 for i in range(len(tokens))]
        for k, token in enumerate(wanted)
    }
    constraint = md.compile_grammar(JSON_GRAMMAR, vocabulary)
    return md.generate(TableModel(len(tokens), rows), [], constraint=constraint, max_tokens=len(wanted)).trace
