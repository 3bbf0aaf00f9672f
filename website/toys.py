"""Three small runs for visitors who want to step at once; every logit in them was chosen or counted here."""

from __future__ import annotations

import minidecoder as md
from minidecoder.lens.trace import Trace
from minidecoder.models import NGramModel, TableModel

__all__ = ["price", "review", "two_prices"]

PRICE = r"[0-9]+\.[0-9]{2}"
TOKENS = ["</s>", "1", "12", ".", ".5", "50", "0", "5", "1."]
HABITS = {
    (): [0.2, 2.0, 3.1, -1.0, 1.2, 0.5, 0.1, 0.3, 2.4],
    (2,): [1.9, 0.2, 0.1, 2.2, 2.6, 2.0, 0.6, 0.9, -0.5],
    (2, 4): [0.8, 1.0, 0.3, -2.0, -1.5, 3.0, 1.9, 1.6, -1.0],
    (2, 4, 5): [3.0, 0.1, 0.2, 0.4, 0.3, 1.0, 0.9, 0.8, -1.0],
}
SCHEMA = {
    "type": "object",
    "properties": {"stars": {"type": "integer", "minimum": 1, "maximum": 5}, "buy": {"type": "boolean"}},
    "required": ["stars", "buy"],
    "additionalProperties": False,
}
# What the model has read: it likes ten stars, and maybes. The schema has neither.
READ = ['{"stars": 10, "buy": maybe}', '{"stars": 10, "buy": true}', '{"stars": 4, "buy": maybe}']
PIECES = [
    "</s>",
    '{"',
    "stars",
    "buy",
    '":',
    '": ',
    " ",
    "1",
    "10",
    "4",
    "5",
    ', "',
    ",",
    '"',
    "maybe",
    "true",
]
PIECES += ["false", "}", "0"]


def price() -> Trace:
    """`12 | .5 | 0`; in s3 the model would rather say `50`, which is blocked there."""
    vocabulary = md.Vocabulary.from_tokens(TOKENS, eos="</s>")
    constraint = md.compile_regex(PRICE, vocabulary)
    return md.generate(TableModel(len(TOKENS), HABITS), [], constraint=constraint, max_tokens=8).trace


def two_prices() -> tuple[Trace, Trace]:
    """The same model left free, and held to the pattern."""
    vocabulary = md.Vocabulary.from_tokens(TOKENS, eos="</s>")
    free = md.generate(TableModel(len(TOKENS), HABITS), [], vocabulary=vocabulary, max_tokens=8)
    return free.trace, price()


def review() -> Trace:
    """A review by a JSON Schema: stars from 1 to 5, and whether to buy."""
    vocabulary = md.Vocabulary.from_tokens(PIECES, eos="</s>")
    constraint = md.compile_json_schema(SCHEMA, vocabulary)
    return md.generate(NGramModel(READ, vocabulary), [], constraint=constraint, max_tokens=24).trace
