"""The run that a player page shows: of a toy model that draws the tokens given, or of SmolLM2.

A teaching vocabulary is EOS, the tokens given, and every single character that the pattern can use: of the
printable ones of ASCII, and of those that stand in the pattern. The toy model gives the token that is to be
drawn a logit of 3, the other given tokens 1 to 2, characters 0 to 1: bars that look like a model's, and
mean nothing.

Left out: the command line (`show`). Cost: compiling, and O(V) a step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from minidecoder.api import generate
from minidecoder.decoding.constraint import Constraint
from minidecoder.errors import UsageError
from minidecoder.lens.explain import explain
from minidecoder.lens.labels import show_text, show_token
from minidecoder.lens.trace import Trace
from minidecoder.models.causal_lm import CausalLM
from minidecoder.models.toy import TableModel
from minidecoder.regex.compiler import compile_dfa
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["Compile", "ask", "letters_of", "letters_of_pattern", "play", "teaching_vocabulary"]

Compile: TypeAlias = Callable[[Vocabulary], Constraint]

EOS: Final = "</s>"
_PRINTABLE: Final = "".join(map(chr, range(0x20, 0x7F))) + "\n"


def letters_of_pattern(pattern: str) -> list[str]:
    """The characters that a pattern can use: those of its machine's edges that are printable ASCII or stand
    in the pattern. Raises what compiling it raises."""
    ranges = [pair for _, chars, _ in compile_dfa(pattern).edges() for pair in chars]
    return [char for char in letters_of(pattern) if any(low <= ord(char) <= high for low, high in ranges)]


def letters_of(source: str) -> list[str]:
    """Printable ASCII, and the characters of a grammar's or a schema's text beyond it."""
    return sorted({*_PRINTABLE, *(char for char in source if char.isprintable())})


def teaching_vocabulary(tokens: Sequence[str], letters: Sequence[str]) -> Vocabulary:
    """EOS at 0, the given tokens in their order, then the letters that are none of them."""
    # subtle: EOS by its id, for "</s>" may also be among the tokens, as text.
    return Vocabulary.from_tokens([EOS, *dict.fromkeys([*tokens, *letters])], eos=0)


def play(constraint: Constraint, tokens: Sequence[str], given: int) -> Trace:
    """The run that draws these tokens, then EOS if the text is a whole match. `given`: how many ids after EOS
    are given tokens. `UsageError` with the sentence of `explain` where the machine refuses one."""
    vocabulary = constraint.vocabulary
    wanted = [vocabulary.token_bytes.index(token.encode()) for token in tokens]
    if _may_end(constraint, tokens, wanted):
        wanted.append(0)
    rows = {tuple(wanted[:k]): _row(len(vocabulary), given, k, t) for k, t in enumerate(wanted)}
    model = TableModel(len(vocabulary), rows)
    return generate(model, [], constraint=constraint, max_tokens=len(wanted)).trace


def _may_end(constraint: Constraint, tokens: Sequence[str], wanted: Sequence[int]) -> bool:
    """Walk the tokens; whether the text is then a whole match."""
    matcher = constraint.matcher()
    for place, token_id in enumerate(wanted):
        if not matcher.accept_token(token_id):
            before = f" after `{show_text(''.join(tokens[:place]))}`" if place else ""
            token = show_token(constraint.vocabulary, token_id)
            reason = explain(matcher, token_id).sentence
            raise UsageError(f"--tokens: token {place + 1}, `{token}`, is refused{before}: {reason}")
    return matcher.is_accepting


def _row(width: int, given: int, step: int, drawn: int) -> list[float]:
    """Logits of one step: spread by token and step, so that not all bars are alike."""
    spread = [(5 * token_id + 3 * step) % 7 / 7 for token_id in range(width)]
    row = [share + (token_id <= given) for token_id, share in enumerate(spread)]
    row[drawn] = 3.0
    return row


def ask(model: CausalLM, prompt: str, compile_: Compile, max_tokens: int) -> Trace:
    """The answer of a real model to a question, under the constraint."""
    constraint = compile_(model.vocabulary)
    run = generate(model, model.encode_chat(prompt), constraint=constraint, max_tokens=max_tokens)
    return replace(run.trace, prompt=prompt)
